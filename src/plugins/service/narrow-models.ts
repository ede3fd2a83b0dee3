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
 * Lets the active version of a key serve some of its models only; `null`: all of them again. Later
 * uploads of the key and versions that are activated in its place take the narrowing over. Throws
 * `plugins.invalid` for models that the version does not have, `plugins.conflict` when another
 * plugin has what would be claimed.
 */
export async function narrowModels(
  ctx: ServiceContext,
  key: string,
  models: readonly string[] | null,
): Promise<Narrowing> {
  const row = await activeRow(ctx.store, key);
  if (!row) {
    const message = ctx.registry.factory().has(key)
      ? `Plugin ${key} has no active stored version to narrow: what ships with the gateway counts. Upload its source or activate a version first.`
      : `There is no plugin ${key}.`;
    throw pluginErrors.not_found({ message });
  }
  const compiled = await compileOrThrow(ctx, row.source, row);
  const known = compiled.manifest.models;
  const faults = (models ?? []).flatMap((model, index): PluginFault[] => {
    if (known.includes(model)) return [];
    const message = `${JSON.stringify(model)} is no model of ${key}@${row.version}`;
    return [{ path: `/models/${index}`, rule: 'models.unknown', message, hint: `Its models: ${known.join(', ')}.` }];
  });
  if (faults.length > 0) throw invalidPlugin(faults);
  const narrowedModels = models && known.filter((model) => models.includes(model));
  if (row.enabled) refuseConflict(ctx, compiled, 'database', narrowedModels);
  await ctx.store.plugins.update(row.id, { narrowedModels });
  await applyChange(ctx);
  return { before: toVersion(row), after: toVersion({ ...row, narrowedModels }) };
}
