/**
 * The task engine on real parts: store, sandbox, outbound HTTP, and the demo vendor on a socket.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeTasks } from '../../src/app/composition/compose-tasks.ts';
import { createPluginLookup } from '../../src/app/composition/plugin-lookup.ts';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { createBilling } from '../../src/billing/index.ts';
import { type ChannelInput, createCapacity, createChannels } from '../../src/channels/index.ts';
import type { ResultSettings } from '../../src/files/types.ts';
import {
  type Clock,
  canonicalJson,
  createSecretBox,
  type Json,
  type Logger,
  newUuid,
  sha256Hex,
  silentLogger,
  systemClock,
  systemRandom,
} from '../../src/kernel/index.ts';
import { createCallbackUrls } from '../../src/notifications/callback-urls.ts';
import { createPluginService } from '../../src/plugins/index.ts';
import type { LinkLimits } from '../../src/results/types.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createFolderFiles, createMemoryCounters } from '../../src/store/index.ts';
import type { FileStore, Store, TaskRecord, UserRecord } from '../../src/store/ports/index.ts';
import type { ClientRequest, TaskLimits, WaitingRules } from '../../src/tasks/index.ts';
import { createServiceAccountTokens, createUpstream } from '../../src/upstream/index.ts';
import { addKey } from '../contract/each-store.ts';
import { compiledPlugins, demoSource, pluginWorker } from '../plugins/support.ts';
import { addUser } from '../support/add-user.ts';
import { FAR_MS, PATIENCE_MS } from '../support/far-limits.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const batchSource = readFileSync(join(import.meta.dir, '../fixtures/demo-batch.js'), 'utf8');

/** 0.02 USD a second. */
export const PRICE = '0.02 * u("seconds")';
export const billFor = (seconds: number): number => seconds * 0.02 * 500_000;
export const BALANCE = 10_000_000;

/** Nothing waits: clients see what a vendor answers. */
export const NO_WAITING: WaitingRules = {
  ...{
    maxWaitMs: 0,
    maxWaiting: 100_000,
    maxWaitingPerUser: 1000,
    maxWaitingBytes: 1e9,
    priority: 0,
    maxRunning: null as number | null,
  },
};

/** Tasks wait up to an hour where their account has no room. */
export const WAITING: WaitingRules = { ...NO_WAITING, maxWaitMs: 3_600_000 };

/** Allowed addresses of webhook receivers. */
const RECEIVERS = ['127.0.0.0/8'];

export type Engine = Awaited<ReturnType<typeof startEngine>>;

