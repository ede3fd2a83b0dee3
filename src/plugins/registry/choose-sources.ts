import { type Json, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { PluginRecord, Repositories } from '../../store/ports/index.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import type { Layer } from '../types.ts';

/** The option with the factory plugins that are switched off: a JSON array of keys. */
const DISABLED_FACTORY_OPTION = 'TaskPluginDisabledFactoryKeys';

/** What the database has about plugins at one moment. */
export type DatabaseSnapshot = { rows: PluginRecord[]; disabledFactoryKeys: ReadonlySet<string> };

/** What may serve a key: a compiled plugin, or the source of a version that is compiled later. */
export type Candidate = {
  key: string;
  version: string;
  sourceHash: string;
  layer: Layer;
  narrowedModels: string[] | null;
} & ({ compiled: CompiledPlugin } | { source: string });

const keysOf = (value: string | undefined): Set<string> => {
  const parsed: Json | undefined = value === undefined ? [] : parseJson(value);
  return new Set(Array.isArray(parsed) ? parsed.filter((key): key is string => typeof key === 'string') : []);
};

export async function readSnapshot(store: Pick<Repositories, 'plugins' | 'options'>): Promise<DatabaseSnapshot> {
  const [rows, disabled] = await Promise.all([store.plugins.active(), store.options.get(DISABLED_FACTORY_OPTION)]);
  return { rows, disabledFactoryKeys: keysOf(disabled) };
}

/** Switches a factory plugin on or off, inside the caller's transaction. */
export async function setFactoryEnabled(
  tx: Pick<Repositories, 'options'>,
  key: string,
  enabled: boolean,
): Promise<void> {
  const keys = keysOf(await tx.options.get(DISABLED_FACTORY_OPTION));
  if (enabled) keys.delete(key);
  else keys.add(key);
  await tx.options.put(DISABLED_FACTORY_OPTION, JSON.stringify([...keys].sort()));
}

/**
 * The candidates of every key, the highest layer first: the plugin under development, the active
 * database version if it is enabled, the factory plugin unless it is switched off. Keys are in
 * alphabetical order.
 */
export function chooseCandidates(
  factory: ReadonlyMap<string, CompiledPlugin>,
  { rows, disabledFactoryKeys }: DatabaseSnapshot,
  development: CompiledPlugin | undefined,
): [key: string, candidates: Candidate[]][] {
  const chosen = new Map<string, Candidate[]>();
  const add = (candidate: Candidate): void => {
    chosen.set(candidate.key, [...(chosen.get(candidate.key) ?? []), candidate]);
  };
  const compiledCandidate = (layer: Layer, compiled: CompiledPlugin): Candidate => {
    const { key, version } = compiled.manifest;
    return { key, version, sourceHash: compiled.sourceHash, layer, narrowedModels: null, compiled };
  };
  if (development) add(compiledCandidate('development', development));
  for (const { key, version, source, sourceHash, narrowedModels, enabled } of rows) {
    if (enabled) add({ key, version, source, sourceHash, layer: 'database', narrowedModels });
  }
  for (const [key, compiled] of factory) {
    if (!disabledFactoryKeys.has(key)) add(compiledCandidate('factory', compiled));
  }
  return [...chosen].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * SHA-256 over the sorted identities of the active versions. Nodes that see the same versions have
 * the same revision.
 */
export function databaseRevision({ rows, disabledFactoryKeys }: DatabaseSnapshot): string {
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
  return sha256Hex(JSON.stringify([versions, [...disabledFactoryKeys].sort()]));
}
