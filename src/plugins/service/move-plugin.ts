import { canonicalJson, sentence, sha256Hex, toSentence } from '../../kernel/index.ts';
import type { ChannelRecord, PriceRecord, Repositories, Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { readSnapshot, setFactoryEnabled, setMovedKey } from '../registry/active-versions.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import type { Conflict } from '../registry/ownership-index.ts';
import { preflight } from '../registry/ownership-index.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import type { ActivationContext } from './activate-version.ts';
import { applyChange, notifyNodes } from './change-plugins.ts';
import { compileFound } from './compile-or-refuse.ts';
import { boundChannels } from './find-dependents.ts';
import { type FoundVersion, findActiveRow, findVersion } from './find-version.ts';
import { recordActivation } from './record-activation.ts';

/** What follows when one plugin takes the place of another, under a key of its own. */
export type PluginMove = {
  from: { key: string; version: string };
  to: { key: string; version: string };
  /** Channels, and the models of them that the other plugin does not have. */
  channels: { id: number; name: string; lost: string[] }[];
  /** Prices for the plugin alone. `kept`: the other plugin has one of its own for the model. */
  prices: { model: string; kept: boolean }[];
  /** Paths of the one that the other does not have. */
  lostRoutes: string[];
  unfinishedTasks: number;
  /** What a third plugin has that the other one claims. */
  conflict: Conflict | null;
  /** Stands for all of this. */
  digest: string;
};

type MoveContext = ActivationContext & { store: Store };
type Keys = { from: string; to: string };

/**
 * What a move would change. Writes nothing.
 * @throws `plugins.not_found`, `plugins.invalid`
 */
export const previewMove = async (ctx: MoveContext, keys: Keys): Promise<PluginMove> => (await prepare(ctx, keys)).move;

/**
 * Lets the plugin `to` take the place of `from`: its channels, prices and legacy types follow, and
 * its tasks are found under the new key; each is still read by the version that began it. The other
 * way round is the way back.
 * @throws `plugins.preview_outdated` when `digest` is not that of the move as it is now,
 *   `plugins.conflict`
 */
export async function movePlugin(
  ctx: MoveContext,
  { digest, ...keys }: Keys & { digest: string },
): Promise<PluginMove> {
  const { move, compiled, target, channels, prices } = await prepare(ctx, keys);
  if (move.digest !== digest) throw pluginErrors.move_outdated({ details: { move } });
  if (move.conflict) {
    const { message, reason, params, ...details } = move.conflict;
    throw pluginErrors.conflict({ message: toSentence({ message, reason, params }), details });
  }
  const { from, to } = keys;
  const kept = new Set(move.prices.flatMap(({ model, kept: isKept }) => (isKept ? [model] : [])));
  await ctx.store.transaction(async (tx) => {
    await setServing(ctx, tx, { key: from, enabled: false });
    await setServing(ctx, tx, { key: to, enabled: true });
    if (target.row) await tx.plugins.activate(to, target.row.version);
    await setMovedKey(tx, from, to);
    for (const channel of channels)
      await tx.channels.update(channel.id, { ...rebind(channel, keys), updatedAt: ctx.clock.unix() });
    for (const price of prices) {
      if (!kept.has(price.model)) await tx.prices.put({ ...price, pluginKey: to });
      await tx.prices.delete(from, price.model);
    }
    await recordActivation(ctx, tx, { compiled });
  });
  await applyChange(ctx);
  await notifyNodes(ctx, 'channels');
  await notifyNodes(ctx, 'prices');
  return move;
}

/** Channels of a type that both declare are bound to no key and follow by themselves. */
function rebind({ taskPluginKey, settings }: ChannelRecord, { from, to }: Keys) {
  const { task_extend_plugin_keys: more } = settings;
  const renamed = (key: unknown) => (key === from ? to : key);
  return {
    taskPluginKey: taskPluginKey === from ? to : taskPluginKey,
    ...(Array.isArray(more) ? { settings: { ...settings, task_extend_plugin_keys: more.map(renamed) } } : {}),
  } as Pick<ChannelRecord, 'taskPluginKey'> & Partial<Pick<ChannelRecord, 'settings'>>;
}

async function setServing(
  ctx: MoveContext,
  tx: Repositories,
  { key, enabled }: { key: string; enabled: boolean },
): Promise<void> {
  await tx.plugins.setEnabled(key, enabled);
  if (ctx.registry.factory().has(key)) await setFactoryEnabled(tx, key, enabled);
}

type Prepared = {
  move: PluginMove;
  target: FoundVersion;
  compiled: CompiledPlugin;
  channels: ChannelRecord[];
  prices: PriceRecord[];
};

async function prepare(ctx: MoveContext, { from, to }: Keys): Promise<Prepared> {
  const serving = ctx.registry.current().plugins.get(from);
  if (!serving || from === to)
    throw pluginErrors.not_found({ message: sentence('plugins.no_plugin', { plugin: from }) });
  const target = await findVersion(ctx, to, (await findActiveRow(ctx.store, to))?.version);
  const compiled = await compileFound(ctx, target);
  const layer = target.row ? 'database' : 'factory';
  const candidate = loadPlugin({ ...ctx, compiled, layer, narrowedModels: target.narrowedModels });
  const { manifest } = candidate;
  const others = [...ctx.registry.current().plugins.values()].filter(({ key }) => key !== from);
  const [allChannels, allPrices, unfinishedTasks, { sharing }] = await Promise.all([
    ctx.store.channels.all(),
    ctx.store.prices.all(),
    ctx.store.tasks.countUnfinished({ platform: from }),
    readSnapshot(ctx.store),
  ]);
  const channels = boundChannels(allChannels, from, serving.manifest).filter(
    ({ type, taskPluginKey }) => taskPluginKey !== null || manifest.channelTypes.includes(type) || type === 60,
  );
  const prices = allPrices.filter(({ pluginKey }) => pluginKey === from);
  const own = new Set(allPrices.flatMap(({ pluginKey, model }) => (pluginKey === to ? [model] : [])));
  const paths = new Set(manifest.routes.map(({ method, path }) => `${method} ${path}`));
  const move = {
    from: { key: from, version: serving.version },
    to: { key: to, version: candidate.version },
    channels: boundChannels(allChannels, from, serving.manifest).map((channel) => ({
      ...{ id: channel.id, name: channel.name },
      lost: channels.includes(channel)
        ? channel.models.filter((model) => !manifest.models.includes(channel.modelMapping[model] ?? model))
        : channel.models,
    })),
    prices: prices.map(({ model }) => ({ model, kept: own.has(model) })),
    lostRoutes: serving.manifest.routes
      .map(({ method, path }) => `${method} ${path}`)
      .filter((path) => !paths.has(path)),
    unfinishedTasks,
    conflict: preflight(others, candidate, sharing) ?? null,
  };
  const { unfinishedTasks: _, ...agreed } = move;
  const digest = sha256Hex(canonicalJson(JSON.stringify(agreed)));
  return { move: { ...move, digest }, target, compiled, channels, prices };
}
