import type { DriverContext, SubmitError, SubmitErrorClass, SubmitResponse } from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  ok,
  type Result,
  redactSecrets,
  type Secrets,
  sanitizeMessage,
} from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';

const CLASSES: readonly SubmitErrorClass[] = ['bad_input', 'content_policy', 'quota', 'busy', 'credential'];
const MAX_RETRY_AFTER_SECONDS = 3600;

/** Checks the result of parseSubmitError. Null: the plugin leaves the answer to the gateway. */
export function readSubmitError(value: Json | undefined, secrets: Secrets = []): Result<SubmitError | null, string> {
  if (value === undefined || value === null) return ok(null);
  if (!isObject(value)) return err('parseSubmitError must return an object with a class, or null');
  const { message, param, retryAfterSeconds: wait } = value;
  const found = CLASSES.find((name) => name === value.class);
  if (found === undefined) return err(`class must be one of ${CLASSES.join(', ')}`);
  const textOf = (text: unknown): string =>
    typeof text === 'string' ? sanitizeMessage(redactSecrets(text, secrets)) : '';
  const seconds = typeof wait === 'number' && wait > 0 ? Math.min(Math.ceil(wait), MAX_RETRY_AFTER_SECONDS) : undefined;
  return ok({
    class: found,
    ...(textOf(message) === '' ? {} : { message: textOf(message) }),
    ...(textOf(param) === '' ? {} : { param: textOf(param) }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}

/** Asks the plugin what a vendor's 4xx answer to a submission means. */
export function parseSubmitError(
  plugin: LoadedPlugin,
  { ctx, response }: { ctx: DriverContext; response: SubmitResponse },
  options: HookOptions,
): Promise<Result<SubmitError | null, HookFailure>> {
  return callHook(plugin, {
    hook: 'parseSubmitError',
    args: [response, ctx],
    options,
    read: (value) => readSubmitError(value, options.secrets),
  });
}
