import { compareVersions } from './order-versions.ts';
import type { MarketPlugin } from './types.ts';

export type InstallState = 'not_installed' | 'up_to_date' | 'upgradable' | 'diverged';

/** A version that this gateway has: stored in the database, or shipped with the gateway. */
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
