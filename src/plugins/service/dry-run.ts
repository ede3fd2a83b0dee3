import {
  createRedactor,
  isObject,
  type Json,
  listKeySecrets,
  listRequestSecrets,
  mapSentence,
  redactJson,
} from '../../kernel/index.ts';
import { MAX_RESULT_BYTES, type Sandbox } from '../../sandbox/index.ts';
import { pluginErrors } from '../errors.ts';
import { isHostFailure } from '../hooks/call-hook.ts';
import { checkHookResult } from '../hooks/check-hook-result.ts';
import { MAX_ARGS_BYTES, modulePath, REQUEST_HOOKS, trialName } from '../registry/load-plugin.ts';
import { type CompileContext, compileFound } from './compile-or-refuse.ts';
import { findVersion, type VersionContext } from './find-version.ts';

type DryRunContext = VersionContext & CompileContext & { sandbox: Sandbox };

/**
 * A trial call. `path` (or a single `member`) leads from the export `hook` to the function.
 * `version` is a stored version or `factory`. Without it the active version is called, enabled or
 * not, or else the factory plugin.
 */
export type DryRun = {
  hook: string;
  member?: string;
  path?: readonly string[];
  args: readonly Json[];
  version?: string;
};
export type DryRunOutcome = { result: Json; console: string[]; ms: number };

/**
 * How long a trial call waits for a free sandbox process, in ms. Short, so that serving calls come
 * through.
 */
export const ADMISSION_MS = 5000;

/**
 * Calls one function, and sends no request.
 *
 * @throws `plugins.hook_failed` with message, console and position if the hook fails, or if the
 *   gateway would refuse its result; `plugins.unavailable` if no sandbox slot is free
 */
export async function dryRunHook(ctx: DryRunContext, key: string, run: DryRun): Promise<DryRunOutcome> {
  const { source, sourceHash, manifest, exports } = await compileFound(ctx, await findVersion(ctx, key, run.version));
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
    ...(outcome.ok && REQUEST_HOOKS.has(run.hook) ? listRequestSecrets(outcome.value.value) : []),
  ];
  const redact = createRedactor(secrets);
  if (!outcome.ok) {
    const { kind, line, column } = outcome.error;
    const said = mapSentence(outcome.error, redact);
    const console = outcome.error.console.map(redact);
    if (kind === 'owner_refused') {
      const retryAfterSeconds = Math.ceil((outcome.error.retryAfterMs ?? 0) / 1000);
      throw pluginErrors.calls_refused({ message: { ...said, message: `${said.message}.` }, retryAfterSeconds });
    }
    if (isHostFailure(outcome.error)) throw pluginErrors.unavailable({ message: said, retryAfterSeconds: 5 });
    throw pluginErrors.hook_failed({
      message: said,
      details: { kind, console, ...(line === undefined ? {} : { line, column }) },
    });
  }
  const { value, console, ms } = outcome.value;
  const checked = checkHookResult({ manifest, path, args: run.args }, value);
  if (!checked.ok) {
    const details = { kind: 'invalid_result', console: console.map(redact) };
    throw pluginErrors.hook_failed({ message: mapSentence(checked.error, redact), details });
  }
  return { result: redactJson(value ?? null, secrets) ?? null, console: console.map(redact), ms };
}

/** The parts of a channel's credential in a hook's context. */
function keysIn(context: Json): string[] {
  if (!isObject(context)) return [];
  const { apiKey, authHeader } = context;
  return [apiKey, authHeader].flatMap((key) =>
    typeof key === 'string' && key !== '' ? listKeySecrets(key.replace(/^(?:Bearer|Basic) /, '')) : [],
  );
}
