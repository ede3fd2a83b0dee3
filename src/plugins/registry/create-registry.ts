import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import { type CompiledPlugin, type Compiler, describeFailure } from '../source/compile-plugin.ts';
import type { Generation, LoadedPlugin, Pin } from '../types.ts';
import { createOwnershipIndex, type OwnershipIndex } from './build-index.ts';
import {
  type ChosenSource,
  chooseSources,
  type DatabaseSnapshot,
  databaseRevision,
  readSnapshot,
} from './choose-sources.ts';
import { loadPlugin } from './load-plugin.ts';
import { createGenerations } from './publish-generations.ts';

/** What a node serves and how its last rebuild went. Generation numbers are the node's own; revisions compare across nodes. */
export type RuntimeStatus = {
  currentGeneration: number;
  /** Unix seconds; 0 before the first generation. */
  generationPublishedAt: number;
  databaseRevision: string;
  /** Set while the database does not give its plugins; what was published stays. */
  databaseError?: string;
  lastRebuild: {
    status: 'never' | 'success' | 'partial' | 'failed';
    attemptedAt: number;
    generation: number;
    databaseRevision: string;
    pluginErrorCount: number;
    error?: string;
  };
  pluginErrors: Record<string, string>;
};

export interface Registry {
  current(): Generation;
  pin(): Pin;
  /** Factory plugins by key; those that do not compile are in the status. */
  factory(): Promise<ReadonlyMap<string, CompiledPlugin>>;
  /** Reads the database and publishes a generation if anything changed. Never rejects; trouble is in the status. */
  rebuild(): Promise<void>;
  status(): RuntimeStatus;
  /** Resolves when no rebuild runs or waits. */
  idle(): Promise<void>;
}

type Deps = {
  store: Pick<Repositories, 'plugins' | 'options'>;
  sandbox: Sandbox;
  compiler: Compiler;
  clock: Clock;
  logger: Logger;
  factory: readonly { source: string }[];
};

/** A plugin with what it was made from, so that an unchanged one is recognised. */
type Serving = { plugin: LoadedPlugin; identity: string };
const identityOf = ({ sourceHash, layer, narrowedModels }: ChosenSource): string =>
  JSON.stringify([sourceHash, layer, narrowedModels]);

const DATABASE_ERROR = 'database snapshot unavailable';

