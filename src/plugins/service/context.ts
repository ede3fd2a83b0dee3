import { type AppError, type Clock, type Logger, sha256Hex } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { PluginRecord, Repositories, Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { preflight } from '../registry/build-index.ts';
import type { Registry } from '../registry/create-registry.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import type { CompiledPlugin, Compiler } from '../source/compile-plugin.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { Layer, PluginFault } from '../types.ts';
import type { PluginWorker } from '../worker/create-worker.ts';

export type ServiceContext = {
  store: Store;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  compiler: Compiler;
  worker: PluginWorker;
  registry: Registry;
  /** On whose behalf plugin code is run. */
  owner: string;
};

export function invalidPlugin(errors: readonly PluginFault[]): AppError {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const message = first ? `The plugin is not valid: ${first.path || 'meta'}: ${first.message}${more}.` : undefined;
  return pluginErrors.invalid({ details: { errors }, ...(message === undefined ? {} : { message }) });
}

/** Compiles a source or throws `plugins.invalid` with every fault, or `plugins.unavailable`. */
export async function compileOrThrow(
  ctx: ServiceContext,
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

/** Throws `plugins.invalid` for a new plugin whose names hide something. */
export function refuseHiddenNames(compiled: CompiledPlugin): void {
  const faults = findHiddenNames(compiled);
  if (faults.length > 0) throw invalidPlugin(faults);
}

/** Throws `plugins.conflict` when the plugin could not join the generation that serves now. */
export function refuseConflict(
  ctx: ServiceContext,
  compiled: CompiledPlugin,
  layer: Layer,
  narrowedModels: readonly string[] | null,
): void {
  const candidate = loadPlugin({ ...ctx, compiled, layer, narrowedModels });
  const conflict = preflight(ctx.registry.current().plugins.values(), candidate);
  if (!conflict) return;
  const { message, ...details } = conflict;
  throw pluginErrors.conflict({ message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, details });
}

/** Rebuilds here and tells the other nodes. */
export async function applyChange(ctx: ServiceContext): Promise<void> {
  await ctx.registry.rebuild();
  await announce(ctx, 'plugins');
}

/**
 * Tells the other nodes of what is stored already. A notice that fails takes nothing back: they
 * read the database again by themselves.
 */
export async function announce({ store, logger }: ServiceContext, topic: 'plugins' | 'channels'): Promise<void> {
  try {
    await store.publish(topic);
  } catch (error) {
    logger.warn({ topic, err: error }, 'a stored change could not be announced; other nodes follow at SYNC_FREQUENCY');
  }
}

/** The row of a version, or `plugins.not_found`. */
export async function rowOf({ store }: { store: PluginRows }, key: string, version: string): Promise<PluginRecord> {
  const row = await store.plugins.byVersion(key, version);
  if (!row) throw pluginErrors.not_found({ message: `There is no stored version ${version} of plugin ${key}.` });
  return row;
}

type PluginRows = Pick<Repositories, 'plugins'>;

/** The database's choice for a key: its active row. */
export const activeRow = async (store: PluginRows, key: string): Promise<PluginRecord | undefined> =>
  (await store.plugins.versions(key)).find((row) => row.active);

/** The name under which comparisons, trials and activations find what ships with the gateway. */
export const FACTORY = 'factory';

/** A source under its key: a stored version, or what ships with the gateway. */
export type FoundSource = { row: PluginRecord; factory?: undefined } | { row?: undefined; factory: CompiledPlugin };

/**
 * By version or `factory`; without a version what counts for the key: its active version, else the
 * factory's. Or `plugins.not_found`.
 */
export async function findSource(ctx: ServiceContext, key: string, version?: string): Promise<FoundSource> {
  const { plugins } = ctx.store;
  const row =
    version === undefined
      ? await activeRow(ctx.store, key)
      : version === FACTORY
        ? undefined
        : await plugins.byVersion(key, version);
  if (row) return { row };
  const factory = ctx.registry.factory().get(key);
  if (factory && (version === undefined || version === FACTORY || version === factory.manifest.version))
    return { factory };
  const what = version === undefined ? `plugin ${key}` : `version ${version} of plugin ${key}`;
  throw pluginErrors.not_found({ message: `There is no ${what}.` });
}

/** What was found, checked; throws as `compileOrThrow`. */
export const compileFound = async (ctx: ServiceContext, { row, factory }: FoundSource): Promise<CompiledPlugin> =>
  row ? compileOrThrow(ctx, row.source, row) : factory;

export const hashOf = (source: string): string => sha256Hex(source);
