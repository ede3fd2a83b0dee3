import { isDeepStrictEqual } from 'node:util';
import { type Clock, err, type Logger, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import type { Generation, HookCall, LoadedPlugin, Pin, TaskPlugins } from '../types.ts';
import { type CompiledPlugin, type Compiler, describeFailure } from '../worker/compile-plugin.ts';
import {
  type Candidate,
  chooseCandidates,
  type DatabaseSnapshot,
  databaseRevision,
  readSnapshot,
} from './active-versions.ts';
import { assembleGeneration, type Serving } from './assemble-generation.ts';
import { createExposureDetector, type ExposedCredential } from './detect-exposed-credentials.ts';
import { createTaskPlugins, NO_RULES, taskRules } from './find-task-plugin.ts';
import { loadPlugin } from './load-plugin.ts';
import { createOwnershipIndex, type OwnershipIndex } from './ownership-index.ts';
import { createGenerations } from './publish-generations.ts';
import { createRetainedPlugins } from './retained-plugins.ts';

/**
 * What a node serves, and how its last rebuild went. Generation numbers are local to the node;
 * revisions can be compared across nodes.
 */
export type RuntimeStatus = {
  currentGeneration: number;
  /** Unix seconds; 0 before the first generation. */
  generationPublishedAt: number;
  databaseRevision: string;
  /** Set while plugins cannot be read from the database. The published generation stays. */
  databaseError?: Sentence;
  lastRebuild: {
    status: 'never' | 'success' | 'partial' | 'failed';
    attemptedAt: number;
    generation: number;
    databaseRevision: string;
    pluginErrorCount: number;
    error?: Sentence;
  };
  pluginErrors: Record<string, Sentence>;
};

/** The generations of this node, rebuilt whenever a node changes what is active. */
export interface Registry {
  current(): Generation;
  pin(): Pin;
  /** The factory plugins, by key. */
  factory(): ReadonlyMap<string, CompiledPlugin>;
  /**
   * Makes `plugin` the one under development, replacing an earlier one, and rebuilds. `undefined`:
   * none is under development any more.
   */
  develop(plugin: CompiledPlugin | undefined): Promise<void>;
  /**
   * Reads the database and publishes a generation if anything changed. Never rejects; errors are in
   * the status.
   */
  rebuild(): Promise<void>;
  status(): RuntimeStatus;
  /** Keys of the plugins that may claim models that others claim too, as of the last rebuild. */
  sharing(): ReadonlySet<string>;
  /** Serving versions that put their channels' keys where they do not belong. */
  exposedCredentials(): ExposedCredential[];
  /** Resolves when no rebuild is running or queued. */
  idle(): Promise<void>;
}

type Deps = {
  store: Pick<Repositories, 'plugins' | 'options' | 'pluginSources'>;
  sandbox: Sandbox;
  compiler: Compiler;
  clock: Clock;
  logger: Logger;
  factory: readonly CompiledPlugin[];
  onHookCall?: (call: HookCall) => void;
};

const DATABASE_ERROR = sentence('plugins.snapshot');

export function createRegistry(deps: Deps): Registry {
  const { compiler, clock, logger } = deps;
  const factory = new Map(deps.factory.map((plugin) => [plugin.manifest.key, plugin]));
  let serving: ReadonlyMap<string, Serving> = new Map();
  let neededSources: ReadonlySet<string> = new Set();
  let sharing: ReadonlySet<string> = new Set();
  let development: CompiledPlugin | undefined;
  const credentials = createExposureDetector();
  const status: RuntimeStatus = {
    currentGeneration: 0,
    generationPublishedAt: 0,
    databaseRevision: '',
    lastRebuild: { status: 'never', attemptedAt: 0, generation: 0, databaseRevision: '', pluginErrorCount: 0 },
    pluginErrors: {},
  };

  const forgetUnused = (): void => {
    const hashes = new Set(neededSources);
    for (const plugin of generations.livingPlugins()) hashes.add(plugin.sourceHash);
    retained.unloadIdle();
    for (const hash of retained.loadedHashes()) hashes.add(hash);
    compiler.retain(hashes);
  };
  const retained = createRetainedPlugins({ ...deps, shipped: deps.factory });
  const findTaskPlugins = (index: OwnershipIndex): TaskPlugins => createTaskPlugins(index.plugins, rules, retained);
  let rules = NO_RULES;
  const empty = createOwnershipIndex();
  const generations = createGenerations({ index: empty, taskPlugins: findTaskPlugins(empty) }, forgetUnused);

  async function compile(candidate: Candidate): Promise<Result<CompiledPlugin, Sentence>> {
    if ('compiled' in candidate) return ok(candidate.compiled);
    const compiled = await compiler.compile(candidate.source, candidate);
    if (!compiled.ok) return err(describeFailure(compiled.error));
    const { key, version } = compiled.value.manifest;
    if (key === candidate.key && version === candidate.version) return compiled;
    return err(sentence('plugins.declares', { found: `${key}@${version}` }));
  }

  async function load(candidate: Candidate): Promise<Result<LoadedPlugin, Sentence>> {
    const compiled = await compile(candidate);
    if (!compiled.ok) return compiled;
    const { layer, narrowedModels } = candidate;
    return ok(loadPlugin({ ...deps, credentials, compiled: compiled.value, layer, narrowedModels }));
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
    const candidates = chooseCandidates(factory, snapshot, development);
    const layers = candidates.flatMap(([, ofKey]) => ofKey);
    // Disabled rows too, because the list of plugins shows their manifests.
    neededSources = new Set([...layers, ...snapshot.rows].map(({ sourceHash }) => sourceHash));
    const {
      serving: next,
      index,
      errors: pluginErrors,
    } = await assembleGeneration(candidates, serving, {
      load,
      sharing: snapshot.sharing,
    });
    sharing = snapshot.sharing;
    for (const [key, { message }] of Object.entries(pluginErrors)) {
      if (status.pluginErrors[key]?.message !== message)
        logger.warn({ task_plugin: 'rebuild', plugin: key }, `plugin not updated: ${message}`);
    }
    const nextRules = taskRules(snapshot);
    const changed =
      status.currentGeneration === 0 ||
      !isDeepStrictEqual(nextRules, rules) ||
      next.size !== serving.size ||
      [...next].some(([key, one]) => serving.get(key)?.plugin !== one.plugin);
    if (changed) {
      rules = nextRules;
      const { number, publishedAt } = generations.publish(index, findTaskPlugins(index), clock.unix());
      serving = next;
      status.currentGeneration = number;
      status.generationPublishedAt = publishedAt;
      const plugins = [...next.values()].map(({ plugin }) => `${plugin.key}@${plugin.version}`);
      logger.debug(
        { task_plugin: 'rebuild', request_id: 'SYSTEM', generation: number, plugins },
        'plugin generation published',
      );
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

  /**
   * Rebuilds run one at a time. Callers that come while one runs share the next one, so it reads
   * what they have written.
   */
  function rebuild(): Promise<void> {
    queued ??= running.then(() => {
      queued = undefined;
      running = rebuildOnce().catch((error) => {
        logger.error({ task_plugin: 'rebuild', err: error }, 'plugin rebuild failed');
        status.lastRebuild = {
          ...status.lastRebuild,
          status: 'failed',
          attemptedAt: clock.unix(),
          error: sentence('plugins.internal'),
        };
      });
      return running;
    });
    return queued;
  }

  return {
    current: generations.current,
    pin: generations.pin,
    factory: () => factory,
    develop(plugin) {
      development = plugin;
      return rebuild();
    },
    rebuild,
    sharing: () => sharing,
    status: () => structuredClone(status),
    exposedCredentials() {
      const hashes = new Set([...generations.current().plugins.values()].map(({ sourceHash }) => sourceHash));
      return structuredClone(credentials.list().filter(({ sourceHash }) => hashes.has(sourceHash)));
    },
    idle: () => queued ?? running,
  };
}
