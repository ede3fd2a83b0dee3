import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { newRelayId, newTaskId, newUuid, randomAlnum } from '../../src/kernel/index.ts';
import type {
  ApiKeyRecord,
  NewRelay,
  NewTask,
  NewWaiting,
  SessionRecord,
  Store,
  TaskRecord,
} from '../../src/store/ports/index.ts';
import { DATABASES, type DatabaseKind } from '../support/databases.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { type DatabaseReset, prepareReset } from '../support/reset-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openWatchedStore } from './watch-statements.ts';

export type OpenedStore = {
  store: Store;
  databaseUrl: string;
  dataDir: string;
  /** A second `Store` on the same database, as another process has it. */
  openAnother(): Promise<Store>;
};

/**
 * Runs `suite` over `databases`, both unless told otherwise; `opened()` is valid inside its tests.
 * `fresh` says how long the rows of a database live: for the suite, whose tests then look at rows
 * of their own only, or for each test.
 */
export function describeEachStore(
  name: string,
  suite: (opened: () => OpenedStore) => void,
  { fresh = 'suite', databases = DATABASES }: { fresh?: 'suite' | 'test'; databases?: readonly DatabaseKind[] } = {},
) {
  for (const dialect of databases) {
    describe(`${name} on ${dialect}`, () => {
      let current: OpenedStore;
      let stores: Store[] = [];
      const watched: Map<string, string[]>[] = [];
      let reset: DatabaseReset | undefined;
      const start = async () => {
        const databaseUrl = dialect === 'postgres' ? await migratedDatabaseUrl() : '';
        const dataDir = temporaryFolder();
        const openAnother = async () => {
          const { store, torn } = await openWatchedStore({ databaseUrl, dataDir });
          watched.push(torn);
          stores.push(store);
          return store;
        };
        if (fresh === 'test' && dialect === 'postgres') reset = await prepareReset(databaseUrl);
        current = { store: await openAnother(), databaseUrl, dataDir, openAnother };
      };
      const stop = async () => {
        for (const store of stores.splice(0)) await store.close();
        await reset?.close();
        await rm(current.dataDir, { recursive: true, force: true });
      };
      if (fresh === 'suite' || dialect === 'postgres') {
        beforeAll(start);
        afterAll(stop);
      } else {
        beforeEach(start);
        afterEach(stop);
      }
      beforeEach(() => reset?.run());
      afterEach(async () => {
        if (!reset) return;
        const [first, ...others] = stores;
        for (const store of others) await store.close();
        stores = first ? [first] : [];
      });
      suite(() => current);
      test('methods of several statements run in a transaction', () => {
        const torn = watched.flatMap((calls) => [...calls]);
        // Declare such a method with `atomic(…)` in its repository, or with `separate(…)` and why.
        expect(torn).toEqual([]);
      });
    });
  }
}

/**
 * In a database without orphaned wallets, a user's own wallet has the user's number: the fixtures
 * here rely on it.
 */
/** A key of the user's own wallet. */
export async function addKey(store: Store, userId: number, change: Partial<ApiKeyRecord> = {}): Promise<ApiKeyRecord> {
  const walletId = (await store.users.byId(userId))?.walletId ?? userId;
  return store.apiKeys.insert({
    userId,
    walletId,
    name: 'a key',
    keyHash: randomAlnum(64),
    prefix: 'sk-test',
    status: 1,
    unlimitedQuota: true,
    quota: 0,
    models: [],
    allowIps: [],
    expiresAt: 0,
    group: null,
    createdAt: 100,
    ...change,
  });
}

export const newTask = (change: Partial<NewTask> = {}): NewTask => ({
  taskId: newTaskId(Date.now()),
  platform: 'demo',
  userId: 1,
  walletId: change.userId ?? 1,
  apiKeyId: null,
  group: 'default',
  channelId: 1,
  action: 'text_to_video',
  quota: 0,
  properties: { input: 'a cat', originModelName: 'demo-1', upstreamModelName: 'demo-1' },
  execution: { requestId: 'r', pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
  billing: { expression: null, priceKey: null, facts: {}, groupRatio: 1, usd: 0, model: 'demo-1', action: '' },
  createdAt: 100,
  leaseOwner: 'submitter',
  leaseForMs: 60_000,
  ...change,
});

/** An entry of a queue, but for its task. */
export const NEW_WAITING: Omit<NewWaiting, 'taskId'> = {
  class: { class: 'demo', plugin: 'demo', model: 'demo-1', group: 'default', channelId: 0, credentialId: 0 },
  ...{ priority: 0, userId: 1, apiKeyId: null, node: '', attached: '', bytes: 10, cost: 1000, forMs: 3_600_000 },
  parked: '',
  request: { prompt: 'a cat' },
};

const RELAY_BILLING = {
  expression: '0.5',
  priceKey: '*::gpt-x',
  facts: {},
  groupRatio: 1,
  usd: 0.5,
  model: 'gpt-x',
  action: 'response',
};

/** A relayed request that is open. */
export const newRelay = (change: Partial<NewRelay> = {}): NewRelay => ({
  relayId: newRelayId(Date.now()),
  kind: 'response',
  userId: 1,
  walletId: 1,
  apiKeyId: null,
  group: 'default',
  channelId: 3,
  credentialId: null,
  model: 'gpt-x',
  quota: 250_000,
  billing: RELAY_BILLING,
  requestId: 'r',
  leaseOwner: 'node-a',
  createdAt: 100,
  leaseForMs: 60_000,
  ...change,
});

/** The lease that a task was inserted or claimed under. */
export const readLease = ({
  taskId,
  leaseOwner,
  leaseSeq,
}: Pick<TaskRecord, 'taskId' | 'leaseOwner' | 'leaseSeq'>) => ({
  taskId,
  leaseOwner: leaseOwner ?? '',
  leaseSeq,
});

/** A task that runs and is due at once. */
export async function addRunningTask(store: Store, change: Partial<NewTask> = {}): Promise<TaskRecord> {
  const task = await store.tasks.insert(newTask(change));
  await store.tasks.advance(readLease(task), { status: 'SUBMITTED', submitTime: 200 }, 0);
  return (await store.tasks.byTaskId(task.taskId)) as TaskRecord;
}

export const newSession = (userId: number, change: Partial<SessionRecord> = {}): SessionRecord => ({
  sid: newUuid(),
  userId,
  version: 1,
  userAuthVersion: 1,
  status: 'active',
  refreshHash: randomAlnum(64),
  previousRefreshHash: null,
  previousValidUntil: 0,
  loginMethod: 'password',
  ip: '203.0.113.1',
  addressKey: '203.0.113.1',
  userAgent: 'test',
  createdAt: 1000,
  lastActiveAt: 1000,
  expiresAt: 5000,
  revokedAt: 0,
  revokedReason: '',
  ...change,
});
