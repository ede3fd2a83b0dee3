import { type CleanUpStep, type Clock, createReplica, type Logger, SYSTEM_OWNER } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { IconImage } from '../icons/check-icon.ts';
import { createRegistry, type RuntimeStatus } from '../registry/create-registry.ts';
import type { ExposedCredential } from '../registry/detect-exposed-credentials.ts';
import { createDevelopment, type Development } from '../registry/develop-plugin.ts';
import type { PermissionChanges } from '../source/describe-permissions.ts';
import type { Generation, HookCall, Manifest, Pin } from '../types.ts';
import { type CompiledPlugin, createCompiler } from '../worker/compile-plugin.ts';
import { createPluginWorker, type PluginWorker } from '../worker/create-worker.ts';
import { type Activation, activateVersion, type Deletion, deleteVersion } from './activate-version.ts';
import { createPluginChangeMutex } from './change-plugins.ts';
import { compileOrThrow, refuseInNewVersions } from './compile-or-refuse.ts';
import {
  describePlugin,
  findIcon,
  findPermissionChanges,
  listPlugins,
  listVersions,
  type PluginDetail,
  type PluginSummary,
  type PluginVersion,
} from './describe-plugins.ts';
import { diffVersions, type VersionDiff } from './diff-versions.ts';
import { type DryRun, type DryRunOutcome, dryRunHook } from './dry-run.ts';
import { movePlugin, type PluginMove, previewMove } from './move-plugin.ts';
import {
  type ActivationPreview,
  type PreviewContext,
  type PreviewedVersion,
  previewActivation,
  requirePreview,
} from './preview-activation.ts';
import { rollBack } from './roll-back.ts';
import { type Narrowing, narrowModels, type Switch, setPluginEnabled } from './switch-plugin.ts';
import { type PluginUpload, type UploadedPlugin, uploadPlugin } from './upload-plugin.ts';
import { createOutcomeWatch, type FailingVersion, type PluginOutcome } from './watch-outcomes.ts';

/** `owner`: on whose behalf plugin code runs in the sandbox; `system` by default. */
export interface PluginService extends Development {
  /**
   * Publishes the first generation, then follows changes. Rejects if the database is unavailable.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The serving generation for one request. Call `release` when the request has ended. */
  pin(): Pin;
  current(): Generation;
  /**
   * Checks a source like an upload, and stores nothing.
   *
   * @throws `plugins.invalid`, `plugins.unavailable`
   */
  check(source: string, owner?: string): Promise<Manifest>;
  /**
   * What a source may do, compared with the plugin that serves its key now.
   *
   * @throws `plugins.invalid`, `plugins.unavailable`
   */
  permissions(source: string, owner?: string): Promise<PermissionChanges>;
  /** Stores a version. If it waits to be activated, the answer holds what that would change. */
  upload(upload: PluginUpload, owner?: string): Promise<Uploaded>;
  list(): Promise<PluginSummary[]>;
  detail(key: string, version?: string): Promise<PluginDetail>;
  versions(key: string): Promise<PluginVersion[]>;
  icon(key: string, version?: string): Promise<IconImage | undefined>;
  /**
   * A stored version by number, or `factory`. `adopt`: it takes over the tasks of earlier versions.
   * `previewDigest`: refused with `plugins.preview_outdated` if a preview has another digest now.
   */
  activate(
    key: string,
    version: string,
    options?: { adopt?: boolean; previewDigest?: string; shareModels?: boolean; owner?: string },
  ): Promise<Activation>;
  setEnabled(key: string, enabled: boolean, options?: { cascade?: boolean; force?: boolean }): Promise<Switch>;
  /** `null`: all models of the manifest. */
  narrow(key: string, models: readonly string[] | null): Promise<Narrowing>;
  /** `adopt`: as in `activate`, for the version that replaces it. */
  deleteVersion(key: string, version: string, options?: { force?: boolean; adopt?: boolean }): Promise<Deletion>;
  /** Versions by number, or `factory`. */
  diff(key: string, from: string, to: string): Promise<VersionDiff>;
  preview(key: string, previewed: PreviewedVersion, owner?: string): Promise<ActivationPreview>;
  /** What changes when the plugin `to` takes the place of `from`. Writes nothing. */
  previewMove(from: string, to: string): Promise<PluginMove>;
  /** @throws `plugins.move_outdated` when the move is not the one with this digest */
  move(move: { from: string; to: string; digest: string }): Promise<PluginMove>;
  dryRun(key: string, run: DryRun, owner?: string): Promise<DryRunOutcome>;
  runtimeStatus(): RuntimeStatus;
  /** Counts a call of a version, to compare versions after an activation. Costs next to nothing. */
  count(outcome: PluginOutcome): void;
  /** Activated versions that fail clearly more often than the ones before them. */
  failing(): Promise<FailingVersion[]>;
  /** The rows of this room that the hourly clean-up deletes. */
  readonly cleanUpSteps: readonly CleanUpStep[];
  /** Serving versions that put their channels' keys outside headers, as this node has seen. */
  exposedCredentials(): ExposedCredential[];
}

