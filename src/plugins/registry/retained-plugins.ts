import { type Clock, err, type Logger, ok, quoted, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import type { HookCall, LoadedPlugin } from '../types.ts';
import { type CompiledPlugin, type Compiler, describeFailure } from '../worker/compile-plugin.ts';
import { loadPlugin } from './load-plugin.ts';

/** Most versions that are loaded for earlier tasks at once; the least recently used one goes. */
const MAX_LOADED = 32;
/** A version that no task has needed for this long is unloaded. */
const IDLE_MS = 10 * 60_000;
/** How long a source that cannot be loaded is not read again. */
const FAILED_MS = 60_000;

/** `temporary`: it may work later. Otherwise the source is missing or broken. */
type LoadFailure = Sentence & { temporary: boolean };

/**
 * Versions that began tasks and no longer serve, by the hash of their source. They are loaded when
 * a task needs them. They claim nothing and take no submissions.
 */
export interface RetainedPlugins {
  /** The version if it is loaded. */
  peek(sourceHash: string): LoadedPlugin | undefined;
  /** Never rejects. Failures are logged. */
  load(sourceHash: string, key: string): Promise<Result<LoadedPlugin, LoadFailure>>;
  /** Whether the source is missing or broken, as far as it was tried. */
  isBroken(sourceHash: string): boolean;
  loadedHashes(): string[];
  /** Unloads what no task has needed for a while. */
  unloadIdle(): void;
}

export function createRetainedPlugins(deps: {
  store: Pick<Repositories, 'pluginSources'>;
  sandbox: Sandbox;
  compiler: Compiler;
  clock: Clock;
  logger: Logger;
  /** Plugins that are compiled already. */
  shipped: readonly CompiledPlugin[];
  onHookCall?: (call: HookCall) => void;
}): RetainedPlugins {
  const { store, compiler, clock, logger } = deps;
  const shipped = new Map(deps.shipped.map((plugin) => [plugin.sourceHash, plugin]));
  /** In the order of their last use. */
  const loaded = new Map<string, { plugin: LoadedPlugin; usedAtMs: number }>();
  const loading = new Map<string, Promise<Result<LoadedPlugin, LoadFailure>>>();
  const failed = new Map<string, { failure: LoadFailure; untilMs: number }>();

  function use(sourceHash: string, plugin: LoadedPlugin): LoadedPlugin {
    loaded.delete(sourceHash);
    loaded.set(sourceHash, { plugin, usedAtMs: clock.monotonicMs() });
    if (loaded.size > MAX_LOADED) loaded.delete(loaded.keys().next().value as string);
    return plugin;
  }

  async function compile(sourceHash: string, key: string): Promise<Result<CompiledPlugin, LoadFailure>> {
    const known = shipped.get(sourceHash);
    if (known) return ok(known);
    const kept = await store.pluginSources.read(sourceHash);
    if (!kept) return err({ temporary: false, ...sentence('plugins.source_missing') });
    const compiled = await compiler.compile(kept.source, kept);
    if (!compiled.ok) {
      const temporary = compiled.error.kind === 'unavailable';
      return err({ temporary, ...describeFailure(compiled.error) });
    }
    if (compiled.value.manifest.key === key) return compiled;
    return err({ temporary: false, ...sentence('plugins.source_of', { plugin: compiled.value.manifest.key }) });
  }

  async function open(sourceHash: string, key: string): Promise<Result<LoadedPlugin, LoadFailure>> {
    const compiled = await compile(sourceHash, key).catch((error: unknown) =>
      err<LoadFailure>({ temporary: true, ...quoted(error instanceof Error ? error.message : String(error)) }),
    );
    if (compiled.ok) {
      // Its kills must not suspend the version that serves.
      const countedAs = `retained:${key}@${sourceHash.slice(0, 12)}`;
      const { value } = compiled;
      const plugin = loadPlugin({ ...deps, compiled: value, layer: 'database', narrowedModels: null, countedAs });
      return ok(use(sourceHash, plugin));
    }
    const failure = compiled.error;
    if (!failure.temporary) failed.set(sourceHash, { failure, untilMs: clock.monotonicMs() + FAILED_MS });
    logger.warn(
      { task_plugin: 'retained', plugin: key, source_hash: sourceHash, reason: failure.message },
      failure.temporary
        ? 'the version that began a task cannot be loaded now; trying again'
        : 'the version that began a task cannot be loaded; the one that serves reads it',
    );
    return compiled;
  }

  return {
    peek(sourceHash) {
      const entry = loaded.get(sourceHash);
      return entry && use(sourceHash, entry.plugin);
    },
    async load(sourceHash, key) {
      const known = this.peek(sourceHash);
      if (known) return ok(known);
      const failure = failed.get(sourceHash);
      if (failure && failure.untilMs > clock.monotonicMs()) return err(failure.failure);
      failed.delete(sourceHash);
      const underway = loading.get(sourceHash);
      if (underway) return underway;
      const opening = open(sourceHash, key).finally(() => loading.delete(sourceHash));
      loading.set(sourceHash, opening);
      return opening;
    },
    isBroken: (sourceHash) => failed.has(sourceHash),
    loadedHashes: () => [...loaded.keys(), ...loading.keys()],
    unloadIdle() {
      const before = clock.monotonicMs() - IDLE_MS;
      for (const [sourceHash, { usedAtMs }] of loaded) if (usedAtMs < before) loaded.delete(sourceHash);
    },
  };
}