export async function startEngine(
  store: Store,
  sandbox: Sandbox,
  {
    canStore = () => true,
    vendorMaxRunning,
    allowPrivate = false,
    clock = systemClock,
    factory = [demoSource, batchSource],
    files = createFolderFiles({ folder: join(temporaryFolder(), 'results'), minFreeBytes: 0 }),
    publicAddress = () => 'http://gateway.example',
    links = { days: 0, invalidPerMinute: 60, downloads: { node: 128, address: 64, artifact: 16 } },
    ...limits
  }: Partial<TaskLimits> & {
    canStore?: () => boolean;
    vendorMaxRunning?: number;
    allowPrivate?: boolean;
    clock?: Clock;
    factory?: readonly string[];
    files?: FileStore;
    publicAddress?: () => string;
    links?: LinkLimits;
  } = {},
) {
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    child: () => logger,
  };
  /** What tests change of what administrators decide about kept results. */
  const keeping: ResultSettings = {
    keep: 'off',
    keepInputs: false,
    daysFor: () => 0,
    storageQuotaFor: () => undefined,
    usdPerGbDayFor: () => 0,
    redirects: false,
    previewBytes: 1_000_000,
  };
  const common = { store, clock, logger, syncFrequencyMs: 60_000 };
  const plugins = createPluginService({
    ...common,
    sandbox,
    factory: await compiledPlugins(sandbox, ...factory),
    worker: pluginWorker,
  });
  await plugins.start();
  const pluginLookup = createPluginLookup(plugins);
  const secretBox = createSecretBox(['crypto-secret-of-the-tests']);
  const channels = createChannels({ ...common, random: systemRandom, secretBox, plugins: pluginLookup });
  const nodeId = newUuid();
  const capacity = createCapacity({ ...common, nodeId, random: systemRandom, accounts: channels.everyAccount });
  const billing = createBilling({
    ...common,
    declaredFacts: pluginLookup.declaredFacts,
    settings: () => ({ groupRatios: {}, groupBudgets: {}, timezone: 'UTC', unpriced: 'admins' }),
  });
  const upstream = createUpstream({ allowPrivate, clock, logger });
  const receivers = createUpstream({ allowPrivate: false, privateRanges: RECEIVERS, clock, logger });
  await Promise.all([channels.start().then(capacity.start), billing.start()]);
  const rooms = composeTasks({
    store,
    clock,
    logger,
    vendors: {
      upstream,
      serviceAccounts: createServiceAccountTokens({ upstream, clock }),
      channels,
      ownAddresses: () => ['http://gateway.example'],
    },
    billing,
    pin: () => plugins.pin(),
    storage: { files, settings: () => keeping, maxFileBytes: 10_000_000 },
    webhooks: {
      upstream: receivers,
      urls: createCallbackUrls({ names: [], ranges: RECEIVERS }),
      secretBox,
      updateEveryMs: 0,
      hostConcurrency: 8,
      attemptMs: 15_000,
      keptDays: () => 7,
    },
    limits: {
      pollIntervalMs: 100,
      pollChannelConcurrency: 16,
      pollMaxFailures: 5,
      taskTimeoutMinutes: 1440,
      pollLeaseMs: 90_000,
      claimLimit: 1000,
      submitTimeoutMs: FAR_MS,
      submitWaitMs: FAR_MS,
      relayWaitMs: FAR_MS,
      waiting: () => NO_WAITING,
      tickMs: 2000,
      tickJitterMs: 0,
      observations: { node: 128, plugin: 32, user: 4, key: 2 },
      maxFileBytes: 1024 * 1024,
      ...limits,
      links,
    },
    telemetry: { onPoll: () => {} },
    node: { id: nodeId, random: systemRandom, capacity, canStore },
    links: {
      secrets: ['crypto-secret-of-the-tests'],
      publicAddress,
      counters: createMemoryCounters(),
    },
  });
  const { tasks, relay, results } = rooms;
  const stopTasks = async (graceMs: number): Promise<void> => {
    await Promise.all([tasks.stop(graceMs), relay.stop(), results.stop()]);
  };
  let vendorAheadMs = 0;
  const vendorClock = { ...clock, nowMs: () => clock.nowMs() + vendorAheadMs };
  const vendor = createDemoVendor({
    clock: vendorClock,
    key: 'vendor-key-0123456789',
    ...(vendorMaxRunning === undefined ? {} : { maxRunning: vendorMaxRunning }),
  });
  const listening = await vendor.start(0);

  const addChannel = async (change: Partial<ChannelInput> = {}): Promise<number> => {
    const { channel } = await channels.create({
      name: 'demo',
      type: 61,
      key: 'vendor-key-0123456789',
      baseUrl: listening.url,
      models: ['demo-video'],
      taskPluginKey: 'demo',
      ...change,
    });
    return channel.id;
  };
  for (const model of ['demo-video', 'demo-batch-video']) {
    await billing.prices.save({ pluginKey: '*', model, expression: PRICE });
  }

  return {
    store,
    ...rooms,
    channels,
    capacity,
    billing,
    plugins,
    vendorUrl: listening.url,
    warnings,
    keeping,
    files,
    addChannel,
    /** Advances the vendor's clock only, so that its jobs are done. */
    finishJobs() {
      vendorAheadMs += 86_400_000;
    },
    /** The vendor's counts for one task. */
    async counted(task: {
      taskId: string;
    }): Promise<{ creates: number; jobs: { id: string; polls: number; status: string }[] }> {
      return (await fetch(`${listening.url}/stats?reference_id=${task.taskId}`)).json() as never;
    },
    /** The vendor's counts of all tasks. */
    vendorCounts: async (): Promise<Record<'creates' | 'jobs' | 'full' | 'most_running', number>> =>
      (await fetch(`${listening.url}/stats`)).json() as never,
    /** Starts polling, and what relays and copies results. */
    async start(options?: { poll?: boolean }) {
      await tasks.start(options);
      await relay.start();
      await results.start();
    },
    stopTasks,
    async stop() {
      await stopTasks(1000);
      await plugins.stop();
      channels.stop();
      capacity.stop();
      billing.stop();
      await upstream.close();
      await receivers.close();
      await listening.stop();
    },
  };
}

export const addCaller = async (store: Store, balance = BALANCE, change: Partial<UserRecord> = {}) => {
  const user = await addUser(store, { balance, ...change });
  return { user, key: await addKey(store, user.id), walletId: user.walletId, group: 'default' };
};

export const jsonRequest = (value: Json): ClientRequest => ({
  method: 'POST',
  path: '/v1/tasks/demo',
  params: {},
  query: {},
  contentType: 'application/json',
  accept: '*/*',
  body: { kind: 'json', value },
  digests: { raw: sha256Hex(JSON.stringify(value)), meaning: sha256Hex(canonicalJson(JSON.stringify(value))) },
  release: async () => {},
});

export const readBalance = async (store: Store, userId: number): Promise<number> =>
  (await store.users.byId(userId))?.quota ?? Number.NaN;

/** The newest task, of a user or of all, as its row is. */
export async function newestTask(store: Store, userId?: number): Promise<TaskRecord> {
  const { items } = await store.tasks.list(userId === undefined ? {} : { userId }, { page: 1, pageSize: 1 });
  const task = await store.tasks.byTaskId(items[0]?.taskId ?? '');
  if (!task) throw new Error('there is no task');
  return task;
}

export async function ended(store: Store, taskId: string): Promise<TaskRecord> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const late = performance.now() > deadline;
    const task = await store.tasks.byTaskId(taskId);
    if (task && (task.status === 'SUCCESS' || task.status === 'FAILURE')) return task;
    if (late) throw new Error(`${taskId} has not ended: ${JSON.stringify(task)}`);
    await Bun.sleep(10);
  }
}

/** How long a job of the demo vendor lasts that ends only when the test says so. */
export const HELD = '[duration=6000]';

/**
 * `ended` for a task behind jobs that are `HELD`: all jobs of the vendor end, also those that it
 * gets while this waits.
 */
export async function endedByTest(engine: Engine, taskId: string): Promise<TaskRecord> {
  const hurry = setInterval(() => engine.finishJobs(), 20);
  try {
    return await ended(engine.store, taskId);
  } finally {
    clearInterval(hurry);
  }
}
