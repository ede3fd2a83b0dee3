import {
  err,
  type Json,
  listRequestSecrets,
  listSecrets,
  mapSentence,
  ok,
  type Result,
  redactSecrets,
  type Sentence,
  sanitizeMessage,
} from '../../kernel/index.ts';
import { REQUEST_HOOKS } from '../registry/load-plugin.ts';
import type { CallOptions, HookFailure, LoadedPlugin } from '../types.ts';

export type HookOptions = Omit<CallOptions, 'large'>;

const invalidResult = (hook: string, said: Sentence): HookFailure => ({
  kind: 'invalid_result',
  ...mapSentence(said, sanitizeMessage),
  console: [],
  hook,
});

/** For logs and administrators. It has the hook's name, which means nothing to clients. */
export const describeHookFailure = ({ hook, message }: Pick<HookFailure, 'hook' | 'message'>): string =>
  `${hook}: ${message}`;

type TypedCall<T> = {
  /** As in `LoadedPlugin.call`. */
  hook: string;
  args: readonly unknown[];
  options: CallOptions;
  /** Gives the checked value, or what is wrong with it. */
  read: (value: Json | undefined) => Result<T, Sentence>;
};

/**
 * Calls a hook and checks what it returned. The large limit applies, because nearly every hook
 * carries a body or stored task data.
 */
export async function callHook<T>(
  plugin: LoadedPlugin,
  { hook, args, options, read }: TypedCall<T>,
): Promise<Result<T, HookFailure>> {
  const outcome = await plugin.call(hook, args, { large: true, ...options });
  if (!outcome.ok) return outcome;
  const value = read(outcome.value);
  if (value.ok) return ok(value.value);
  const derived = REQUEST_HOOKS.has(hook) ? listRequestSecrets(outcome.value) : [];
  const secrets = [...listSecrets(options.secrets ?? []), ...derived];
  return err(
    invalidResult(
      hook,
      mapSentence(value.error, (text) => redactSecrets(text, secrets)),
    ),
  );
}

const HOST_FAILURES: ReadonlySet<HookFailure['kind']> = new Set(['overloaded', 'closed', 'suspended', 'owner_refused']);

/** Whether the host did not make the call. It may be repeated, and is nobody's failure. */
export const isHostFailure = (failure: Pick<HookFailure, 'kind'>): boolean => HOST_FAILURES.has(failure.kind);
