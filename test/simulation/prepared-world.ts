import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELAY_TYPE } from '../../src/channels/index.ts';
import { createSecretBox, sha256Hex } from '../../src/kernel/index.ts';
import { createCompiler, type FactoryPlugin } from '../../src/plugins/index.ts';
import { JOBS } from '../../src/plugins/worker/worker-jobs.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { WaitingRules } from '../../src/tasks/index.ts';
import { createGateway, SECRET } from './gateway.ts';
import { createMemoryFiles } from './memory-files.ts';
import { createRandom } from './random.ts';
import { createStandInSandbox, type Modules } from './stand-in-sandbox.ts';
import { EPOCH_MS } from './world.ts';

/** Nothing waits: clients see that a vendor is full. */
export const NO_WAITING: WaitingRules = {
  ...{ maxWaitMs: 0, maxWaiting: 0, maxWaitingPerUser: 0, maxWaitingBytes: 0, priority: 0 },
  maxRunning: null,
};

export const VENDOR = 'vendor.example';
/** What may serve instead of `demo-video`, and the name of its channel. */
export const OTHER_MODEL = { model: 'demo-video-pro', channel: 'third' } as const;
/** In USD a second. */
const PRICES = { 'demo-video': 0.02, 'demo-batch-video': 0.02, [OTHER_MODEL.model]: 0.01 } as const;
const QUOTA_PER_USD = 500_000;

/** Whom requests are relayed to. */
export const CHAT_VENDOR = 'chat.example';
export const RELAY_MODELS = ['chat', 'chat-flat', 'draw'] as const;
/** Quota of a token of an answer, of any answer, of an image. */
export const RELAY_PRICES = { chat: 100, 'chat-flat': 20_000, draw: 10_000 } as const;
const RELAY_EXPRESSIONS = {
  chat: `${RELAY_PRICES.chat / QUOTA_PER_USD} * u("output_tokens")`,
  'chat-flat': `${RELAY_PRICES['chat-flat'] / QUOTA_PER_USD}`,
  draw: `${RELAY_PRICES.draw / QUOTA_PER_USD} * u("images")`,
};
/**
 * Accounts of the vendor of chats, and the tokens that each reserves where a request names none.
 */
export const RELAY_ACCOUNTS: Readonly<Record<string, number>> = { talk: 40, 'talk-more': 60 };

/** The key of a channel's account. */
export const vendorKeyFor = (channel: string): string => `vendor-key-of-${channel}`;
/** What a second of a job costs, as quota, by the key that it was made with. */
export const quotaPerSecond = (key: string | undefined): number =>
  QUOTA_PER_USD * PRICES[key === vendorKeyFor(OTHER_MODEL.channel) ? OTHER_MODEL.model : 'demo-video'];

/** `ratio`: of their group. */
type SimulatedUser = { name: string; balance: number; group: string; ratio: number };

/** Who orders. The last one cannot pay for all of their orders. */
export const CUSTOMERS: readonly [SimulatedUser, ...SimulatedUser[]] = [
  { name: 'ada', balance: 100_000_000, group: 'default', ratio: 1 },
  { name: 'bob', balance: 100_000_000, group: 'half', ratio: 0.5 },
  { name: 'dan', balance: 100_000_000, group: 'default', ratio: 1 },
  { name: 'eve', balance: 400_000, group: 'default', ratio: 1 },
];
/** Chats with all nodes at once, on a balance for a few chats. */
export const CHATTER: SimulatedUser = { name: 'fay', balance: 40_000, group: 'default', ratio: 1 };
export const USERS = [...CUSTOMERS, CHATTER];
export const ratioFor = (user: string): number => USERS.find(({ name }) => name === user)?.ratio ?? Number.NaN;

/** The API key of a user, as its digest stands in the database. */
export const keyHashFor = (user: string): string => sha256Hex(`key of ${user}`);

