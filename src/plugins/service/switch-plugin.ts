import { sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { toHint } from '../manifest/faults.ts';
import { readSnapshot, setFactoryEnabled, setFactoryModels } from '../registry/active-versions.ts';
import type { PluginFault } from '../types.ts';
import type { ActivationContext } from './activate-version.ts';
import { applyChange, type ChangeContext, notifyNodes } from './change-plugins.ts';
import { type CompileContext, compileFound, invalidPlugin } from './compile-or-refuse.ts';
import { type PluginVersion, toFactoryVersion, toVersion } from './describe-plugins.ts';
import { type DependentsContext, findEnabledChannels, refuseWhileNeeded } from './find-dependents.ts';
import { FACTORY, type FoundVersion, findActiveRow, findVersion, type VersionContext } from './find-version.ts';
import { type ConflictContext, refuseConflict } from './refuse-conflicts.ts';

type SwitchContext = VersionContext &
  CompileContext &
  ConflictContext &
  ChangeContext &
  DependentsContext & { store: Store };

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
  const found = await findVersion(ctx, key);
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
    if (!enabled) await refuseWhileNeeded(ctx, tx, { key, ...use });
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

/** The version before and after. */
export type Narrowing = { before: PluginVersion; after: PluginVersion };

/**
 * Narrows the version that serves a key to some of its models; `null`: all of them again. Later
 * uploads of the key, and versions that are activated later, inherit the narrowing. A factory
 * plugin keeps its own, through upgrades of the gateway too.
 *
 * @throws `plugins.invalid` for models that the version does not have, `plugins.conflict` if
 *   another plugin claims the same
 */
export async function narrowModels(
  ctx: ActivationContext,
  key: string,
  models: readonly string[] | null,
): Promise<Narrowing> {
  const found = await findNarrowable(ctx, key);
  const compiled = await compileFound(ctx, found);
  const { models: known, version } = compiled.manifest;
  const faults = (models ?? []).flatMap((model, index): PluginFault[] => {
    if (known.includes(model)) return [];
    const said = sentence('plugins.not_a_model', { model: JSON.stringify(model), version: `${key}@${version}` });
    return [
      {
        path: `/models/${index}`,
        rule: 'models.unknown',
        ...said,
        ...toHint(sentence('plugins.models', { models: known.join(', ') })),
      },
    ];
  });
  if (faults.length > 0) throw invalidPlugin(faults);
  const narrowedModels = models && known.filter((model) => models.includes(model));
  const { row } = found;
  if (!row) {
    refuseConflict(ctx, { compiled, layer: 'factory', narrowedModels });
    await ctx.store.transaction((tx) => setFactoryModels(tx, key, narrowedModels));
  } else {
    if (row.enabled) refuseConflict(ctx, { compiled, layer: 'database', narrowedModels });
    await ctx.store.plugins.update(row.id, { narrowedModels });
  }
  await applyChange(ctx);
  const describe = (narrowed: string[] | null): PluginVersion =>
    row ? toVersion({ ...row, narrowedModels: narrowed }) : toFactoryVersion(compiled, narrowed);
  return { before: describe(found.narrowedModels), after: describe(narrowedModels) };
}

/** The active version, or the factory plugin where there is none or a disabled one. */
async function findNarrowable(ctx: VersionContext, key: string): Promise<FoundVersion> {
  const row = await findActiveRow(ctx.store, key);
  if (row && (row.enabled || !ctx.registry.factory().has(key))) return { row, narrowedModels: row.narrowedModels };
  if (ctx.registry.factory().has(key)) return findVersion(ctx, key, FACTORY);
  throw pluginErrors.not_found({ message: sentence('plugins.no_plugin', { plugin: key }) });
}
