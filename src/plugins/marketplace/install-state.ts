import { compareVersions } from './order-versions.ts';
import type { MarketPlugin } from './types.ts';

export type InstallState = 'not_installed' | 'up_to_date' | 'upgradable' | 'diverged';

/** A version on this gateway: stored in the database, or shipped with the gateway. */
export type PresentVersion = { version: string; sourceHash: string };

/**
 * How a plugin of a marketplace stands to what this gateway has. `installed` is the version that
 * counts for the key: the active one, else the factory's; `present` are all of them.
 *
 * - `not_installed`: the gateway has nothing under this key.
 * - `up_to_date`: the installed version is the market's latest, with the same source.
 * - `upgradable`: the installed version is older than the market's latest. It stays so until the
 *   new version is activated.
 * - `diverged`: neither. The installed version has another source than the same version has in the
 *   market, or a version that is not older than the market's latest, or the market's latest is
 *   stored here with another source: it could not be installed.
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
