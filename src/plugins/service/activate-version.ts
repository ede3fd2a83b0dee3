import type { PluginRecord } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { setFactoryEnabled } from '../registry/choose-sources.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import {
  activeRow,
  applyChange,
  compileFound,
  FACTORY,
  type FoundSource,
  findSource,
  refuseConflict,
  type ServiceContext,
} from './context.ts';
import { type PluginVersion, toVersion } from './describe-plugins.ts';

/**
 * What counts for the key before and after; `null`: what ships with the gateway, if anything does.
 */
export type Activation = { before: PluginVersion | null; after: PluginVersion | null };

/**
 * Makes a stored version the serving one, forwards or back; `factory`: takes all of them from
 * service, so that what ships with the gateway serves. A version that is not narrowed itself takes
 * over the narrowing of the one that it replaces. Throws before anything changes when what was
 * asked for is broken or in conflict.
 */
export async function activateVersion(ctx: ServiceContext, key: string, version: string): Promise<Activation> {
  const found = await findActivatable(ctx, key, version);
  const before = await activeRow(ctx.store, key);
  const compiled = await compileFound(ctx, found);
  const narrowedModels = found.row ? narrowingOf(found.row.narrowedModels, before, compiled) : null;
  refuseConflict(ctx, compiled, found.row ? 'database' : 'factory', narrowedModels);
  const after = await ctx.store.transaction(async (tx) => {
    const { row } = found;
    if (!row) {
      await tx.plugins.deactivate(key);
      await setFactoryEnabled(tx, key, true);
      return null;
    }
    if (!(await tx.plugins.activate(key, version))) throw pluginErrors.not_found();
    await tx.plugins.update(row.id, { narrowedModels });
    return { ...row, active: true, enabled: true, narrowedModels };
  });
  await applyChange(ctx);
  return { before: before ? toVersion(before) : null, after: after && toVersion(after) };
}

/** A stored version or, by that name alone, the factory's; or `plugins.not_found`. */
export async function findActivatable(ctx: ServiceContext, key: string, version: string): Promise<FoundSource> {
  const found = await findSource(ctx, key, version);
  if (found.row || version === FACTORY) return found;
  throw pluginErrors.not_found({
    message: `There is no stored version ${version} of plugin ${key}. What ships with the gateway is called ${FACTORY}.`,
  });
}

/**
 * The models that a version is narrowed to once it is active; `null`: all of them. Its `own`
 * narrowing counts, else that of the active version; models that the version does not have are left
 * out.
 */
export function narrowingOf(
  own: readonly string[] | null,
  active: PluginRecord | undefined,
  { manifest }: CompiledPlugin,
): string[] | null {
  const narrowed = own ?? active?.narrowedModels;
  return narrowed ? manifest.models.filter((model) => narrowed.includes(model)) : null;
}
