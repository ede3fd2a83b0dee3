import type { Repositories } from '../../store/ports/index.ts';
import type { ServiceContext } from './context.ts';
import { boundChannels } from './describe-plugins.ts';

/** What needs the plugin that serves a key. */
export type KeyUse = {
  channels: { id: number; name: string }[];
  /** Prices that are set for models of this key alone. */
  prices: number;
  unfinishedTasks: number;
  /** Whether it has results of the last 30 days, which its hooks still read. */
  hasRecentResults: boolean;
};

const RECENT_SECONDS = 30 * 86_400;

/**
 * What would be affected if another version took the place of the one that serves `key`. Null: no
 * version serves it, or nothing needs it. Reads in the transaction that makes the change.
 */
export async function findUse(
  { registry, clock }: Pick<ServiceContext, 'registry' | 'clock'>,
  tx: Repositories,
  key: string,
): Promise<KeyUse | null> {
  const serving = registry.current().plugins.get(key);
  if (!serving) return null;
  const [channels, prices, unfinishedTasks, [latest]] = await Promise.all([
    tx.channels.all(),
    tx.prices.all(),
    tx.tasks.countUnfinished({ platform: key }),
    tx.tasks.latestWithData(key, 1),
  ]);
  const use: KeyUse = {
    channels: boundChannels(channels, key, serving.manifest).map(({ id, name }) => ({ id, name })),
    prices: prices.filter(({ pluginKey }) => pluginKey === key).length,
    unfinishedTasks,
    hasRecentResults: latest !== undefined && latest.finishTime > clock.unix() - RECENT_SECONDS,
  };
  const isNeeded = use.channels.length + use.prices + use.unfinishedTasks > 0 || use.hasRecentResults;
  return isNeeded ? use : null;
}
