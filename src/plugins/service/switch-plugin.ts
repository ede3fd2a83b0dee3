import type { Store } from '../../store/ports/index.ts';
import { readSnapshot, setFactoryEnabled } from '../registry/choose-sources.ts';
import { applyChange, type ChangeContext, notifyNodes } from './change-plugins.ts';
import { type CompileContext, compileFound } from './compile-source.ts';
import { findSource, type SourceContext } from './find-source.ts';
import { findEnabledChannels, refuseUse, type UseContext } from './find-use.ts';
import { type ConflictContext, refuseConflict } from './serve-source.ts';

type SwitchContext = SourceContext & CompileContext & ConflictContext & ChangeContext & UseContext & { store: Store };

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
  ctx: SwitchContext,
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
    const channels = enabled ? [] : await findEnabledChannels(ctx, tx, key);
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
