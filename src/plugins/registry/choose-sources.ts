import { type Json, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { PluginRecord, Repositories } from '../../store/ports/index.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import type { Layer } from './load-plugin.ts';

/** The option that lists factory plugins switched off by an administrator, as a JSON array of keys. */
const DISABLED_FACTORY_OPTION = 'TaskPluginDisabledFactoryKeys';

/** What the database says about plugins at one moment. */
export type DatabaseSnapshot = { rows: PluginRecord[]; disabledFactoryKeys: ReadonlySet<string> };

/** A source that should serve its key. */
export type ChosenSource = {
  key: string;
  version: string;
  source: string;
  sourceHash: string;
  layer: Layer;
  narrowedModels: string[] | null;
};

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

/** One source a key: the active and enabled database version, else the factory's unless it is switched off. */
export function chooseSources(
  factory: ReadonlyMap<string, CompiledPlugin>,
  { rows, disabledFactoryKeys }: DatabaseSnapshot,
): ChosenSource[] {
  const chosen = new Map<string, ChosenSource>();
  for (const [key, { manifest, source, sourceHash }] of factory) {
    if (disabledFactoryKeys.has(key)) continue;
    chosen.set(key, { key, version: manifest.version, source, sourceHash, layer: 'factory', narrowedModels: null });
  }
  for (const row of rows) {
    if (!row.enabled) continue;
    const { key, version, source, sourceHash, narrowedModels } = row;
    chosen.set(key, { key, version, source, sourceHash, layer: 'database', narrowedModels });
  }
  return [...chosen.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The same on every node that sees the same active versions: SHA-256 over their identities, sorted. */
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
