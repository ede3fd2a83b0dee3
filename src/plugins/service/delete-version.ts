import { AppError, sentence, toSentence } from '../../kernel/index.ts';
import type { PluginRecord } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { narrowFactory, readSnapshot, setSharing } from '../registry/choose-sources.ts';
import type { ActivationContext } from './activate-version.ts';
import { applyChange } from './change-plugins.ts';
import { type CompileContext, compileFound } from './compile-source.ts';
import { type PluginVersion, toVersion } from './describe-plugins.ts';
import { type FoundSource, readRow, type SourceContext } from './find-source.ts';
import { refuseUse, type UseContext } from './find-use.ts';
import { type ConflictContext, refuseConflict, serveSource } from './serve-source.ts';

/** The deleted version, and the one that is now active: `factory`, or `null` if none is left. */
export type Deletion = { before: PluginVersion; successor: string | null };

/**
 * Deletes a stored version. If it is the active one, the newest remaining version replaces it,
 * enabled as the deleted one was; without one, the factory plugin does. The successor is checked as
 * if it were activated; if it could not serve, the deletion is refused (`plugins.invalid`,
 * `plugins.conflict`). Without a successor, a key in use is refused (`plugins.in_use`). `force`
 * overrides both. With `adopt` a successor takes over the tasks of earlier versions.
 */
export async function deleteVersion(
  ctx: ActivationContext & UseContext,
  { key, version, force = false, adopt = false }: { key: string; version: string; force?: boolean; adopt?: boolean },
): Promise<Deletion> {
  const row = await readRow(ctx, key, version);
  const successor = await findSuccessor(ctx, row);
  if (row.active && row.enabled && successor && !force) await requireServable(ctx, successor);
  const adopting = adopt && row.active && successor ? await compileFound(ctx, successor) : undefined;
  await ctx.store.transaction(async (tx) => {
    if (!(await tx.plugins.delete(key, version, ctx.clock.unix()))) throw pluginErrors.not_found();
    if (row.active && !successor && !force) await refuseUse(ctx, tx, { key });
    if (row.active && !successor) await setSharing(tx, key, false);
    if (adopting) await serveSource(ctx, tx, { compiled: adopting, adopt: true });
  });
  await applyChange(ctx);
  return { before: toVersion(row), successor: successor ? versionName(successor) : null };
}

/** The version that is active once `row` is gone. */
async function findSuccessor(ctx: SourceContext, row: PluginRecord): Promise<FoundSource | undefined> {
  const others = (await ctx.store.plugins.versions(row.key)).filter(({ id }) => id !== row.id);
  const next = row.active ? others[0] : others.find(({ active }) => active);
  if (next) return { row: next, narrowedModels: next.narrowedModels };
  const snapshot = await readSnapshot(ctx.store);
  const factory = snapshot.disabledFactoryKeys.has(row.key) ? undefined : ctx.registry.factory().get(row.key);
  return factory && { factory, narrowedModels: narrowFactory(snapshot, factory) };
}

const versionName = ({ row }: FoundSource): string => row?.version ?? 'factory';

async function requireServable(ctx: CompileContext & ConflictContext, found: FoundSource): Promise<void> {
  try {
    const layer = found.row ? 'database' : 'factory';
    const compiled = await compileFound(ctx, found);
    refuseConflict(ctx, { compiled, layer, narrowedModels: found.narrowedModels });
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'unavailable') throw error;
    const message = sentence('plugins.takes_place', { version: versionName(found), fault: toSentence(error) });
    throw new AppError(error.code, error.kind, { message, details: error.details });
  }
}