/** `preview`: null if the version serves or is disabled, or if no plugin code can run now. */
export type Uploaded = UploadedPlugin & { preview: ActivationPreview | null };

type Deps = {
  store: Store;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  /** The factory plugins. They were checked when it was built. */
  factory: readonly CompiledPlugin[];
  /** How often the database is read again, in ms, for changes without a notification. */
  syncFrequencyMs: number;
  /** Called after every call of a serving plugin's hook. Must not throw. */
  onHookCall?: (call: HookCall) => void;
  /** Default: one of its own. */
  worker?: PluginWorker;
  /** The option `task_plugin.auto_rollback`. */
  autoRollback?: () => boolean;
  /** How often counted outcomes are stored, in ms. */
  outcomesEveryMs?: number;
};

export function createPluginService(deps: Deps): PluginService {
  const { store, clock, worker = createPluginWorker() } = deps;
  const compiler = createCompiler(deps.sandbox, worker);
  const registry = createRegistry({ ...deps, compiler });
  const development = createDevelopment({ compiler, registry });
  const ctx = { ...deps, compiler, worker, registry, owner: SYSTEM_OWNER };
  const contextFor = (owner = SYSTEM_OWNER): typeof ctx => ({ ...ctx, owner });
  const exclusively = createPluginChangeMutex({ store, clock, registry });
  // The registry itself orders its rebuilds, and logs those that fail.
  const replica = createReplica({
    topic: 'plugins',
    read: registry.rebuild,
    apply: () => {},
    subscribe: store.subscribe,
    intervalMs: deps.syncFrequencyMs,
    logger: deps.logger,
  });

  const outcomes = createOutcomeWatch({
    ...deps,
    registry,
    ...(deps.outcomesEveryMs === undefined ? {} : { everyMs: deps.outcomesEveryMs }),
    async rollBack(activation, verdict) {
      if (deps.autoRollback?.()) await exclusively(() => rollBack(ctx, activation, verdict));
    },
  });

  return {
    count: outcomes.count,
    failing: outcomes.failing,
    cleanUpSteps: [{ step: 'plugin outcomes', deleteBatch: outcomes.deleteOld }],
    async start() {
      await store.ping();
      await replica.start();
      outcomes.start();
    },
    async stop() {
      replica.stop();
      await outcomes.stop();
      await registry.idle();
    },
    pin: registry.pin,
    current: registry.current,
    develop: (source) => exclusively(() => development.develop(source)),
    async check(source, owner) {
      const compiled = await compileOrThrow(contextFor(owner), source);
      refuseInNewVersions(compiled, registry.current().plugins.get(compiled.manifest.key)?.manifest);
      return compiled.manifest;
    },
    async permissions(source, owner) {
      const context = contextFor(owner);
      return findPermissionChanges(context, await compileOrThrow(context, source));
    },
    async upload(upload, owner) {
      const context = contextFor(owner);
      const stored = await exclusively(() => uploadPlugin(context, upload));
      return { ...stored, preview: await previewWaiting(context, stored.plugin) };
    },
    list: () => listPlugins(ctx),
    detail: (key, version) => describePlugin(ctx, key, version),
    versions: (key) => listVersions(ctx, key),
    icon: (key, version) => findIcon(ctx, key, version),
    activate: (key, version, { adopt = false, previewDigest: digest, shareModels, owner } = {}) =>
      exclusively(async () => {
        if (digest !== undefined) await requirePreview(contextFor(owner), key, { version, digest, shareModels });
        return activateVersion(ctx, { key, version, adopt, shareModels });
      }),
    setEnabled: (key, enabled, options = {}) => exclusively(() => setPluginEnabled(ctx, { key, enabled, ...options })),
    narrow: (key, models) => exclusively(() => narrowModels(ctx, key, models)),
    deleteVersion: (key, version, options = {}) => exclusively(() => deleteVersion(ctx, { key, version, ...options })),
    diff: (key, from, to) => diffVersions(ctx, { key, from, to }),
    previewMove: (from, to) => previewMove(ctx, { from, to }),
    move: (move) => exclusively(() => movePlugin(ctx, move)),
    preview: (key, previewed, owner) => previewActivation(contextFor(owner), key, previewed),
    dryRun: (key, run, owner) => dryRunHook(contextFor(owner), key, run),
    runtimeStatus: registry.status,
    exposedCredentials: registry.exposedCredentials,
  };
}

/** What the activation of a version would change. The version is stored whatever this says. */
async function previewWaiting(ctx: PreviewContext, row: PluginVersion | null): Promise<ActivationPreview | null> {
  if (!row?.enabled || row.active) return null;
  try {
    return await previewActivation(ctx, row.key, { version: row.version });
  } catch (error) {
    ctx.logger.warn({ err: error, plugin: row.key }, 'the activation of an uploaded version could not be previewed');
    return null;
  }
}
