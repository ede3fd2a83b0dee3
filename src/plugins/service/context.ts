import { type AppError, type Clock, type Logger, sha256Hex } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { PluginRecord, Repositories, Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { describeNeeds, findNeeds } from '../manifest/faults.ts';
import { preflight } from '../registry/build-index.ts';
import { narrowFactory, readSnapshot } from '../registry/choose-sources.ts';
import type { Registry } from '../registry/create-registry.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import { findHiddenNames } from '../source/find-hidden-names.ts';
import type { Layer, PluginFault } from '../types.ts';
import type { CompiledPlugin, Compiler } from '../worker/compile-plugin.ts';
import type { PluginWorker } from '../worker/create-worker.ts';

/** What the operations of this folder take as their first argument. */
export type ServiceContext = {
  store: Store;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  compiler: Compiler;
  worker: PluginWorker;
  registry: Registry;
  /** On whose behalf plugin code runs. */
  owner: string;
};

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

/**
 * Compiles a source.
 *
 * @throws `plugins.invalid` with all faults, or `plugins.unavailable`
 */
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

/**
 * Refuses a new plugin whose names have hidden characters.
 *
 * @throws `plugins.invalid`
 */
export function refuseHiddenNames(compiled: CompiledPlugin): void {
  const faults = findHiddenNames(compiled);
  if (faults.length > 0) throw invalidPlugin(faults);
}

/**
 * Refuses a plugin that is in conflict with a plugin of the serving generation.
 *
 * @throws `plugins.conflict`
 */
export function refuseConflict(
  ctx: ServiceContext,
  { compiled, layer, narrowedModels }: { compiled: CompiledPlugin; layer: Layer; narrowedModels: string[] | null },
): void {
  const candidate = loadPlugin({ ...ctx, compiled, layer, narrowedModels });
  const conflict = preflight(ctx.registry.current().plugins.values(), candidate);
  if (!conflict) return;
  const { message, ...details } = conflict;
  throw pluginErrors.conflict({ message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, details });
}

/** Rebuilds on this node and notifies the other nodes. */
export async function applyChange(ctx: ServiceContext): Promise<void> {
  await ctx.registry.rebuild();
  await notifyNodes(ctx, 'plugins');
}

/**
 * Notifies the other nodes of a stored change. A failed notification is only logged, because nodes
 * also read the database periodically.
 */
export async function notifyNodes({ store, logger }: ServiceContext, topic: 'plugins' | 'channels'): Promise<void> {
  try {
    await store.publish(topic);
  } catch (error) {
    logger.warn(
      { topic, err: error },
      'other nodes could not be notified of a change; they read it within SYNC_FREQUENCY',
    );
  }
}

/**
 * The row of a version.
 *
 * @throws `plugins.not_found`
 */
export async function rowOf({ store }: { store: PluginRows }, key: string, version: string): Promise<PluginRecord> {
  const row = await store.plugins.byVersion(key, version);
  if (!row) throw pluginErrors.not_found({ message: `There is no stored version ${version} of plugin ${key}.` });
  return row;
}

type PluginRows = Pick<Repositories, 'plugins'>;

/** The active row of a key. */
export const activeRow = async (store: PluginRows, key: string): Promise<PluginRecord | undefined> =>
  (await store.plugins.versions(key)).find((row) => row.active);

/** The version name of a factory plugin in comparisons, dry runs and activations. */
export const FACTORY = 'factory';

/** A stored version, or a factory plugin; and the models that it is narrowed to, `null`: all. */
export type FoundSource = (
  | { row: PluginRecord; factory?: undefined }
  | { row?: undefined; factory: CompiledPlugin }
) & {
  narrowedModels: string[] | null;
};

/**
 * Finds a stored version, or the factory plugin by `factory` or by its version. Without `version`:
 * the active version, or else the factory plugin.
 *
 * @throws `plugins.not_found`
 */
export async function findSource(ctx: ServiceContext, key: string, version?: string): Promise<FoundSource> {
  const { plugins } = ctx.store;
  const row =
    version === undefined
      ? await activeRow(ctx.store, key)
      : version === FACTORY
        ? undefined
        : await plugins.byVersion(key, version);
  if (row) return { row, narrowedModels: row.narrowedModels };
  const factory = ctx.registry.factory().get(key);
  if (factory && (version === undefined || version === FACTORY || version === factory.manifest.version))
    return { factory, narrowedModels: narrowFactory(await readSnapshot(ctx.store), factory) };
  const what = version === undefined ? `plugin ${key}` : `version ${version} of plugin ${key}`;
  throw pluginErrors.not_found({ message: `There is no ${what}.` });
}

/** Compiles what `findSource` found. Throws like `compileOrThrow`. */
export const compileFound = async (ctx: ServiceContext, { row, factory }: FoundSource): Promise<CompiledPlugin> =>
  row ? compileOrThrow(ctx, row.source, row) : factory;

export const hashOf = (source: string): string => sha256Hex(source);
