import type { Meta } from '../../../contracts/v1.d.ts';
import { isObject, type Sentence } from '../../kernel/index.ts';
import type { PluginRecord, Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { IconImage } from '../icons/check-icon.ts';
import { publishMeta } from '../manifest/normalize-meta.ts';
import { narrowFactory, readSnapshot } from '../registry/active-versions.ts';
import type { Registry } from '../registry/create-registry.ts';
import { comparePermissions, type Permission, type PermissionChanges } from '../source/describe-permissions.ts';
import type { Layer, LoadedPlugin, Manifest, PluginFault } from '../types.ts';
import type { CompiledPlugin, Compiler } from '../worker/compile-plugin.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { boundChannels } from './find-dependents.ts';
import { findActiveRow, findVersion, readRow, type VersionContext } from './find-version.ts';

/** A stored version without its source. */
export type PluginVersion = Omit<PluginRecord, 'source' | 'icon'> & { hasIcon: boolean };

export type PluginDetail = {
  /** `null` for a factory plugin. */
  plugin: PluginVersion | null;
  layer: Layer;
  source: string;
  sourceHash: string;
  /** In the contract's form, every text as a map; `null` if the stored source has faults. */
  meta: Meta | null;
  errors: PluginFault[];
  /** What it may do; empty if the stored source has faults. */
  permissions: Permission[];
  hasIcon: boolean;
};

export type PluginSummary = {
  key: string;
  version: string;
  meta: Meta | null;
  source: 'factory' | 'override' | 'override_over_factory';
  enabled: boolean;
  active: boolean;
  sourceHash: string;
  hasIcon: boolean;
  remark: string;
  /** `null`: it serves all models of its manifest. */
  narrowedModels: string[] | null;
  /** It may claim models that others claim too. */
  shareModels: boolean;
  runtimeStatus: 'registered' | 'compile_failed' | 'not_registered' | 'disabled_fallback' | 'disabled';
  runtimeError?: Sentence;
  /** The serving plugin that it can take the place of: the same vendor under another key. */
  takesPlaceOf: string | null;
  /** The factory plugin of this key, if a stored version overrides it. */
  factoryMeta?: Meta;
  channelCount: number;
  inFlightCount: number;
};

/** A factory plugin in the form of a stored version; its id and time are 0. */
export const toFactoryVersion = (
  { manifest: { key, version, apiVersion }, sourceHash }: CompiledPlugin,
  narrowedModels: string[] | null,
): PluginVersion => ({
  ...{ id: 0, key, version, apiVersion, sourceHash, narrowedModels },
  ...{ enabled: true, active: true, remark: '', hasIcon: false, changelog: null, createdAt: 0 },
});

export const toVersion = ({ source: _, icon, ...row }: PluginRecord): PluginVersion => ({
  ...row,
  hasIcon: icon !== null,
});

type Describer = { compiler: Compiler; worker: PluginWorker };

/** Compiles the source of `row`, unless `compiled` is given. */
export async function toDetail(ctx: Describer, row: PluginRecord, compiled?: CompiledPlugin): Promise<PluginDetail> {
  const result = compiled ? { ok: true as const, value: compiled } : await ctx.compiler.compile(row.source, row);
  const errors = !result.ok && result.error.kind === 'faults' ? result.error.faults : [];
  return {
    plugin: toVersion(row),
    layer: 'database',
    source: row.source,
    sourceHash: row.sourceHash,
    meta: result.ok ? publishMeta(result.value.manifest) : null,
    errors,
    permissions: result.ok ? await findPermissions(ctx, result.value) : [],
    hasIcon: row.icon !== null,
  };
}

/** A version. Without `version`: the active version of the key, or else the factory plugin. */
export async function describePlugin(
  ctx: VersionContext & Describer,
  key: string,
  version?: string,
): Promise<PluginDetail> {
  const { row, factory } = await findVersion(ctx, key, version);
  if (row) return toDetail(ctx, row);
  const { source, sourceHash, manifest } = factory;
  return {
    plugin: null,
    layer: 'factory',
    source,
    sourceHash,
    meta: publishMeta(manifest),
    errors: [],
    permissions: await findPermissions(ctx, factory),
    hasIcon: false,
  };
}

/** All stored versions of a key, the newest first. Empty for a key with only a factory plugin. */
export async function listVersions(ctx: VersionContext, key: string): Promise<PluginVersion[]> {
  const rows = await ctx.store.plugins.versions(key);
  if (rows.length === 0 && !ctx.registry.factory().has(key)) throw pluginErrors.not_found();
  return rows.map(toVersion);
}

/** The stored icon of a version, or of the active one; `undefined` if it has none. */
export async function findIcon(
  ctx: Pick<VersionContext, 'store'> & Pick<Describer, 'worker'>,
  key: string,
  version?: string,
): Promise<IconImage | undefined> {
  const row = version === undefined ? await findActiveRow(ctx.store, key) : await readRow(ctx, key, version);
  const icon = row?.icon ? await ctx.worker.run('readIcon', row.icon) : undefined;
  return icon?.ok ? icon.value : undefined;
}

/** All plugins, by descending priority, then by key. */
export async function listPlugins(ctx: {
  store: Store;
  registry: Pick<Registry, 'factory' | 'status' | 'current'>;
  compiler: Compiler;
}): Promise<PluginSummary[]> {
  const [snapshot, channels] = await Promise.all([readSnapshot(ctx.store), ctx.store.channels.all()]);
  const { rows } = snapshot;
  const factory = ctx.registry.factory();
  const { pluginErrors: errors } = ctx.registry.status();
  const live = ctx.registry.current().plugins;
  const count = async (key: string, manifest: Manifest | undefined) => ({
    channelCount: boundChannels(channels, key, manifest).length,
    inFlightCount: await ctx.store.tasks.countUnfinished({ platform: key }),
  });

  const overrides = rows.map(async (row): Promise<PluginSummary> => {
    const { key, version, enabled, active, sourceHash, icon, remark, narrowedModels } = row;
    const compiled = await ctx.compiler.compile(row.source, row);
    const manifest = compiled.ok ? compiled.value.manifest : undefined;
    const shipped = factory.get(key);
    const serving = live.get(key);
    let runtimeStatus: PluginSummary['runtimeStatus'] = compiled.ok ? 'not_registered' : 'compile_failed';
    if (!enabled) runtimeStatus = serving ? 'disabled_fallback' : 'disabled';
    else if (serving?.sourceHash === sourceHash) runtimeStatus = 'registered';
    const runtimeError = errors[key];
    return {
      key,
      version,
      meta: manifest ? publishMeta(manifest) : null,
      source: shipped ? 'override_over_factory' : 'override',
      enabled,
      active,
      sourceHash,
      hasIcon: icon !== null,
      remark,
      narrowedModels,
      shareModels: snapshot.sharing.has(key),
      takesPlaceOf: findCounterpart(key, (each) => live.has(each)),
      runtimeStatus,
      ...(runtimeError === undefined ? {} : { runtimeError }),
      ...(shipped ? { factoryMeta: publishMeta(shipped.manifest) } : {}),
      ...(await count(key, manifest)),
    };
  });

  const overridden = new Set(rows.map(({ key }) => key));
  const built = [...factory].filter(([key]) => !overridden.has(key));
  const shipped = built.map(async ([key, compiled]): Promise<PluginSummary> => {
    const { manifest, sourceHash } = compiled;
    const registered = live.get(key)?.sourceHash === sourceHash;
    const runtimeError = errors[key];
    const enabled = registered || runtimeError !== undefined;
    return {
      key,
      version: manifest.version,
      meta: publishMeta(manifest),
      source: 'factory',
      enabled,
      active: true,
      sourceHash,
      hasIcon: false,
      remark: '',
      narrowedModels: narrowFactory(snapshot, compiled),
      shareModels: snapshot.sharing.has(key),
      takesPlaceOf: findCounterpart(key, (each) => live.has(each)),
      runtimeStatus: registered ? 'registered' : enabled ? 'not_registered' : 'disabled',
      ...(runtimeError === undefined ? {} : { runtimeError }),
      ...(await count(key, manifest)),
    };
  });

  const priority = (item: PluginSummary): number => (isObject(item.meta) ? (item.meta.sortPriority ?? 0) : 0);
  return (await Promise.all([...overrides, ...shipped])).sort(
    (a, b) => priority(b) - priority(a) || (a.key < b.key ? -1 : 1),
  );
}

type Described = { source: string | undefined; manifest: Manifest };

/** What a plugin may do. Without a source: as far as its manifest says it. */
const findPermissions = (ctx: Pick<Describer, 'worker'>, { source, manifest }: Described): Promise<Permission[]> =>
  ctx.worker.run('describePermissions', { source, manifest });

export type PermissionContext = VersionContext & Pick<Describer, 'worker'> & { registry: Pick<Registry, 'current'> };

/** What a plugin may do, compared with the plugin that serves its key now. */
export async function findPermissionChanges(ctx: PermissionContext, after: Described): Promise<PermissionChanges> {
  const serving = ctx.registry.current().plugins.get(after.manifest.key);
  const [before, now] = await Promise.all([serving && findServing(ctx, serving), findPermissions(ctx, after)]);
  return comparePermissions(before, now);
}

async function findServing(ctx: PermissionContext, { key, sourceHash, manifest }: LoadedPlugin): Promise<Permission[]> {
  const factory = ctx.registry.factory().get(key);
  const known = [...(await ctx.store.plugins.versions(key)), ...(factory ? [factory] : [])];
  // The source of a plugin in development is in neither.
  return findPermissions(ctx, { source: known.find((each) => each.sourceHash === sourceHash)?.source, manifest });
}

/** The keys of plugins that ship with this gateway, by those that the official marketplace uses. */
export const OFFICIAL_KEYS: Readonly<Record<string, string>> = {
  alibaba: 'ali',
  google: 'gemini',
  'vertex-ai': 'vertex',
};

/** The serving plugin that does the work of this one under its other key, if there is one. */
function findCounterpart(key: string, isServing: (key: string) => boolean): string | null {
  const named = Object.entries(OFFICIAL_KEYS).flat();
  const at = named.indexOf(key);
  const other = at < 0 ? undefined : named[at % 2 === 0 ? at + 1 : at - 1];
  return other !== undefined && isServing(other) ? other : null;
}