const PATHS = ['../../src/plugins/factory/demo.js', '../fixtures/demo-batch.js'].map((path) =>
  join(import.meta.dir, path),
);

export type Plugins = { modules: Modules; compiled: readonly FactoryPlugin[] };

/** The demo plugins, evaluated here and checked by the product's rules. */
export async function loadPlugins(): Promise<Plugins> {
  const modules = new Map<string, Record<string, unknown>>();
  for (const path of PATHS) modules.set(sha256Hex(readFileSync(path, 'utf8')), await import(path));
  const compiler = createCompiler(createStandInSandbox(modules), {
    run: async (task, ...args) => (JOBS[task] as (...args: unknown[]) => never)(...args),
  });
  const compiled: FactoryPlugin[] = [];
  for (const path of PATHS) {
    const result = await compiler.compile(readFileSync(path, 'utf8'));
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    compiled.push(result.value);
  }
  return { modules, compiled };
}

/** Writes users, keys, prices and channels: what every history begins with. */
export async function prepareWorld(store: Store, { modules, compiled }: Plugins): Promise<void> {
  const at = EPOCH_MS / 1000;
  const clock = {
    ...{ nowMs: () => EPOCH_MS, unix: () => at, monotonicMs: () => 0 },
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
  };
  const gateway = createGateway({
    ...{ name: 'preparation', store, clock, random: createRandom(0), files: createMemoryFiles() },
    sandbox: createStandInSandbox(modules),
    plugins: compiled,
    upstream: { request: () => Promise.reject(new Error('nobody is asked')), close: async () => {} },
    waiting: NO_WAITING,
    mostHeld: 0,
  });
  await gateway.load();
  const webhookSecretSealed = createSecretBox([SECRET]).seal(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);
  for (const { name, balance, group } of USERS) {
    const user = await store.users.insert({
      ...{ username: name, displayName: name, passwordHash: '', role: 1, status: 1, email: null },
      ...{ group, language: 'en', createdAt: at },
    });
    if (!user) throw new Error(`${name} is taken`);
    await store.ledger.grant({ walletId: user.walletId, kind: 'grant', key: `grant of ${name}`, amount: balance, at });
    await store.apiKeys.insert({
      ...{
        userId: user.id,
        walletId: user.walletId,
        name: 'a key',
        keyHash: keyHashFor(name),
        prefix: 'sk-sim',
        status: 1,
        unlimitedQuota: true,
      },
      ...{ quota: 0, models: [], allowIps: [], expiresAt: 0, group: null, createdAt: at, webhookSecretSealed },
    });
  }
  for (const [model, usd] of Object.entries(PRICES))
    await gateway.billing.prices.save({ pluginKey: '*', model, expression: `${usd} * u("seconds")` });
  const channel = { type: 61, baseUrl: `http://${VENDOR}`, groups: ['default', 'half'] };
  for (const [name, weight, model, taskPluginKey] of [
    ['first', 1, 'demo-video', 'demo'],
    ['second', 2, 'demo-video', 'demo'],
    ['batch', 1, 'demo-batch-video', 'demo-batch'],
    [OTHER_MODEL.channel, 1, OTHER_MODEL.model, 'demo'],
  ] as const)
    await gateway.channels.create({
      ...{ ...channel, name, key: vendorKeyFor(name), weight, models: [model], taskPluginKey },
    });
  for (const [model, expression] of Object.entries(RELAY_EXPRESSIONS))
    await gateway.billing.prices.save({ pluginKey: '*', model, expression });
  for (const [name, tokens] of Object.entries(RELAY_ACCOUNTS))
    await gateway.channels.create({
      ...{ name, type: RELAY_TYPE, key: vendorKeyFor(name), baseUrl: `http://${CHAT_VENDOR}`, weight: 1 },
      ...{ models: [...RELAY_MODELS], groups: channel.groups, settings: { default_max_tokens: tokens } },
    });
  gateway.drop();
}
