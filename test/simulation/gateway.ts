import { composeTasks, startTaskRooms, type TaskServices } from '../../src/app/composition/compose-tasks.ts';
import { createPluginLookup } from '../../src/app/composition/plugin-lookup.ts';
import { createBilling } from '../../src/billing/index.ts';
import { createCapacity, createChannels } from '../../src/channels/index.ts';
import {
  type Clock,
  createSecretBox,
  type Json,
  type Logger,
  sha256Hex,
  silentLogger,
} from '../../src/kernel/index.ts';
import { createCallbackUrls } from '../../src/notifications/index.ts';
import { announceNode, type NodePresence } from '../../src/operations/nodes/announce-node.ts';
import { createPluginService, type FactoryPlugin } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { FileStore, Store } from '../../src/store/ports/index.ts';
import type { Caller, ClientRequest, TaskLimits, WaitingRules } from '../../src/tasks/index.ts';
import { createServiceAccountTokens, type Upstream } from '../../src/upstream/index.ts';
import type { SeededRandom } from './random.ts';

export const SECRET = 'crypto-secret-of-the-simulation';
export const RECEIVER = 'receiver.example';

/** The product's defaults, but for times that would only make histories longer. */
const LIMITS: Omit<TaskLimits, 'waiting' | 'mostHeld'> = {
  pollIntervalMs: 15_000,
  pollChannelConcurrency: 16,
  pollMaxFailures: 20,
  taskTimeoutMinutes: 60,
  pollLeaseMs: 30_000,
  claimLimit: 1000,
  submitTimeoutMs: 120_000,
  submitWaitMs: 30_000,
  relayWaitMs: 10_000,
  tickMs: 2000,
  tickJitterMs: 300,
  observations: { node: 128, plugin: 32, user: 32, key: 32 },
  maxFileBytes: 1024 * 1024,
};

/** What a process of the gateway is made from. */
export type GatewayParts = {
  name: string;
  store: Store;
  sandbox: Sandbox;
  plugins: readonly FactoryPlugin[];
  upstream: Upstream;
  files: FileStore;
  clock: Clock;
  random: SeededRandom;
  /** What tasks may wait. */
  waiting: WaitingRules;
  /** Quota that it may reserve in memory alone. */
  mostHeld: number;
  logger?: Logger;
};

export type Order = {
  name: string;
  /** `native`: the request itself waits until its task is sent. */
  surface: 'generic' | 'video' | 'native';
  pluginKey: string;
  model: string;
  seconds: number;
  keyHash: string;
  idempotencyKey: string | null;
  callback: boolean;
  keep: boolean;
  /** The header X-Allow-Fallback. */
  allowFallback: string | null;
};

export type Gateway = TaskServices & {
  channels: ReturnType<typeof createChannels>;
  billing: ReturnType<typeof createBilling>;
  capacity: ReturnType<typeof createCapacity>;
  /** Reads plugins, channels and prices. */
  load(): Promise<void>;
  /** Loads, then begins the work in the background. */
  start(): Promise<void>;
  /** Ends the work in the background, in the order of the product's shutdown. */
  stop(): Promise<void>;
  /** Whom an API key is of, by its digest. */
  authenticate(keyHash: string): Promise<Caller>;
  /** As a request with an API key, whose client may leave. Returns the task's id. */
  submit(order: Order, left: AbortSignal): Promise<string>;
  /** Stops what rings outside of simulated time. */
  drop(): void;
};

