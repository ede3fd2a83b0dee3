import { afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { moveDatabase, openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addKey, addRunningTask, newTask, readLease } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Place = { databaseUrl: string; dataDir: string };

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close().catch(() => undefined);
});

async function open(place: Place): Promise<Store> {
  const store = await openStore({ ...place, synchronous: 'FULL', clock: systemClock, logger: silentLogger });
  stores.push(store);
  return store;
}

const sqlite = (): Place => ({ databaseUrl: '', dataDir: join(temporaryFolder(), 'data') });
const postgres = async (): Promise<Place> => ({ databaseUrl: await testDatabaseUrl(), dataDir: '' });
const move = (from: Place, to: Place, onTable?: (table: string) => void) =>
  moveDatabase({ from, to, clock: systemClock, logger: silentLogger, ...(onTable ? { onTable } : {}) });

/** A gateway with a user, a key, money, a task that runs, one that has ended, and options. */
async function fill(place: Place) {
  const store = await open(place);
  const user = await addUser(store, { balance: 1000 });
  const key = await addKey(store, user.id);
  await store.apiKeys.touch(key.id, { at: 7, ip: '2001:db8::7' });
  const running = await addRunningTask(store, { userId: user.id, apiKeyId: key.id });
  const ended = await store.tasks.insert(newTask({ userId: user.id }));
  await store.tasks.advance(readLease(ended), { status: 'SUCCESS', data: { words: '\u00e4 "x" \\u0000' } }, null);
  await store.options.put('SystemName', 'Gate');
  await store.close();
  return { user, key, running, ended };
}

test('everything moves to PostgreSQL and back, running tasks included, and each former database is closed', async () => {
  const first = sqlite();
  const { user, key, running, ended } = await fill(first);
  const second = await postgres();
  const { resumed, tables } = await move(first, second);
  expect(resumed).toBe(false);
  expect(tables.find(({ table }) => table === 'tasks')?.rows).toBe(2);
  expect(open(first)).rejects.toThrow('closed for good');

  const moved = await open(second);
  expect(await moved.users.byId(user.id)).toMatchObject({ username: user.username });
  expect(await moved.options.get('SystemName')).toBe('Gate');
  expect(await moved.apiKeys.byId(key.id)).toMatchObject({ lastUsedAt: 7, lastUsedIp: '2001:db8::7' });
  expect((await moved.tasks.byTaskId(ended.taskId))?.data).toEqual({ words: '\u00e4 "x" \\u0000' });
  expect((await moved.tasks.list({}, { page: 1, pageSize: 9 })).total).toBe(2);
  // What runs is due where it is now, and new rows get numbers of their own.
  expect(await moved.tasks.queueDepth()).toMatchObject({ unfinished: 1, due: 1 });
  const next = await addUser(moved, {});
  expect(next.id).toBeGreaterThan(user.id);
  expect((await moved.ledger.imbalances(5)).wallets).toEqual([]);
  await moved.close();

  const third = sqlite();
  await move(second, third);
  expect(open(second)).rejects.toThrow('closed for good');
  const back = await open(third);
  expect((await back.tasks.byTaskId(running.taskId))?.status).toBe('SUBMITTED');
  expect((await back.tasks.list({}, { page: 1, pageSize: 9 })).total).toBe(2);
  expect((await addUser(back, {})).id).toBeGreaterThan(next.id);
});

test('a move that was ended goes on, and until then neither database serves the other half', async () => {
  const [from, to] = [sqlite(), sqlite()];
  const { ended } = await fill(from);
  const die = (table: string) => {
    if (table === 'tasks') throw new Error('killed');
  };
  expect(move(from, to, die)).rejects.toThrow('killed');
  expect(open(to)).rejects.toThrow('has not ended');
  // The source goes on as long as nothing was switched over.
  const still = await open(from);
  await addUser(still, {});
  await still.close();
  expect((await move(from, to)).resumed).toBe(true);
  const moved = await open(to);
  expect((await moved.tasks.byTaskId(ended.taskId))?.status).toBe('SUCCESS');
  expect(move(from, to)).rejects.toThrow('closed for good');
});

test('nothing is switched over when a node was started on the former database', async () => {
  const [from, to] = [await postgres(), sqlite()];
  await fill(from);
  let starting: Promise<void> | undefined;
  const start = () => {
    starting ??= runRaw(
      from,
      `insert into nodes (id, role, version, started_at, heartbeat_at, fingerprints)
        values ('late', 'all', '1', 1, extract(epoch from now())::bigint, '[]')`,
    );
  };
  await expect(move(from, to, start)).rejects.toThrow('The node late runs on the PostgreSQL database');
  await starting;
  await open(from);
});

test('nothing is switched over where a row differs, and a database with data of its own is refused', async () => {
  const [from, to] = [sqlite(), sqlite()];
  await fill(from);
  const die = (table: string) => {
    if (table === 'tasks') throw new Error('killed');
  };
  expect(move(from, to, die)).rejects.toThrow('killed');
  await runRaw(to, 'update wallets set quota = quota + 1');
  expect(move(from, to)).rejects.toThrow('The table wallets has');
  await (await open(from)).close();

  const own = sqlite();
  await fill(own);
  expect(move(from, own)).rejects.toThrow('users or tasks of its own');
});

test('no id of a deleted key or channel is given again in the other database', async () => {
  const [first, second, third] = [sqlite(), await postgres(), sqlite()];
  const { user, key } = await fill(first);
  const store = await open(first);
  const gone = await addKey(store, user.id);
  await store.apiKeys.delete(gone.id, user.id);
  await store.close();
  await move(first, second);
  const moved = await open(second);
  const next = await addKey(moved, user.id);
  expect([key.id < gone.id, next.id > gone.id]).toEqual([true, true]);
  await moved.apiKeys.delete(next.id, user.id);
  await moved.close();
  await move(second, third);
  const back = await open(third);
  expect((await addKey(back, user.id)).id).toBeGreaterThan(next.id);
});
