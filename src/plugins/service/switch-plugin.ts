import { pluginErrors } from '../errors.ts';
import { setFactoryEnabled } from '../registry/choose-sources.ts';
import type { Manifest } from '../types.ts';
import { activeRow, applyChange, compileOrThrow, refuseConflict, rowOf, type ServiceContext } from './context.ts';
import { boundChannels } from './describe-plugins.ts';

/** Makes a stored version the serving one, forwards or back. Throws before anything changes when it is broken or in conflict. */
export async function activateVersion(ctx: ServiceContext, key: string, version: string): Promise<void> {
  const row = await rowOf(ctx, key, version);
  const compiled = await compileOrThrow(ctx, row.source, row);
  refuseConflict(ctx, compiled, 'database', row.narrowedModels);
  if (!(await ctx.store.plugins.activate(key, version))) throw pluginErrors.not_found();
  await applyChange(ctx);
}

type Use = { channels: { id: number; name: string }[]; inFlightCount: number };

/** Enabled channels that need a key, and its unfinished tasks. */
async function useOf(ctx: ServiceContext, key: string, manifest: Manifest | undefined): Promise<Use> {
  const bound = boundChannels(await ctx.store.channels.all(), key, manifest).filter(({ status }) => status === 1);
  return {
    channels: bound.map(({ id, name }) => ({ id, name })),
    inFlightCount: await ctx.store.tasks.countUnfinished({ platform: key }),
  };
}

const manifestOf = (ctx: ServiceContext, key: string): Manifest | undefined =>
  ctx.registry.current().plugins.get(key)?.manifest;

/**
 * Switches a key on or off, in the database and in the factory. Off with enabled channels needs `cascade`, which disables them too; off with
 * unfinished tasks needs `force`; else `plugins.in_use` names both.
 */
export async function setPluginEnabled(
  ctx: ServiceContext,
  key: string,
  enabled: boolean,
  { cascade = false, force = false }: { cascade?: boolean; force?: boolean },
): Promise<{ pluginEnabled: boolean; disabledChannels: number[] }> {
  const row = await activeRow(ctx, key);
  const factory = (await ctx.registry.factory()).get(key);
  if (!row && !factory) throw pluginErrors.not_found();
  let disable: Use['channels'] = [];
  if (enabled) {
    const compiled = row ? await compileOrThrow(ctx, row.source, row) : factory;
    if (compiled) refuseConflict(ctx, compiled, row ? 'database' : 'factory', row?.narrowedModels ?? null);
  } else {
    const use = await useOf(ctx, key, manifestOf(ctx, key));
    if ((use.channels.length > 0 && !cascade) || (use.inFlightCount > 0 && !force))
      throw pluginErrors.in_use({ details: use });
    disable = use.channels;
  }
  await ctx.store.transaction(async (tx) => {
    if (row) await tx.plugins.setEnabled(key, enabled);
    if (factory) await setFactoryEnabled(tx, key, enabled);
    for (const { id } of disable) await tx.channels.update(id, { status: 2, updatedAt: ctx.clock.unix() });
  });
  await applyChange(ctx);
  if (disable.length > 0) await ctx.store.publish('channels');
  return { pluginEnabled: enabled, disabledChannels: disable.map(({ id }) => id) };
}

/** Deletes a stored version. The last one of a key in use, without a factory plugin to fall back to, needs `force`. */
export async function deleteVersion(
  ctx: ServiceContext,
  key: string,
  version: string,
  { force = false }: { force?: boolean },
): Promise<void> {
  const row = await rowOf(ctx, key, version);
  const versions = await ctx.store.plugins.versions(key);
  const last = versions.length === 1 && !(await ctx.registry.factory()).has(key);
  if (row.active && last && !force) {
    const use = await useOf(ctx, key, manifestOf(ctx, key));
    if (use.channels.length > 0 || use.inFlightCount > 0) throw pluginErrors.in_use({ details: use });
  }
  if (!(await ctx.store.plugins.delete(key, version))) throw pluginErrors.not_found();
  await applyChange(ctx);
}
