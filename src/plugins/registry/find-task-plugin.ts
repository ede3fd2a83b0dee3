import { type Adoption, boundPluginKeys, type ChannelRecord, RELAY_TYPE } from '../../store/ports/index.ts';
import type { Generation, LoadedPlugin, TaskOrigin, TaskPlugins } from '../types.ts';
import type { DatabaseSnapshot } from './active-versions.ts';
import type { RetainedPlugins } from './retained-plugins.ts';

/** What the database says about which version reads a task. */
export type TaskRules = {
  /** By the hash of the source that began the tasks. */
  adoptions: ReadonlyMap<string, Adoption>;
  /** Keys that an administrator switched off. */
  switchedOff: ReadonlySet<string>;
  /** By a former key: the key whose plugin has taken its place. */
  moved: ReadonlyMap<string, string>;
};

export const NO_RULES: TaskRules = { adoptions: new Map(), switchedOff: new Set(), moved: new Map() };

export const taskRules = ({ rows, disabledFactoryKeys, adoptions, moved }: DatabaseSnapshot): TaskRules => ({
  moved,
  adoptions: new Map(adoptions.map((adoption) => [adoption.sourceHash, adoption])),
  switchedOff: new Set([...disabledFactoryKeys, ...rows.filter(({ enabled }) => !enabled).map(({ key }) => key)]),
});

/**
 * Whether a task's `platform` names the plugin: by its key, by that of a plugin whose place it has
 * taken or, in rows of gateways that had no plugins, by the number of a channel type of its own.
 */
export const servesPlatform = (
  generation: Pick<Generation, 'findServingPlugin'>,
  { key }: Pick<LoadedPlugin, 'key'>,
  platform: string,
): boolean => generation.findServingPlugin({ platform })?.key === key;

/**
 * Which version polls a task and reads its results: the one that began it, or that adopted it.
 * Tasks from before this was noted, and those of a plugin under development, are read by the
 * version that serves. If the task's own version cannot be loaded at all, the serving one takes its
 * place, so that no task is lost.
 *
 * Tasks of a key that was switched off wait. Those of a key that has no version left do not: their
 * own source is kept.
 */
export function createTaskPlugins(
  serving: ReadonlyMap<string, LoadedPlugin>,
  { adoptions, switchedOff, moved }: TaskRules,
  retained: RetainedPlugins,
): TaskPlugins {
  const findServingPlugin = ({ platform }: Pick<TaskOrigin, 'platform'>): LoadedPlugin | undefined =>
    serving.get(platform) ??
    serving.get(moved.get(platform) ?? '') ??
    (/^[1-9]\d{0,9}$/.test(platform)
      ? serving.values().find(({ manifest }) => manifest.channelTypes.includes(Number(platform)))
      : undefined);

  /** The hash of the retained version that reads the task; empty: the serving one does. */
  function retainedHash({ platform, sourceHash, createdAt }: TaskOrigin): string {
    const plugin = findServingPlugin({ platform });
    if (sourceHash === '' || plugin?.layer === 'development') return '';
    if (!plugin && switchedOff.has(platform)) return '';
    const adoption = adoptions.get(sourceHash);
    const hash = adoption && createdAt <= adoption.adoptedAt ? adoption.adoptedBy : sourceHash;
    return hash === plugin?.sourceHash ? '' : hash;
  }

  return {
    findServingPlugin,
    findLoadedPlugin(task) {
      const hash = retainedHash(task);
      return hash === '' ? findServingPlugin(task) : retained.peek(hash);
    },
    mayReturn(task) {
      const hash = retainedHash(task);
      return hash === '' ? switchedOff.has(task.platform) : !retained.isBroken(hash);
    },
    async findPlugin(task) {
      const hash = retainedHash(task);
      if (hash === '') return findServingPlugin(task);
      const loaded = retained.peek(hash);
      if (loaded) return loaded;
      const result = await retained.load(hash, task.platform);
      if (result.ok) return result.value;
      return result.error.temporary ? undefined : findServingPlugin(task);
    },
  };
}

/**
 * The plugin that drives a channel: the one it is bound to, or the one that declares its type. If
 * several are bound to an account at another gateway, it is the first by key that has the model;
 * `upstreamModel` is its name there. On a channel of the relay a plugin that declares its type
 * drives the models that it has, and the relay the others.
 */
export function findDriver(
  generation: Generation,
  channel: Pick<ChannelRecord, 'taskPluginKey' | 'type' | 'settings'>,
  upstreamModel?: string,
): LoadedPlugin | undefined {
  const keys = boundPluginKeys(channel);
  const has = ({ manifest }: LoadedPlugin) => upstreamModel !== undefined && manifest.models.includes(upstreamModel);
  if (keys.length === 0) {
    const declared = generation.byChannelType(channel.type);
    return declared && (channel.type !== RELAY_TYPE || has(declared)) ? declared : undefined;
  }
  const bound = keys.flatMap((key) => generation.plugins.get(key) ?? []);
  return bound.find(has) ?? bound[0];
}
