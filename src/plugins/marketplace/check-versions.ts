import { AppError, createSemaphore } from '../../kernel/index.ts';
import { findNeeds } from '../manifest/faults.ts';
import type { MarketPlugin, MarketVersion } from '../market-index/types.ts';
import type { ContractNeed, PluginFault } from '../types.ts';

/**
 * Whether this gateway takes a version. `needs`: what it would need of a newer contract, if that is
 * why it is refused.
 */
export type VersionVerdict = { taken: true } | { taken: false; needs: ContractNeed[] };

export type VersionCheck = {
  /** What is known already. */
  find(version: MarketVersion): VersionVerdict | undefined;
  /**
   * Checks the versions of plugins, the newest first, until each has one that is taken. Ends after
   * `withinMs`; what is left is checked all the same, and known later. Never rejects.
   */
  check(plugins: readonly OfferedVersions[], withinMs: number): Promise<void>;
};

type OfferedVersions = Pick<MarketPlugin, 'versions'> & { read(version: MarketVersion): Promise<string> };

/** Versions of one plugin that are read in search of one that is taken. */
const MAX_TRIED = 4;
const MAX_READ_AT_ONCE = 4;
const MAX_KNOWN = 2000;

type Deps = { check: (source: string) => Promise<unknown>; sleep: (ms: number) => Promise<void> };

/** Remembers verdicts by the hash of the source: what was said of a source stays true. */
export function createVersionCheck({ check, sleep }: Deps): VersionCheck {
  const known = new Map<string, VersionVerdict>();
  const pending = new Map<string, Promise<void>>();
  const reading = createSemaphore({ slots: MAX_READ_AT_ONCE });

  async function read(plugin: OfferedVersions, version: MarketVersion): Promise<void> {
    const source = await plugin.read(version);
    known.set(version.sha256, await checkSource(check, source));
    const [oldest = ''] = known.keys();
    if (known.size > MAX_KNOWN) known.delete(oldest);
  }

  function readOnce(plugin: OfferedVersions, version: MarketVersion): Promise<void> {
    const { sha256 } = version;
    const shared = pending.get(sha256);
    if (shared) return shared;
    const started = reading
      .run(() => read(plugin, version))
      .catch(() => {})
      .finally(() => pending.delete(sha256));
    pending.set(sha256, started);
    return started;
  }

  async function checkPlugin(plugin: OfferedVersions): Promise<void> {
    for (const version of plugin.versions.slice(0, MAX_TRIED)) {
      if (!known.has(version.sha256)) await readOnce(plugin, version);
      // One that could not be read says nothing of those before it.
      if (known.get(version.sha256)?.taken !== false) return;
    }
  }

  return {
    find: ({ sha256 }) => known.get(sha256),
    async check(plugins, withinMs) {
      const all = Promise.all(plugins.map(checkPlugin));
      await Promise.race([all, sleep(withinMs)]);
    },
  };
}

async function checkSource(check: Deps['check'], source: string): Promise<VersionVerdict> {
  try {
    await check(source);
    return { taken: true };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'plugins.invalid') throw error;
    return { taken: false, needs: findNeeds((error.details as { errors: PluginFault[] }).errors) };
  }
}
