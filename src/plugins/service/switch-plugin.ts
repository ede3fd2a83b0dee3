import { type ChannelRecord, type Repositories, STATUS } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { readSnapshot, setFactoryEnabled } from '../registry/choose-sources.ts';
import type { Manifest } from '../types.ts';
import { applyChange, compileFound, findSource, notifyNodes, refuseConflict, type ServiceContext } from './context.ts';
import { boundChannels } from './describe-plugins.ts';

const manifestOf = (ctx: ServiceContext, key: string): Manifest | undefined =>
  ctx.registry.current().plugins.get(key)?.manifest ?? ctx.registry.factory().get(key)?.manifest;

const enabledChannels = async (ctx: ServiceContext, tx: Repositories, key: string): Promise<ChannelRecord[]> =>
  boundChannels(await tx.channels.all(), key, manifestOf(ctx, key)).filter(({ status }) => status === STATUS.enabled);

/**
 * Refuses a change while enabled channels need the key, unless `cascade`, or while tasks of it are
 * unfinished, unless `force`. Runs in the transaction that makes the change, so that both see the
 * same state.
 *
 * @throws `plugins.in_use`
 */
export async function refuseUse(
  ctx: ServiceContext,
  tx: Repositories,
  { key, cascade = false, force = false }: { key: string; cascade?: boolean; force?: boolean },
): Promise<void> {
  const channels = (await enabledChannels(ctx, tx, key)).map(({ id, name }) => ({ id, name }));
  const inFlightCount = await tx.tasks.countUnfinished({ platform: key });
  if ((channels.length > 0 && !cascade) || (inFlightCount > 0 && !force))
    throw pluginErrors.in_use({
      message: `The plugin is still in use: ${channels.length} enabled channels, ${inFlightCount} unfinished tasks.`,
      details: { channels, inFlightCount },
    });
}

export type Switch = {
  pluginEnabled: boolean;
  disabledChannels: number[];
  /** Unfinished tasks after the change. Tasks of a disabled plugin wait until it is enabled. */
  inFlightCount: number;
  before: { enabled: boolean };
};

/**
 * Enables or disables a key, in the database and in the factory. Disabling a key with enabled
 * channels needs `cascade`, which disables them too. Disabling a key with unfinished tasks needs
 * `force`. Otherwise `plugins.in_use` is thrown with both. Submissions that have begun still
 * finish.
 */
export async function setPluginEnabled(
  ctx: ServiceContext,
  { key, enabled, ...use }: { key: string; enabled: boolean; cascade?: boolean; force?: boolean },
): Promise<Switch> {
  const found = await findSource(ctx, key);
  if (enabled) {
    const compiled = await compileFound(ctx, found);
    const layer = found.row ? 'database' : 'factory';
    refuseConflict(ctx, { compiled, layer, narrowedModels: found.narrowedModels });
  }
  const { disabledFactoryKeys } = await readSnapshot(ctx.store);
  const hasFactory = ctx.registry.factory().has(key);
  const before = { enabled: found.row ? found.row.enabled : !disabledFactoryKeys.has(key) };
  const changed = await ctx.store.transaction(async (tx) => {
    if (found.row) await tx.plugins.setEnabled(key, enabled);
    if (hasFactory) await setFactoryEnabled(tx, key, enabled);
    if (!enabled) await refuseUse(ctx, tx, { key, ...use });
    const channels = enabled ? [] : await enabledChannels(ctx, tx, key);
    for (const { id } of channels) await tx.channels.update(id, { status: 2, updatedAt: ctx.clock.unix() });
    return { channels, inFlightCount: await tx.tasks.countUnfinished({ platform: key }) };
  });
  await applyChange(ctx);
  if (changed.channels.length > 0) await notifyNodes(ctx, 'channels');
  return {
    pluginEnabled: enabled,
    disabledChannels: changed.channels.map(({ id }) => id),
    inFlightCount: changed.inFlightCount,
    before,
  };
}
