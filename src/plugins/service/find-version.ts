import { sentence } from '../../kernel/index.ts';
import type { PluginRecord, Repositories } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { narrowFactory, readSnapshot } from '../registry/active-versions.ts';
import type { Registry } from '../registry/create-registry.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';

type PluginRows = Pick<Repositories, 'plugins'>;

export type VersionContext = {
  store: Pick<Repositories, 'plugins' | 'options' | 'pluginSources'>;
  registry: Pick<Registry, 'factory'>;
};

/** The version name of a factory plugin in comparisons, dry runs and activations. */
export const FACTORY = 'factory';

/** A stored version, or a factory plugin; and the models that it is narrowed to, `null`: all. */
export type FoundVersion = (
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
export async function findVersion(ctx: VersionContext, key: string, version?: string): Promise<FoundVersion> {
  const { plugins } = ctx.store;
  const row =
    version === undefined
      ? await findActiveRow(ctx.store, key)
      : version === FACTORY
        ? undefined
        : await plugins.byVersion(key, version);
  if (row) return { row, narrowedModels: row.narrowedModels };
  const factory = ctx.registry.factory().get(key);
  if (factory && (version === undefined || version === FACTORY || version === factory.manifest.version))
    return { factory, narrowedModels: narrowFactory(await readSnapshot(ctx.store), factory) };
  throw pluginErrors.not_found({
    message:
      version === undefined
        ? sentence('plugins.no_plugin', { plugin: key })
        : sentence('plugins.no_version_of', { version, plugin: key }),
  });
}

/** The active row of a key. */
export const findActiveRow = async (store: PluginRows, key: string): Promise<PluginRecord | undefined> =>
  (await store.plugins.versions(key)).find((row) => row.active);

/**
 * Reads the row of a stored version.
 *
 * @throws `plugins.not_found`
 */
export async function readRow({ store }: { store: PluginRows }, key: string, version: string): Promise<PluginRecord> {
  const row = await store.plugins.byVersion(key, version);
  if (!row) throw pluginErrors.not_found({ message: sentence('plugins.no_version', { version, plugin: key }) });
  return row;
}
