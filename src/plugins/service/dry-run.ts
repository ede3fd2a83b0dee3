import { createRedactor, isObject, type Json, redactJson, secretsOfKey, secretsOfRequest } from '../../kernel/index.ts';
import { MAX_RESULT_BYTES } from '../../sandbox/index.ts';
import { pluginErrors } from '../errors.ts';
import { isHostFailure } from '../hooks/call-hook.ts';
import { checkHookResult } from '../hooks/check-hook-result.ts';
import { modulePath, REQUEST_HOOKS, trialName } from '../registry/load-plugin.ts';
import { compileFound, findSource, type ServiceContext } from './context.ts';

/**
 * A call for trying: `path` (or the single `member`) leads from the export to the function.
 * `version` is a stored one or `factory`; without it the active version is called, enabled or not,
 * else the factory's.
 */
export type DryRun = {
  hook: string;
  member?: string;
  path?: readonly string[];
  args: readonly Json[];
  version?: string;
};
export type DryRunOutcome = { result: Json; console: string[]; ms: number };

/** Arguments of a dry run, in bytes: as for a hook that carries bodies. */
const MAX_ARGS_BYTES = 16 * 1024 * 1024;
/** How long a dry run waits for a free sandbox process. */
const ADMISSION_MS = 5000;

/**
 * Calls one function and nothing more: no request is made. What the hook does wrong is
 * `plugins.hook_failed` with its message, console and position, and so is a result that the gateway
 * would refuse, with its words; a sandbox without a free place is `plugins.unavailable`.
 */
export async function dryRunHook(ctx: ServiceContext, key: string, run: DryRun): Promise<DryRunOutcome> {
  const { source, sourceHash, manifest, exports } = await compileFound(ctx, await findSource(ctx, key, run.version));
  const path = [run.hook, ...(run.path ?? (run.member === undefined ? [] : [run.member]))];
  const outcome = await ctx.sandbox.call(
    { key: trialName(manifest), version: manifest.version, source, sourceHash },
    {
      path: modulePath(path, exports),
      args: run.args,
      owner: ctx.owner,
      maxArgsBytes: MAX_ARGS_BYTES,
      maxResultBytes: MAX_RESULT_BYTES,
      admissionTimeoutMs: ADMISSION_MS,
    },
  );
  const secrets = [
    ...run.args.flatMap(keysIn),
    ...(outcome.ok && REQUEST_HOOKS.has(run.hook) ? secretsOfRequest(outcome.value.value) : []),
  ];
  const clean = createRedactor(secrets);
  if (!outcome.ok) {
    const { kind, line, column } = outcome.error;
    const message = clean(outcome.error.message);
    const console = outcome.error.console.map(clean);
    if (kind === 'owner_refused') {
      const retryAfterSeconds = Math.ceil((outcome.error.retryAfterMs ?? 0) / 1000);
      throw pluginErrors.calls_refused({ message: `${message}.`, retryAfterSeconds });
    }
    if (isHostFailure(outcome.error)) throw pluginErrors.unavailable({ message, retryAfterSeconds: 5 });
    throw pluginErrors.hook_failed({
      message,
      details: { kind, console, ...(line === undefined ? {} : { line, column }) },
    });
  }
  const { value, console, ms } = outcome.value;
  const checked = checkHookResult({ manifest, path, args: run.args }, value);
  if (!checked.ok) {
    const details = { kind: 'invalid_result', console: console.map(clean) };
    throw pluginErrors.hook_failed({ message: clean(checked.error), details });
  }
  return { result: redactJson(value ?? null, secrets) ?? null, console: console.map(clean), ms };
}

/** What a context of a hook holds of a channel's credential. */
function keysIn(context: Json): string[] {
  if (!isObject(context)) return [];
  const { apiKey, authHeader } = context;
  return [apiKey, authHeader].flatMap((key) =>
    typeof key === 'string' && key !== '' ? secretsOfKey(key.replace(/^(?:Bearer|Basic) /, '')) : [],
  );
}
