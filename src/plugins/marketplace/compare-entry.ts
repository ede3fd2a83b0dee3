import type { Manifest } from '../types.ts';
import type { MarketPlugin, MarketVersion } from './types.ts';

/**
 * Whether a source is the plugin and version that the index names; anything else must not be
 * installed under that name.
 */
export const isAnnounced = (manifest: Manifest, key: string, version: string): boolean =>
  manifest.key === key && manifest.version === version;

/**
 * In what an entry of an index tells another story than the plugin itself, a sentence each. What
 * stands at the plugin as a whole is held against its latest version alone.
 */
export function compareEntry(plugin: MarketPlugin, version: MarketVersion, manifest: Manifest): string[] {
  const found: string[] = [];
  const compare = (name: string, said: readonly unknown[], has: readonly unknown[]): void => {
    const write = (list: readonly unknown[]) => JSON.stringify(list.map(String).sort());
    if (write(said) !== write(has)) found.push(`The index says ${name} ${write(said)}, the plugin ${write(has)}.`);
  };
  if (!isAnnounced(manifest, plugin.key, version.version)) {
    found.push(`The file is ${manifest.key}@${manifest.version}, not ${plugin.key}@${version.version}.`);
  }
  compare('allowedHosts', version.allowedHosts, manifest.allowedHosts);
  compare('baseUrl', listOf(version.baseUrl), listOf(manifest.baseUrl));
  if (version.version !== plugin.latest) return found;
  compare('models', plugin.models, manifest.models);
  compare('channelTypes', plugin.channelTypes, manifest.channelTypes);
  return found;
}

const listOf = (value: string | undefined): string[] => (value === undefined ? [] : [value]);
