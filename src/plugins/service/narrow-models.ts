import { sentence } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import { toHint } from '../manifest/faults.ts';
import { setFactoryModels } from '../registry/choose-sources.ts';
import type { PluginFault } from '../types.ts';
import type { ActivationContext } from './activate-version.ts';
import { applyChange } from './change-plugins.ts';
import { compileFound, invalidPlugin } from './compile-source.ts';
import { type PluginVersion, toFactoryVersion, toVersion } from './describe-plugins.ts';
import { FACTORY, type FoundSource, findActiveRow, findSource, type SourceContext } from './find-source.ts';
import { refuseConflict } from './serve-source.ts';

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
async function findNarrowable(ctx: SourceContext, key: string): Promise<FoundSource> {
  const row = await findActiveRow(ctx.store, key);
  if (row && (row.enabled || !ctx.registry.factory().has(key))) return { row, narrowedModels: row.narrowedModels };
  if (ctx.registry.factory().has(key)) return findSource(ctx, key, FACTORY);
  throw pluginErrors.not_found({ message: sentence('plugins.no_plugin', { plugin: key }) });
}
