import type { AppError } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import { describeNeeds, findNeeds } from '../manifest/faults.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { PluginFault } from '../types.ts';
import type { CompiledPlugin, Compiler } from '../worker/compile-plugin.ts';
import type { FoundSource } from './find-source.ts';

/** `owner`: on whose behalf plugin code runs. */
export type CompileContext = { compiler: Compiler; owner: string };

/**
 * Compiles a source.
 *
 * @throws `plugins.invalid` with all faults, or `plugins.unavailable`
 */
export async function compileOrThrow(
  ctx: CompileContext,
  source: string,
  name?: { key: string; version: string },
): Promise<CompiledPlugin> {
  const compiled = await ctx.compiler.compile(source, name, ctx.owner);
  if (compiled.ok) return compiled.value;
  if (compiled.error.kind === 'unavailable') {
    throw pluginErrors.unavailable({
      message: `Plugin code cannot run at the moment: ${compiled.error.message}.`,
      retryAfterSeconds: 5,
    });
  }
  throw invalidPlugin(compiled.error.faults);
}

/** Compiles what `findSource` found. Throws like `compileOrThrow`. */
export const compileFound = async (ctx: CompileContext, { row, factory }: FoundSource): Promise<CompiledPlugin> =>
  row ? compileOrThrow(ctx, row.source, row) : factory;

/**
 * Refuses a new plugin whose names have hidden characters.
 *
 * @throws `plugins.invalid`
 */
export function refuseHiddenNames(compiled: CompiledPlugin): void {
  const faults = findHiddenNames(compiled);
  if (faults.length > 0) throw invalidPlugin(faults);
}

/** `plugins.invalid` with all faults, and what a plugin for a newer contract needs. */
export function invalidPlugin(errors: readonly PluginFault[]): AppError {
  const needs = findNeeds(errors);
  if (needs.length > 0) {
    const message = `The plugin is made for a newer contract (needs ${describeNeeds(needs)}). Update the gateway, or ask for a version for this one.`;
    return pluginErrors.invalid({ details: { errors, needs }, message });
  }
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const message = first ? `The plugin is not valid: ${first.path || 'meta'}: ${first.message}${more}.` : undefined;
  return pluginErrors.invalid({ details: { errors }, ...(message === undefined ? {} : { message }) });
}
