import { type AppError, sentence, toSentence } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import { describeNeeds, findNeeds, makeFault, pointer } from '../manifest/faults.ts';
import { findLaterHostRoute } from '../manifest/route-paths.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { type CompiledPlugin, type Compiler, summarizeFaults } from '../worker/compile-plugin.ts';
import type { FoundVersion } from './find-version.ts';

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
      message: sentence('plugins.down', { fault: toSentence(compiled.error) }),
      retryAfterSeconds: 5,
    });
  }
  throw invalidPlugin(compiled.error.faults);
}

/** Compiles what `findVersion` found. Throws like `compileOrThrow`. */
export const compileFound = async (ctx: CompileContext, { row, factory }: FoundVersion): Promise<CompiledPlugin> =>
  row ? compileOrThrow(ctx, row.source, row) : factory;

/**
 * Refuses a new version for what stored ones may have: names with hidden characters, and paths that
 * the gateway has since a later release. `serving`: what serves its key now keeps its paths.
 *
 * @throws `plugins.invalid`
 */
export function refuseInNewVersions(compiled: CompiledPlugin, serving: Manifest | undefined): void {
  const kept = new Set(serving?.routes.map(({ path }) => path));
  const faults = [...findHiddenNames(compiled), ...findTakenPaths(compiled.manifest, kept)];
  if (faults.length > 0) throw invalidPlugin(faults);
}

function findTakenPaths({ routes }: Manifest, kept: ReadonlySet<string>): PluginFault[] {
  return routes.flatMap(({ path }, index) => {
    const taken = kept.has(path) ? undefined : findLaterHostRoute(path);
    if (taken === undefined) return [];
    return [
      makeFault(pointer('routes', index, 'path'), 'route.reserved', sentence('fault.route_reserved', { path: taken })),
    ];
  });
}

/** `plugins.invalid` with all faults, and what a plugin for a newer contract needs. */
export function invalidPlugin(errors: readonly PluginFault[]): AppError {
  const needs = findNeeds(errors);
  if (needs.length > 0) {
    const message = sentence('plugins.newer_contract', { needs: describeNeeds(needs) });
    return pluginErrors.invalid({ details: { errors, needs }, message });
  }
  if (errors.length === 0) return pluginErrors.invalid({ details: { errors } });
  return pluginErrors.invalid({
    message: sentence('plugins.invalid_fault', { fault: summarizeFaults(errors) }),
    details: { errors },
  });
}
