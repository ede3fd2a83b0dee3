import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretBox, sha256Hex } from '../../src/kernel/index.ts';
import { createCompiler, type FactoryPlugin } from '../../src/plugins/index.ts';
import { TASKS } from '../../src/plugins/worker/tasks.ts';
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
/** 0.02 USD a second, as quota. */
export const QUOTA_PER_SECOND = 10_000;

/** `ratio`: of their group. */
type SimulatedUser = { name: string; balance: number; group: string; ratio: number };

/** Who orders. The last one cannot pay for all of their orders. */
export const USERS: readonly [SimulatedUser, ...SimulatedUser[]] = [
  { name: 'ada', balance: 100_000_000, group: 'default', ratio: 1 },
  { name: 'bob', balance: 100_000_000, group: 'half', ratio: 0.5 },
  { name: 'dan', balance: 100_000_000, group: 'default', ratio: 1 },
  { name: 'eve', balance: 400_000, group: 'default', ratio: 1 },
];

/** The API key of a user, as its digest stands in the database. */
export const keyHashOf = (user: string): string => sha256Hex(`key of ${user}`);

const PATHS = ['../../src/plugins/factory/demo.js', '../fixtures/demo-batch.js'].map((path) =>
  join(import.meta.dir, path),
);

export type Plugins = { modules: Modules; compiled: readonly FactoryPlugin[] };

/** The demo plugins, evaluated here and checked by the product's rules. */
export async function loadPlugins(): Promise<Plugins> {
  const modules = new Map<string, Record<string, unknown>>();
  for (const path of PATHS) modules.set(sha256Hex(readFileSync(path, 'utf8')), await import(path));
  const compiler = createCompiler(createStandInSandbox(modules), {
    run: async (task, ...args) => (TASKS[task] as (...args: unknown[]) => never)(...args),
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
        keyHash: keyHashOf(name),
        prefix: 'sk-sim',
        status: 1,
        unlimitedQuota: true,
      },
      ...{ quota: 0, models: [], allowIps: [], expiresAt: 0, group: null, createdAt: at, webhookSecretSealed },
    });
  }
  for (const model of ['demo-video', 'demo-batch-video'])
    await gateway.billing.prices.save({ pluginKey: '*', model, expression: '0.02 * u("seconds")' });
  const channel = { type: 61, baseUrl: `http://${VENDOR}`, groups: ['default', 'half'] };
  const keyOf = (name: string): string => `vendor-key-of-${name}`;
  for (const [name, weight] of [
    ['first', 1],
    ['second', 2],
  ] as const)
    await gateway.channels.create({
      ...{ ...channel, name, key: keyOf(name), weight },
      models: ['demo-video'],
      taskPluginKey: 'demo',
    });
  await gateway.channels.create({
    ...channel,
    ...{ name: 'batch', key: keyOf('batch') },
    models: ['demo-batch-video'],
    taskPluginKey: 'demo-batch',
  });
  gateway.drop();
}
