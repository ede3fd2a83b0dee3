import {
  err,
  type Json,
  ok,
  type Result,
  redactSecrets,
  sanitizeMessage,
  secretsOfRequest,
} from '../../kernel/index.ts';
import { REQUEST_HOOKS } from '../registry/load-plugin.ts';
import type { CallOptions, HookFailure, LoadedPlugin } from '../types.ts';

export type HookOptions = Pick<CallOptions, 'owner' | 'alreadyAdmitted' | 'admissionTimeoutMs' | 'signal' | 'secrets'>;

const invalidResult = (hook: string, message: string): HookFailure => ({
  kind: 'invalid_result',
  message: sanitizeMessage(message),
  console: [],
  hook,
});

/** For logs and administrators: with the hook's name, which says nothing to clients. */
export const describeHookFailure = ({ hook, message }: Pick<HookFailure, 'hook' | 'message'>): string =>
  `${hook}: ${message}`;

/**
 * Calls a hook and reads what it returned. Nearly every hook carries a body or stored task data,
 * hence the large limit. `read` gives the checked value, or what is wrong with it.
 */
export async function callHook<T>(
  plugin: LoadedPlugin,
  hook: string,
  args: readonly unknown[],
  options: CallOptions,
  read: (value: Json | undefined) => Result<T, string>,
): Promise<Result<T, HookFailure>> {
  const outcome = await plugin.call(hook, args, { large: true, ...options });
  if (!outcome.ok) return outcome;
  const value = read(outcome.value);
  if (value.ok) return ok(value.value);
  const made = REQUEST_HOOKS.has(hook) ? secretsOfRequest(outcome.value) : [];
  return err(invalidResult(hook, redactSecrets(value.error, [...(options.secrets ?? []), ...made])));
}

const HOST_FAILURES: ReadonlySet<HookFailure['kind']> = new Set(['overloaded', 'closed', 'suspended', 'owner_refused']);

/** The host did not make the call: it may be repeated and counts against nobody. */
export const isHostFailure = (failure: Pick<HookFailure, 'kind'>): boolean => HOST_FAILURES.has(failure.kind);
