import { type Clock, sentence } from '../../kernel/index.ts';
import { boundPluginKeys, type ChannelRecord, type Repositories, STATUS } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Registry } from '../registry/create-registry.ts';
import type { Manifest } from '../types.ts';

/** What needs the plugin that serves a key. */
export type Dependents = {
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
export async function findDependents(
  { registry, clock }: { registry: Pick<Registry, 'current'>; clock: Clock },
  tx: Repositories,
  key: string,
): Promise<Dependents | null> {
  const serving = registry.current().plugins.get(key);
  if (!serving) return null;
  const [channels, prices, unfinishedTasks, [latest]] = await Promise.all([
    tx.channels.all(),
    tx.prices.all(),
    tx.tasks.countUnfinished({ platform: key }),
    tx.tasks.latestWithData(key, 1),
  ]);
  const use: Dependents = {
    channels: boundChannels(channels, key, serving.manifest).map(({ id, name }) => ({ id, name })),
    prices: prices.filter(({ pluginKey }) => pluginKey === key).length,
    unfinishedTasks,
    hasRecentResults: latest !== undefined && latest.finishTime > clock.unix() - RECENT_SECONDS,
  };
  const isNeeded = use.channels.length + use.prices + use.unfinishedTasks > 0 || use.hasRecentResults;
  return isNeeded ? use : null;
}

/** Channels that a plugin serves: bound by its key, or of a type that it declares. */
export const boundChannels = (
  channels: readonly ChannelRecord[],
  key: string,
  manifest: Manifest | undefined,
): ChannelRecord[] =>
  channels.filter(
    (channel) => boundPluginKeys(channel).includes(key) || (manifest?.channelTypes.includes(channel.type) ?? false),
  );

export type DependentsContext = { registry: Pick<Registry, 'current' | 'factory'> };

const findManifest = (ctx: DependentsContext, key: string): Manifest | undefined =>
  ctx.registry.current().plugins.get(key)?.manifest ?? ctx.registry.factory().get(key)?.manifest;

export const findEnabledChannels = async (
  ctx: DependentsContext,
  tx: Repositories,
  key: string,
): Promise<ChannelRecord[]> =>
  boundChannels(await tx.channels.all(), key, findManifest(ctx, key)).filter(({ status }) => status === STATUS.enabled);

/**
 * Refuses a change while enabled channels need the key, unless `cascade`, or while tasks of it are
 * unfinished, unless `force`. Runs in the transaction that makes the change, so that both see the
 * same state.
 *
 * @throws `plugins.in_use`
 */
export async function refuseWhileNeeded(
  ctx: DependentsContext,
  tx: Repositories,
  { key, cascade = false, force = false }: { key: string; cascade?: boolean; force?: boolean },
): Promise<void> {
  const channels = (await findEnabledChannels(ctx, tx, key)).map(({ id, name }) => ({ id, name }));
  const inFlightCount = await tx.tasks.countUnfinished({ platform: key });
  if ((channels.length > 0 && !cascade) || (inFlightCount > 0 && !force))
    throw pluginErrors.in_use({
      message: sentence('plugins.in_use', { channels: channels.length, tasks: inFlightCount }),
      details: { channels, inFlightCount },
    });
}