export function createRegistry(deps: Deps): Registry {
  const { compiler, clock, logger } = deps;
  let serving = new Map<string, Serving>();
  let wanted: ReadonlySet<string> = new Set();
  let factoryErrors: Record<string, string> = {};
  let factoryPlugins: ReadonlyMap<string, CompiledPlugin> = new Map();
  let factoryComplete = false;
  const status: RuntimeStatus = {
    currentGeneration: 0,
    generationPublishedAt: 0,
    databaseRevision: '',
    lastRebuild: { status: 'never', attemptedAt: 0, generation: 0, databaseRevision: '', pluginErrorCount: 0 },
    pluginErrors: {},
  };

  const forgetUnused = (): void => {
    const hashes = new Set([...wanted, ...[...factoryPlugins.values()].map(({ sourceHash }) => sourceHash)]);
    for (const plugin of generations.livingPlugins()) hashes.add(plugin.sourceHash);
    compiler.retain(hashes);
  };
  const generations = createGenerations(createOwnershipIndex(), forgetUnused);

  /** Compiles the factory's sources until all of them could be judged; they never change afterwards. */
  async function factory(): Promise<ReadonlyMap<string, CompiledPlugin>> {
    if (factoryComplete) return factoryPlugins;
    const results = await Promise.all(deps.factory.map(({ source }) => compiler.compileOwn(source)));
    const plugins = new Map<string, CompiledPlugin>();
    const errors: Record<string, string> = {};
    let complete = true;
    for (const [index, result] of results.entries()) {
      if (result.ok) plugins.set(result.value.manifest.key, result.value);
      else {
        errors[`factory[${index}]`] = describeFailure(result.error);
        if (result.error.kind === 'unavailable') complete = false;
      }
    }
    factoryPlugins = plugins;
    factoryErrors = errors;
    factoryComplete = complete;
    return plugins;
  }

  async function load(chosen: ChosenSource): Promise<{ serving: Serving } | { error: string }> {
    const compiled = await compiler.compile(chosen.source, chosen);
    if (!compiled.ok) return { error: describeFailure(compiled.error) };
    const { key, version } = compiled.value.manifest;
    if (key !== chosen.key || version !== chosen.version) {
      return { error: `the stored source calls itself ${key}@${version}` };
    }
    const plugin = loadPlugin({
      ...deps,
      compiled: compiled.value,
      layer: chosen.layer,
      narrowedModels: chosen.narrowedModels,
    });
    return { serving: { plugin, identity: identityOf(chosen) } };
  }

  /**
   * Fills an index: what stays as it is first, then what changed, then what is new, so that nobody loses a claim to a newcomer. Whoever cannot be
   * built or admitted leaves an error, and its incumbent goes on serving if that is still possible.
   */
  async function assemble(
    sources: readonly ChosenSource[],
  ): Promise<{ next: Map<string, Serving>; index: OwnershipIndex; errors: Record<string, string> }> {
    const index = createOwnershipIndex();
    const next = new Map<string, Serving>();
    const errors: Record<string, string> = {};
    const stay: Serving[] = [];
    const change: { candidate: Serving; incumbent: Serving }[] = [];
    const join: Serving[] = [];
    const loaded = await Promise.all(
      sources.map(async (chosen) => {
        const incumbent = serving.get(chosen.key);
        const unchanged = incumbent?.identity === identityOf(chosen) ? incumbent : undefined;
        return { chosen, incumbent, unchanged, result: unchanged ? undefined : await load(chosen) };
      }),
    );
    for (const { chosen, incumbent, unchanged, result } of loaded) {
      if (result && 'error' in result) errors[chosen.key] = result.error;
      if (unchanged) stay.push(unchanged);
      else if (result && 'serving' in result) {
        if (incumbent) change.push({ candidate: result.serving, incumbent });
        else join.push(result.serving);
      } else if (incumbent) stay.push(incumbent);
    }
    const admit = (candidate: Serving): boolean => {
      const conflict = index.admit(candidate.plugin);
      if (conflict) errors[candidate.plugin.key] = conflict.message;
      else next.set(candidate.plugin.key, candidate);
      return !conflict;
    };
    for (const one of stay) admit(one);
    for (const { candidate, incumbent } of change) {
      if (admit(candidate)) continue;
      if (!index.admit(incumbent.plugin)) next.set(incumbent.plugin.key, incumbent);
    }
    for (const one of join) admit(one);
    return { next, index, errors };
  }

  async function rebuildOnce(): Promise<void> {
    const attemptedAt = clock.unix();
    let snapshot: DatabaseSnapshot;
    try {
      snapshot = await readSnapshot(deps.store);
    } catch (error) {
      logger.warn({ task_plugin: 'rebuild', err: error }, 'plugins could not be read from the database');
      status.databaseError = DATABASE_ERROR;
      status.lastRebuild = { ...status.lastRebuild, status: 'failed', attemptedAt, error: DATABASE_ERROR };
      return;
    }
    delete status.databaseError;
    const sources = chooseSources(await factory(), snapshot);
    wanted = new Set(sources.map(({ sourceHash }) => sourceHash));
    const { next, index, errors } = await assemble(sources);
    const pluginErrors = { ...factoryErrors, ...errors };
    for (const [key, message] of Object.entries(pluginErrors)) {
      if (status.pluginErrors[key] !== message)
        logger.warn({ task_plugin: 'rebuild', plugin: key }, `plugin not updated: ${message}`);
    }
    const changed =
      status.currentGeneration === 0 ||
      next.size !== serving.size ||
      [...next].some(([key, one]) => serving.get(key)?.plugin !== one.plugin);
    if (changed) {
      const { number, publishedAt } = generations.publish(index, clock.unix());
      serving = next;
      status.currentGeneration = number;
      status.generationPublishedAt = publishedAt;
      const plugins = [...next.values()].map(({ plugin }) => `${plugin.key}@${plugin.version}`);
      logger.debug({ task_plugin: 'rebuild', generation: number, plugins }, 'plugin generation published');
    }
    const pluginErrorCount = Object.keys(pluginErrors).length;
    const revision = databaseRevision(snapshot);
    status.databaseRevision = revision;
    status.pluginErrors = pluginErrors;
    status.lastRebuild = {
      status: pluginErrorCount === 0 ? 'success' : 'partial',
      attemptedAt,
      generation: status.currentGeneration,
      databaseRevision: revision,
      pluginErrorCount,
    };
    forgetUnused();
  }

  let running: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;

  return {
    current: generations.current,
    pin: generations.pin,
    factory,
    /** One at a time; callers that come while one runs share the next one, which reads what they have written. */
    rebuild() {
      queued ??= running.then(() => {
        queued = undefined;
        running = rebuildOnce().catch((error) => {
          logger.error({ task_plugin: 'rebuild', err: error }, 'plugin rebuild failed');
          status.lastRebuild = {
            ...status.lastRebuild,
            status: 'failed',
            attemptedAt: clock.unix(),
            error: 'internal error',
          };
        });
        return running;
      });
      return queued;
    },
    status: () => structuredClone(status),
    idle: () => queued ?? running,
  };
}
