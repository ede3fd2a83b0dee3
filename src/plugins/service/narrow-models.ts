import { pluginErrors } from '../errors.ts';
import type { PluginFault } from '../types.ts';
import {
  activeRow,
  applyChange,
  compileOrThrow,
  invalidPlugin,
  refuseConflict,
  type ServiceContext,
} from './context.ts';
import { type PluginVersion, toVersion } from './describe-plugins.ts';

/** The active version before and after. */
export type Narrowing = { before: PluginVersion; after: PluginVersion };

/**
 * Narrows the active version of a key to some of its models; `null`: all of them again. Later
 * uploads of the key, and versions that are activated later, inherit the narrowing.
 *
 * @throws `plugins.invalid` for models that the version does not have, `plugins.conflict` if
 * another
 *   plugin claims the same
 */
export async function narrowModels(
  ctx: ServiceContext,
  key: string,
  models: readonly string[] | null,
): Promise<Narrowing> {
  const row = await activeRow(ctx.store, key);
  if (!row) {
    const message = ctx.registry.factory().has(key)
      ? `Plugin ${key} has no active stored version to narrow: the one that ships with the gateway serves. Upload its source or activate a version first.`
      : `There is no plugin ${key}.`;
    throw pluginErrors.not_found({ message });
  }
  const compiled = await compileOrThrow(ctx, row.source, row);
  const known = compiled.manifest.models;
  const faults = (models ?? []).flatMap((model, index): PluginFault[] => {
    if (known.includes(model)) return [];
    const message = `${JSON.stringify(model)} is not a model of ${key}@${row.version}`;
    return [{ path: `/models/${index}`, rule: 'models.unknown', message, hint: `Its models: ${known.join(', ')}.` }];
  });
  if (faults.length > 0) throw invalidPlugin(faults);
  const narrowedModels = models && known.filter((model) => models.includes(model));
  if (row.enabled) refuseConflict(ctx, { compiled, layer: 'database', narrowedModels });
  await ctx.store.plugins.update(row.id, { narrowedModels });
  await applyChange(ctx);
  return { before: toVersion(row), after: toVersion({ ...row, narrowedModels }) };
}
