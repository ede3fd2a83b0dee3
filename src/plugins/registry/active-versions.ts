import { isObject, type Json, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { Adoption, PluginRecord, Repositories } from '../../store/ports/index.ts';
import type { Layer } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';

/** The option with the factory plugins that are switched off: a JSON array of keys. */
const DISABLED_FACTORY_OPTION = 'TaskPluginDisabledFactoryKeys';
/** The option with the models that factory plugins are narrowed to: a JSON object by key. */
const FACTORY_MODELS_OPTION = 'TaskPluginFactoryModels';

/** The option with the plugins that share models with others: a JSON array of keys. */
const SHARING_OPTION = 'TaskPluginSharedModels';

/** The option with the keys that others have taken the place of: a JSON object, old to new. */
const MOVED_OPTION = 'TaskPluginMovedKeys';

/** What the database has about plugins at one moment. */
export type DatabaseSnapshot = {
  rows: PluginRecord[];
  disabledFactoryKeys: ReadonlySet<string>;
  /** By key: the models that a factory plugin is narrowed to. */
  factoryModels: ReadonlyMap<string, string[]>;
  adoptions: Adoption[];
  /** Keys of the plugins that may claim models that others claim too. */
  sharing: ReadonlySet<string>;
  /** Maps a former key to the key whose plugin has taken its place and reads its tasks. */
  moved: ReadonlyMap<string, string>;
};

/** What may serve a key: a compiled plugin, or the source of a version that is compiled later. */
export type Candidate = {
  key: string;
  version: string;
  sourceHash: string;
  layer: Layer;
  narrowedModels: string[] | null;
} & ({ compiled: CompiledPlugin } | { source: string });

const readKeys = (value: string | undefined): Set<string> => {
  const parsed: Json | undefined = value === undefined ? [] : parseJson(value);
  return new Set(readTexts(parsed));
};

const readTexts = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : [];

const modelsByKey = (value: string | undefined): Map<string, string[]> => {
  const parsed: Json | undefined = value === undefined ? {} : parseJson(value);
  return new Map(isObject(parsed) ? Object.entries(parsed).map(([key, models]) => [key, readTexts(models)]) : []);
};

export async function readSnapshot(
  store: Pick<Repositories, 'plugins' | 'options' | 'pluginSources'>,
): Promise<DatabaseSnapshot> {
  const [rows, disabled, narrowed, adoptions, sharing, moved] = await Promise.all([
    store.plugins.active(),
    store.options.get(DISABLED_FACTORY_OPTION),
    store.options.get(FACTORY_MODELS_OPTION),
    store.pluginSources.adoptions(),
    store.options.get(SHARING_OPTION),
    store.options.get(MOVED_OPTION),
  ]);
  return {
    rows,
    disabledFactoryKeys: readKeys(disabled),
    factoryModels: modelsByKey(narrowed),
    adoptions,
    sharing: readKeys(sharing),
    moved: readMoved(moved),
  };
}

/** Switches a factory plugin on or off, inside the caller's transaction. */
export async function setFactoryEnabled(
  tx: Pick<Repositories, 'options'>,
  key: string,
  enabled: boolean,
): Promise<void> {
  await setMember(tx, DISABLED_FACTORY_OPTION, { key, isMember: !enabled });
}

const readMoved = (value: string | undefined): Map<string, string> => {
  const parsed: Json | undefined = value === undefined ? {} : parseJson(value);
  const entries = isObject(parsed) ? Object.entries(parsed) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
};

/** Notes that `to` has taken the place of `from`, inside the caller's transaction. */
export async function setMovedKey(tx: Pick<Repositories, 'options'>, from: string, to: string): Promise<void> {
  const moved = readMoved(await tx.options.get(MOVED_OPTION));
  for (const [former, key] of moved) if (key === from) moved.set(former, to);
  moved.set(from, to);
  // A plugin that comes back has its own tasks.
  moved.delete(to);
  await tx.options.put(MOVED_OPTION, JSON.stringify(Object.fromEntries([...moved].sort())));
}

/** Says whether a plugin shares models with others, inside the caller's transaction. */
export const setSharing = (tx: Pick<Repositories, 'options'>, key: string, shares: boolean): Promise<void> =>
  setMember(tx, SHARING_OPTION, { key, isMember: shares });

async function setMember(
  tx: Pick<Repositories, 'options'>,
  option: string,
  { key, isMember }: { key: string; isMember: boolean },
): Promise<void> {
  const keys = readKeys(await tx.options.get(option));
  if (keys.has(key) === isMember) return;
  if (isMember) keys.add(key);
  else keys.delete(key);
  await tx.options.put(option, JSON.stringify([...keys].sort()));
}

/**
 * Narrows a factory plugin to `models`, or gives it all of them back (`null`), inside the caller's
 * transaction.
 */
export async function setFactoryModels(
  tx: Pick<Repositories, 'options'>,
  key: string,
  models: string[] | null,
): Promise<void> {
  const byKey = modelsByKey(await tx.options.get(FACTORY_MODELS_OPTION));
  if (models) byKey.set(key, models);
  else byKey.delete(key);
  await tx.options.put(FACTORY_MODELS_OPTION, JSON.stringify(Object.fromEntries([...byKey].sort())));
}

/** The models that a factory plugin is narrowed to, of those that it still has; `null`: all. */
export function narrowFactory(
  { factoryModels }: Pick<DatabaseSnapshot, 'factoryModels'>,
  { manifest }: CompiledPlugin,
): string[] | null {
  const narrowed = factoryModels.get(manifest.key);
  return narrowed ? manifest.models.filter((model) => narrowed.includes(model)) : null;
}

/**
 * The candidates of every key, the highest layer first: the plugin under development, the active
 * database version if it is enabled, the factory plugin unless it is switched off. Keys are in
 * alphabetical order.
 */
export function chooseCandidates(
  factory: ReadonlyMap<string, CompiledPlugin>,
  snapshot: DatabaseSnapshot,
  development: CompiledPlugin | undefined,
): [key: string, candidates: Candidate[]][] {
  const { rows, disabledFactoryKeys } = snapshot;
  const chosen = new Map<string, Candidate[]>();
  const add = (candidate: Candidate): void => {
    chosen.set(candidate.key, [...(chosen.get(candidate.key) ?? []), candidate]);
  };
  const addCompiled = (layer: Layer, compiled: CompiledPlugin, narrowedModels: string[] | null): void => {
    const { key, version } = compiled.manifest;
    add({ key, version, sourceHash: compiled.sourceHash, layer, narrowedModels, compiled });
  };
  if (development) addCompiled('development', development, null);
  for (const { key, version, source, sourceHash, narrowedModels, enabled } of rows) {
    if (enabled) add({ key, version, source, sourceHash, layer: 'database', narrowedModels });
  }
  for (const [key, compiled] of factory) {
    if (!disabledFactoryKeys.has(key)) addCompiled('factory', compiled, narrowFactory(snapshot, compiled));
  }
  return [...chosen].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * SHA-256 over the sorted identities of the active versions. Nodes that see the same versions have
 * the same revision.
 */
export function databaseRevision({
  rows,
  disabledFactoryKeys,
  factoryModels,
  sharing,
}: Omit<DatabaseSnapshot, 'adoptions' | 'moved'>): string {
  const versions = rows
    .map(({ key, apiVersion, version, sourceHash, enabled, narrowedModels }) => ({
      key,
      api_version: apiVersion,
      version,
      source_hash: sourceHash,
      enabled,
      narrowed_models: narrowedModels && [...narrowedModels].sort(),
    }))
    .sort((a, b) => (a.key < b.key || (a.key === b.key && a.version < b.version) ? -1 : 1));
  const factory = [...factoryModels].map(([key, models]) => [key, [...models].sort()] as const);
  return sha256Hex(JSON.stringify([versions, [...disabledFactoryKeys].sort(), factory.sort(), [...sharing].sort()]));
}
