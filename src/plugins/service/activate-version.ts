import type { PluginRecord, Repositories } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { readSnapshot, setFactoryEnabled } from '../registry/choose-sources.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
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
import { serveSource } from './serve-source.ts';

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
  /** Of a roll-back: called first in the transaction. Throw in it to change nothing. */
  claim?: (tx: Repositories) => Promise<void>;
};

/**
 * Activates a stored version, newer or older. `factory` deactivates all stored versions, so that
 * the factory plugin serves. A version that is not narrowed itself inherits the narrowing of what
 * it replaces. With `adopt` it takes over the tasks of earlier versions. If the version is broken
 * or in conflict, throws before anything changes.
 */
export async function activateVersion(
  ctx: ServiceContext,
  { key, version, adopt = false, claim }: ActivationRequest,
): Promise<Activation> {
  const found = await findActivatable(ctx, key, version);
  const before = await activeRow(ctx.store, key);
  const compiled = await compileFound(ctx, found);
  const narrowedModels = await narrowingOf(ctx, found, compiled);
  refuseConflict(ctx, { compiled, layer: found.row ? 'database' : 'factory', narrowedModels });
  const { after, adoptedTasks } = await ctx.store.transaction(async (tx) => {
    await claim?.(tx);
    return {
      after: await makeActive(tx),
      adoptedTasks: await serveSource(ctx, tx, { compiled, adopt, isRollback: claim !== undefined }),
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
export async function findActivatable(ctx: ServiceContext, key: string, version: string): Promise<FoundSource> {
  const found = await findSource(ctx, key, version);
  if (found.row || version === FACTORY) return found;
  throw pluginErrors.not_found({
    message: `There is no stored version ${version} of plugin ${key}. The version that ships with the gateway is called ${FACTORY}.`,
  });
}

/**
 * The models that a version is narrowed to once it is active; `null`: all of them. Its own
 * narrowing counts, or else that of the active version, or of the factory plugin where none is
 * active. Models that the version does not have are dropped. The factory plugin inherits nothing.
 */
export async function narrowingOf(
  ctx: Pick<ServiceContext, 'store'>,
  { factory, narrowedModels }: Pick<FoundSource, 'factory' | 'narrowedModels'>,
  { manifest }: CompiledPlugin,
): Promise<string[] | null> {
  if (factory) return narrowedModels;
  const narrowed = narrowedModels ?? (await currentNarrowing(ctx, manifest.key));
  return narrowed ? manifest.models.filter((model) => narrowed.includes(model)) : null;
}

/** The narrowing of a key's active version, or of its factory plugin where none is active. */
export async function currentNarrowing(
  { store }: Pick<ServiceContext, 'store'>,
  key: string,
): Promise<string[] | null> {
  const { rows, factoryModels } = await readSnapshot(store);
  const active = rows.find((row) => row.key === key);
  return (active ? active.narrowedModels : factoryModels.get(key)) ?? null;
}
