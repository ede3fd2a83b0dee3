import { compareVersions } from '../market-index/order-versions.ts';
import type { MarketPlugin, MarketVersion } from '../market-index/types.ts';
import type { PluginService } from '../service/create-plugin-service.ts';
import { OFFICIAL_KEYS } from '../service/describe-plugins.ts';
import type { VersionCheck, VersionVerdict } from './check-versions.ts';

export type OfferedVersion = MarketVersion & {
  /** Whether this gateway has the version, and with the same source. */
  stored: 'no' | 'same' | 'different';
  active: boolean;
  /** Undefined: nobody has looked yet. */
  verdict: VersionVerdict | undefined;
};

export type OfferedPlugin = Omit<MarketPlugin, 'versions'> & {
  versions: OfferedVersion[];
  /** The newest version that this gateway takes, as far as is known; null: none. */
  offered: string | null;
  /** Compared with the offered version. */
  state: InstallState;
  /** The key of a plugin here whose place it could take: the same one under an older key. */
  replaces: string | null;
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
export function offerPlugin(
  plugin: MarketPlugin,
  present: Present | undefined,
  { findVerdict, isServing }: { findVerdict: VersionCheck['find']; isServing: (key: string) => boolean },
): OfferedPlugin {
  const replaced = OFFICIAL_KEYS[plugin.key];
  const versions = plugin.versions.map((version): OfferedVersion => {
    const mine = present?.versions.find((each) => each.version === version.version);
    const stored = !mine ? 'no' : mine.sourceHash === version.sha256 ? 'same' : 'different';
    return { ...version, stored, active: mine?.active ?? false, verdict: findVerdict(version) };
  });
  const takes = ({ verdict }: OfferedVersion): boolean => verdict?.taken !== false;
  // The publisher's own choice comes first.
  const offered = versions.find((each) => each.version === plugin.latest && takes(each)) ?? versions.find(takes);
  return {
    ...plugin,
    versions,
    replaces: replaced !== undefined && isServing(replaced) ? replaced : null,
    offered: offered?.version ?? null,
    state: installState(
      { ...plugin, latest: offered?.version ?? plugin.latest },
      present?.installed,
      present?.versions ?? [],
    ),
    ...(present ? { installed: present.installed } : {}),
  };
}

export type InstallState = 'not_installed' | 'up_to_date' | 'upgradable' | 'diverged';

/** A version that this gateway has: stored in the database, or the factory version. */
export type PresentVersion = { version: string; sourceHash: string };

/**
 * Compares a plugin of a marketplace with this gateway's versions of it. `installed` is the active
 * version, or else the factory plugin; `present` are all versions.
 *
 * - `not_installed`: the gateway has no plugin with this key.
 * - `up_to_date`: the installed version is the market's latest, with the same source.
 * - `upgradable`: the installed version is older than the market's latest. This remains until the
 *   new version is activated.
 * - `diverged`: the installed version has another source than the same version in the market, or is
 *   not older than the market's latest; or the market's latest is stored here with another source,
 *   so it could not be installed.
 */
export function installState(
  plugin: Pick<MarketPlugin, 'latest' | 'versions'>,
  installed: PresentVersion | undefined,
  present: readonly PresentVersion[],
): InstallState {
  if (!installed) return 'not_installed';
  const offered = (version: string) => plugin.versions.find((each) => each.version === version)?.sha256;
  const differs = ({ version, sourceHash }: PresentVersion) => {
    const hash = offered(version);
    return hash !== undefined && hash !== sourceHash;
  };
  if (differs(installed)) return 'diverged';
  if (installed.version === plugin.latest) return 'up_to_date';
  if (present.some((each) => each.version === plugin.latest && differs(each))) return 'diverged';
  return compareVersions(installed.version, plugin.latest) < 0 ? 'upgradable' : 'diverged';
}
