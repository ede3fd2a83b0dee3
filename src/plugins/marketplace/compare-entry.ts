import { type Sentence, sentence } from '../../kernel/index.ts';
import type { MarketPlugin, MarketVersion } from '../market-index/types.ts';
import type { Manifest } from '../types.ts';

/** Whether a source is the plugin and version that the index names. Nothing else is installed. */
export const isAnnounced = (manifest: Manifest, key: string, version: string): boolean =>
  manifest.key === key && manifest.version === version;

/**
 * The differences between an entry of an index and the plugin itself, one sentence each. What an
 * entry says about the plugin as a whole is compared with its latest version only.
 */
export function compareEntry(plugin: MarketPlugin, version: MarketVersion, manifest: Manifest): Sentence[] {
  const differences: Sentence[] = [];
  const compare = (name: string, inIndex: readonly unknown[], inPlugin: readonly unknown[]): void => {
    const write = (list: readonly unknown[]) => JSON.stringify(list.map(String).sort());
    if (write(inIndex) !== write(inPlugin))
      differences.push(sentence('index.says', { name, values: write(inIndex), others: write(inPlugin) }));
  };
  if (!isAnnounced(manifest, plugin.key, version.version)) {
    differences.push(
      sentence('index.file', {
        found: `${manifest.key}@${manifest.version}`,
        announced: `${plugin.key}@${version.version}`,
      }),
    );
  }
  compare('allowedHosts', version.allowedHosts, manifest.allowedHosts);
  compare('baseUrl', toList(version.baseUrl), toList(manifest.baseUrl));
  if (version.version !== plugin.latest) return differences;
  compare('models', plugin.models, manifest.models);
  compare('channelTypes', plugin.channelTypes, manifest.channelTypes);
  return differences;
}

const toList = (value: string | undefined): string[] => (value === undefined ? [] : [value]);
