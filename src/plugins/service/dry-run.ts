import type { Json } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import { modulePath } from '../registry/load-plugin.ts';
import { activeRow, compileOrThrow, type ServiceContext } from './context.ts';

/** A call for trying: `path` (or the single `member`) leads from the export to the function. */
export type DryRun = { hook: string; member?: string; path?: readonly string[]; args: readonly Json[] };
export type DryRunOutcome = { result: Json; console: string[]; ms: number };

/** Arguments and result of a dry run, in bytes: as for a hook that carries bodies. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Calls one function of a key's active source (enabled or not), else the factory's, and nothing more: no request is made. What the hook
 * throws is `plugins.hook_failed` with its message and console.
 */
export async function dryRunHook(ctx: ServiceContext, key: string, run: DryRun): Promise<DryRunOutcome> {
  const row = await activeRow(ctx, key);
  const compiled = row ? await compileOrThrow(ctx, row.source, row) : (await ctx.registry.factory()).get(key);
  if (!compiled) throw pluginErrors.not_found();
  const { source, sourceHash, manifest, exports } = compiled;
  const members = run.path ?? (run.member === undefined ? [] : [run.member]);
  const outcome = await ctx.sandbox.call(
    { key: manifest.key, version: manifest.version, source, sourceHash },
    {
      path: modulePath([run.hook, ...members], exports),
      args: run.args,
      maxArgsBytes: MAX_BYTES,
      maxResultBytes: MAX_BYTES,
      admissionTimeoutMs: 5000,
    },
  );
  if (!outcome.ok) {
    const { message, kind, console, line, column } = outcome.error;
    throw pluginErrors.hook_failed({
      message,
      details: { kind, console, ...(line === undefined ? {} : { line, column }) },
    });
  }
  const { value, console, ms } = outcome.value;
  return { result: value ?? null, console, ms };
}
