import { AppError, sentence, toSentence } from '../../kernel/index.ts';
import type { PluginRecord, Repositories, Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { narrowFactory, readSnapshot, setFactoryEnabled, setSharing } from '../registry/active-versions.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import { applyChange, type ChangeContext } from './change-plugins.ts';
import { type CompileContext, compileFound } from './compile-or-refuse.ts';
import { type PluginVersion, toVersion } from './describe-plugins.ts';
import { type DependentsContext, refuseWhileNeeded } from './find-dependents.ts';
import {
  FACTORY,
  type FoundVersion,
  findActiveRow,
  findVersion,
  readRow,
  type VersionContext,
} from './find-version.ts';
import { recordActivation } from './record-activation.ts';
import { type ConflictContext, refuseConflict } from './refuse-conflicts.ts';

export type ActivationContext = VersionContext & CompileContext & ConflictContext & ChangeContext & { store: Store };

/** The active version before and after. `null`: the factory plugin, if there is one. */
export type Activation = {
  before: PluginVersion | null;
  after: PluginVersion | null;
  /** Unfinished tasks that earlier versions began and this one takes over. */
  adoptedTasks: number;
};

type ActivationRequest = {
  key: string;
  version: string;
  adopt?: boolean;
  /** As in an upload. */
  shareModels?: boolean | undefined;
  /** A roll-back's own check, first in the transaction. It throws to change nothing. */
  claim?: (tx: Repositories) => Promise<void>;
};

/**
 * Activates a stored version, newer or older. `factory` deactivates all stored versions, so that
 * the factory plugin serves. A version that is not narrowed itself inherits the narrowing of what
 * it replaces. With `adopt` it takes over the tasks of earlier versions. If the version is broken
 * or in conflict, throws before anything changes.
 */
export async function activateVersion(
  ctx: ActivationContext,
  { key, version, adopt = false, shareModels, claim }: ActivationRequest,
): Promise<Activation> {
  const found = await findActivatable(ctx, key, version);
  const before = await findActiveRow(ctx.store, key);
  const compiled = await compileFound(ctx, found);
  const narrowedModels = await findNarrowing(ctx, found, compiled);
  refuseConflict(ctx, { compiled, layer: found.row ? 'database' : 'factory', narrowedModels, shareModels });
  const { after, adoptedTasks } = await ctx.store.transaction(async (tx) => {
    await claim?.(tx);
    if (shareModels !== undefined) await setSharing(tx, key, shareModels);
    return {
      after: await makeActive(tx),
      adoptedTasks: await recordActivation(ctx, tx, { compiled, adopt, isRollback: claim !== undefined }),
    };
  });
  await applyChange(ctx);
  return { before: before ? toVersion(before) : null, after: after && toVersion(after), adoptedTasks };

  async function makeActive(tx: Repositories): Promise<PluginRecord | null> {
    const { row } = found;
    if (!row) {
      await tx.plugins.deactivate(key);
      await setFactoryEnabled(tx, key, true);
      return null;
    }
    if (!(await tx.plugins.activate(key, version))) throw pluginErrors.not_found();
    await tx.plugins.update(row.id, { narrowedModels });
    return { ...row, active: true, enabled: true, narrowedModels };
  }
}

/**
 * A stored version, or the factory plugin for the name `factory`.
 *
 * @throws `plugins.not_found`
 */
export async function findActivatable(ctx: VersionContext, key: string, version: string): Promise<FoundVersion> {
  const found = await findVersion(ctx, key, version);
  if (found.row || version === FACTORY) return found;
  throw pluginErrors.not_found({
    message: sentence('plugins.no_version_factory', { version, plugin: key, factory: FACTORY }),
  });
}

/**
 * The models that a version is narrowed to once it is active; `null`: all of them. Its own
 * narrowing counts, or else that of the active version, or of the factory plugin where none is
 * active. Models that the version does not have are dropped. The factory plugin inherits nothing.
 */
export async function findNarrowing(
  ctx: Pick<VersionContext, 'store'>,
  { factory, narrowedModels }: Pick<FoundVersion, 'factory' | 'narrowedModels'>,
  { manifest }: CompiledPlugin,
): Promise<string[] | null> {
  if (factory) return narrowedModels;
  const narrowed = narrowedModels ?? (await findCurrentNarrowing(ctx, manifest.key));
  return narrowed ? manifest.models.filter((model) => narrowed.includes(model)) : null;
}

/** The narrowing of a key's active version, or of its factory plugin where none is active. */
export async function findCurrentNarrowing(
  { store }: Pick<VersionContext, 'store'>,
  key: string,
): Promise<string[] | null> {
  const { rows, factoryModels } = await readSnapshot(store);
  const active = rows.find((row) => row.key === key);
  return (active ? active.narrowedModels : factoryModels.get(key)) ?? null;
}

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
  ctx: ActivationContext & DependentsContext,
  { key, version, force = false, adopt = false }: { key: string; version: string; force?: boolean; adopt?: boolean },
): Promise<Deletion> {
  const row = await readRow(ctx, key, version);
  const successor = await findSuccessor(ctx, row);
  if (row.active && row.enabled && successor && !force) await requireServable(ctx, successor);
  const adopting = adopt && row.active && successor ? await compileFound(ctx, successor) : undefined;
  await ctx.store.transaction(async (tx) => {
    if (!(await tx.plugins.delete(key, version, ctx.clock.unix()))) throw pluginErrors.not_found();
    if (row.active && !successor && !force) await refuseWhileNeeded(ctx, tx, { key });
    if (row.active && !successor) await setSharing(tx, key, false);
    if (adopting) await recordActivation(ctx, tx, { compiled: adopting, adopt: true });
  });
  await applyChange(ctx);
  return { before: toVersion(row), successor: successor ? versionName(successor) : null };
}

/** The version that is active once `row` is gone. */
async function findSuccessor(ctx: VersionContext, row: PluginRecord): Promise<FoundVersion | undefined> {
  const others = (await ctx.store.plugins.versions(row.key)).filter(({ id }) => id !== row.id);
  const next = row.active ? others[0] : others.find(({ active }) => active);
  if (next) return { row: next, narrowedModels: next.narrowedModels };
  const snapshot = await readSnapshot(ctx.store);
  const factory = snapshot.disabledFactoryKeys.has(row.key) ? undefined : ctx.registry.factory().get(row.key);
  return factory && { factory, narrowedModels: narrowFactory(snapshot, factory) };
}

const versionName = ({ row }: FoundVersion): string => row?.version ?? 'factory';

async function requireServable(ctx: CompileContext & ConflictContext, found: FoundVersion): Promise<void> {
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