/** The product's rooms, put together and started as `app/composition` does. */
export function createGateway({ name, store, sandbox, upstream, clock, random, ...parts }: GatewayParts): Gateway {
  const { logger = silentLogger } = parts;
  const common = { store, clock, logger, syncFrequencyMs: 3_600_000 };
  const plugins = createPluginService({ ...common, sandbox, factory: parts.plugins });
  const pluginLookup = createPluginLookup(plugins);
  const secretBox = createSecretBox([SECRET]);
  const channels = createChannels({ ...common, random, secretBox, plugins: pluginLookup });
  const capacity = createCapacity({ ...common, nodeId: name, random, accounts: channels.everyAccount });
  const billing = createBilling({
    ...common,
    declaredFacts: pluginLookup.declaredFacts,
    settings: () => ({ groupRatios: { half: 0.5 }, groupBudgets: {}, timezone: 'UTC', unpriced: 'admins' }),
  });
  const rooms = composeTasks({
    ...{ store, clock, logger, billing },
    vendors: {
      upstream,
      serviceAccounts: createServiceAccountTokens({ upstream, clock }),
      channels,
      ownAddresses: () => ['http://gateway.example'],
    },
    pin: () => plugins.pin(),
    storage: {
      files: parts.files,
      settings: () => ({
        ...{ keep: 'asked', keepInputs: false, daysFor: () => 0, storageQuotaFor: () => undefined },
        ...{ usdPerGbDayFor: () => 0, redirects: false, previewBytes: 0 },
      }),
      maxFileBytes: 10_000_000,
    },
    webhooks: {
      ...{ upstream, secretBox, urls: createCallbackUrls({ names: [RECEIVER], ranges: [] }) },
      ...{ updateEveryMs: 5000, hostConcurrency: 8, attemptMs: 15_000, keptDays: () => 7 },
    },
    limits: {
      ...LIMITS,
      waiting: () => parts.waiting,
      mostHeld: () => parts.mostHeld,
      links: { days: 0, invalidPerMinute: 60, downloads: { node: 128, address: 64, artifact: 16 } },
    },
    telemetry: { onPoll: () => {}, onOutcome: plugins.count },
    node: { id: name, random, capacity, canStore: () => true },
    links: {
      ...{ secrets: [SECRET], publicAddress: () => 'http://gateway.example' },
      counters: createMemoryCounters(),
    },
  });
  const load = async () =>
    void (await Promise.all([plugins.start(), channels.start().then(capacity.start), billing.start()]));
  let presence: NodePresence | undefined;
  return {
    ...rooms,
    channels,
    billing,
    capacity,
    load,
    async start() {
      await load();
      const fingerprints = ['session:simulated', 'crypto:simulated'];
      presence = await announceNode({ ...common, id: name, role: 'master', version: '1.0.0', fingerprints });
      await startTaskRooms(rooms, { poll: true });
    },
    async stop() {
      await Promise.all([rooms.tasks.stop(5000), rooms.relay.stop(), rooms.results.stop()]);
      await rooms.webhooks.stop(3000);
      await presence?.stop();
    },
    authenticate: (keyHash) => authenticate(store, keyHash, clock),
    async submit(order, left) {
      const caller = await authenticate(store, order.keyHash, clock);
      return submitOrder(rooms.surfaces, caller, { order, request: { ...readRequest(order), signal: left } });
    },
    drop() {
      capacity.stop();
      channels.stop();
      billing.stop();
      void plugins.stop();
    },
  };
}

async function authenticate(store: Store, keyHash: string, clock: Clock): Promise<Caller> {
  const found = await store.apiKeys.byHash(keyHash, clock.unix());
  if (!found) throw new Error('The simulation has no such API key.');
  return { ...found, walletId: found.key.walletId, group: found.key.group ?? found.user.group };
}

const NATIVE_PATH = '/demo/v1/videos';

async function submitOrder(
  surfaces: TaskServices['surfaces'],
  caller: Caller,
  { order, request }: { order: Order; request: ClientRequest },
): Promise<string> {
  const { surface, pluginKey } = order;
  const requestId = `request of ${order.name}`;
  if (surface === 'generic') return (await surfaces.submitGeneric(caller, { requestId, pluginKey, request })).taskId;
  if (surface === 'video') return (await surfaces.submitVideo(caller, requestId, request)).taskId;
  const route = surfaces.openNativePath('POST', NATIVE_PATH);
  if (route?.kind !== 'route') throw new Error(`The simulation has no route ${NATIVE_PATH}.`);
  try {
    const { body } = await route.answer({ caller, requestId, request, admit: async () => {} });
    return (body as { id: string }).id;
  } finally {
    route.release();
  }
}

const PATHS = { generic: '/v1/tasks/', video: '/v1/videos', native: NATIVE_PATH };

function readRequest(order: Order): ClientRequest {
  const { name, surface, pluginKey, model, seconds, idempotencyKey, callback, keep, allowFallback } = order;
  const value: Json = { model, prompt: name, seconds };
  const digest = sha256Hex(JSON.stringify(value));
  const path = `${PATHS[surface]}${surface === 'generic' ? pluginKey : ''}`;
  return {
    ...{ method: 'POST', path, params: {}, query: {} },
    ...{ contentType: 'application/json', accept: '*/*' },
    body: { kind: 'json', value },
    digests: { raw: digest, meaning: digest },
    idempotencyKey,
    callbackUrl: callback ? `http://${RECEIVER}/${name}` : null,
    keepResult: keep ? 'true' : null,
    allowFallback,
    release: async () => {},
  };
}
