import type { PluginService } from '../service/create-plugin-service.ts';
import { type InstallState, installState, type PresentVersion } from './install-state.ts';
import type { MarketPlugin, MarketVersion } from './types.ts';

export type OfferedVersion = MarketVersion & {
  /** Whether this gateway has the version, and with the same source. */
  stored: 'no' | 'same' | 'different';
  active: boolean;
};

export type OfferedPlugin = Omit<MarketPlugin, 'versions'> & {
  versions: OfferedVersion[];
  state: InstallState;
  installed?: PresentVersion;
};

export type Present = { installed: PresentVersion; versions: readonly (PresentVersion & { active: boolean })[] };

/** The versions that this gateway has, by key. */
export async function presentPlugins(
  plugins: Pick<PluginService, 'list' | 'versions'>,
): Promise<ReadonlyMap<string, Present>> {
  const found = (await plugins.list()).map(async ({ key, version, sourceHash }): Promise<[string, Present]> => {
    const stored = await plugins.versions(key);
    const installed = { version, sourceHash };
    return [key, { installed, versions: stored.length > 0 ? stored : [{ ...installed, active: true }] }];
  });
  return new Map(await Promise.all(found));
}

/** A plugin of an index with what this gateway has of it. */
export function offerPlugin(plugin: MarketPlugin, present: Present | undefined): OfferedPlugin {
  const versions = plugin.versions.map((version): OfferedVersion => {
    const mine = present?.versions.find((each) => each.version === version.version);
    const stored = !mine ? 'no' : mine.sourceHash === version.sha256 ? 'same' : 'different';
    return { ...version, stored, active: mine?.active ?? false };
  });
  return {
    ...plugin,
    versions,
    state: installState(plugin, present?.installed, present?.versions ?? []),
    ...(present ? { installed: present.installed } : {}),
  };
}
