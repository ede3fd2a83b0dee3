import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { createRegistry, type RuntimeStatus } from '../registry/create-registry.ts';
import { createDevelopment, type Development } from '../registry/develop-plugin.ts';
import { type CompiledPlugin, createCompiler } from '../source/compile-plugin.ts';
import type { Generation, HookCall, Manifest, Pin } from '../types.ts';
import type { IconImage } from './check-icon.ts';
import { compileOrThrow, type ServiceContext } from './context.ts';
import {
  describePlugin,
  findIcon,
  listPlugins,
  listVersions,
  type PluginDetail,
  type PluginSummary,
  type PluginVersion,
} from './describe-plugins.ts';
import { type DryRun, type DryRunOutcome, dryRunHook } from './dry-run.ts';
import { activateVersion, deleteVersion, setPluginEnabled } from './switch-plugin.ts';
import { type PluginUpload, uploadPlugin } from './upload-plugin.ts';

export interface PluginService extends Development {
  /** Publishes the first generation, then follows changes. Rejects when the database does not answer. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The serving generation for one request; `release` it when the request has ended. */
  pin(): Pin;
  current(): Generation;
  /** Judges a source as an upload does and stores nothing; throws `plugins.invalid` or `plugins.unavailable`. */
  check(source: string): Promise<Manifest>;
  upload(upload: PluginUpload): Promise<PluginDetail>;
  list(): Promise<PluginSummary[]>;
  detail(key: string, version?: string): Promise<PluginDetail>;
  versions(key: string): Promise<PluginVersion[]>;
  icon(key: string, version?: string): Promise<IconImage | undefined>;
  activate(key: string, version: string): Promise<void>;
  setEnabled(
    key: string,
    enabled: boolean,
    options?: { cascade?: boolean; force?: boolean },
  ): Promise<{ pluginEnabled: boolean; disabledChannels: number[] }>;
  deleteVersion(key: string, version: string, options?: { force?: boolean }): Promise<void>;
  dryRun(key: string, run: DryRun): Promise<DryRunOutcome>;
  runtimeStatus(): RuntimeStatus;
}

type Deps = {
  store: Store;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  /** What ships with the gateway, judged when it was built. */
  factory: readonly CompiledPlugin[];
  /** How often the database is read again, in ms, for changes that nobody announced. */
  syncFrequencyMs: number;
  /** Is told of every finished call of a serving plugin's hook; must not throw. */
  onHookCall?: (call: HookCall) => void;
};

export function createPluginService(deps: Deps): PluginService {
  const { store, clock } = deps;
  const compiler = createCompiler(deps.sandbox);
  const registry = createRegistry({ ...deps, compiler });
  const development = createDevelopment({ compiler, registry });
  const ctx: ServiceContext = { ...deps, compiler, registry };
  const stopping = new AbortController();
  let unsubscribe: (() => void) | undefined;
  let following: Promise<void> = Promise.resolve();

  async function follow(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(deps.syncFrequencyMs, stopping.signal);
      if (!stopping.signal.aborted) await registry.rebuild();
    }
  }

  /** Management calls of this node go one after another: a preflight stays true until what it allowed is stored. */
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  }

  return {
    async start() {
      await store.ping();
      unsubscribe = store.subscribe((topic) => {
        if (topic === 'plugins') void registry.rebuild();
      });
      await registry.rebuild();
      following = follow();
    },
    async stop() {
      stopping.abort();
      unsubscribe?.();
      await following;
      await registry.idle();
    },
    pin: registry.pin,
    current: registry.current,
    develop: (source) => inTurn(() => development.develop(source)),
    check: async (source) => (await compileOrThrow(ctx, source)).manifest,
    upload: (upload) => inTurn(() => uploadPlugin(ctx, upload)),
    list: () => listPlugins(ctx),
    detail: (key, version) => describePlugin(ctx, key, version),
    versions: (key) => listVersions(ctx, key),
    icon: (key, version) => findIcon(ctx, key, version),
    activate: (key, version) => inTurn(() => activateVersion(ctx, key, version)),
    setEnabled: (key, enabled, options = {}) => inTurn(() => setPluginEnabled(ctx, key, enabled, options)),
    deleteVersion: (key, version, options = {}) => inTurn(() => deleteVersion(ctx, key, version, options)),
    dryRun: (key, run) => dryRunHook(ctx, key, run),
    runtimeStatus: registry.status,
  };
}
