/**
 * A copy takes the place of a database whose gateway was killed: old or new, and always complete.
 */
import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { copyDatabase, databaseVersion, migrateStore, openStore, replaceSqlite } from '../../src/store/index.ts';
import { RESTORED_NODE } from '../../src/store/ports/index.ts';
import { finishReplacement, replacementSteps } from '../../src/store/snapshot/replace-sqlite.ts';
import { markCopy } from '../../src/store/sqlite/database-mark.ts';
import { addRunningTask, NEW_WAITING, newSession, newTask } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { anOldDatabase, createConcurrencyLimit } from './old-database.ts';

const optionsFor = (dataDir: string) =>
  ({ databaseUrl: '', dataDir, synchronous: 'FULL', clock: systemClock, logger: silentLogger }) as const;
const serve = (dataDir: string) => openStore({ ...optionsFor(dataDir), exclusive: true });
const pathFor = (dataDir: string) => join(dataDir, 'taskgate.db');

async function put(dataDir: string, keys: readonly string[]): Promise<void> {
  const store = await serve(dataDir);
  for (const key of keys) await store.options.put(key, 'x');
  await store.close();
}

/** What a gateway leaves behind when it is killed after it has written `keys`. */
async function killedAfter(dataDir: string, keys: readonly string[]): Promise<string> {
  const store = await serve(dataDir);
  for (const key of keys) await store.options.put(key, 'x');
  const left = temporaryFolder();
  cpSync(dataDir, left, { recursive: true });
  await store.close();
  return left;
}

async function keysIn(dataDir: string): Promise<string[]> {
  const store = await serve(dataDir);
  const all = await store.options.all();
  await store.close();
  return all.map(({ key }) => key).filter((key) => /^(?:old|new)/.test(key));
}

test('a task that waited when a copy was made is not sent after it took the place', async () => {
  const dataDir = temporaryFolder();
  const store = await serve(dataDir);
  const { taskId } = await store.tasks.insert(
    newTask({ channelId: 0, phase: 'waiting', leaseOwner: null, leaseForMs: 0 }),
  );
  await store.waiting.put([{ ...NEW_WAITING, taskId }]);
  await store.close();
  const copy = join(temporaryFolder(), 'copy.db');
  copyDatabase(dataDir, copy);
  replaceSqlite({ dataDir, file: copy, now: 1_800_000_000 });
  const after = await serve(dataDir);
  expect(await after.waiting.age(9)).toMatchObject([{ taskId, node: RESTORED_NODE }]);
  await after.close();
});

test('what a copy would order, deliver or admit once more ends when it takes the place', async () => {
  const dataDir = temporaryFolder();
  const store = await serve(dataDir);
  const { id: userId } = await addUser(store);
  const batchId = 'batch_1';
  await store.batches.insert(
    {
      ...{ batchId, userId, apiKeyId: 1, endpoint: '/v1/videos', inputFileId: '', allOrNone: false, metadata: {} },
      ...{ callbackUrl: null, requestId: 'r', status: 'in_progress', total: 2, startedAt: 1, createdAt: 1 },
      expiresAt: 2_000_000_000,
    },
    [0, 1].map((position) => ({ position, customId: `${position}`, path: '/v1/videos', body: { prompt: 'a cat' } })),
    3,
  );
  await store.batches.begin({ batchId, position: 0 }, 1);
  const session = newSession(userId);
  await store.sessions.insert(session);
  const { taskId } = await addRunningTask(store, { userId });
  await store.webhooks.putFinish(
    {
      ...{ eventId: 'event', taskId, userId, apiKeyId: 1, event: 'task.finished', url: 'https://example.org/' },
      ...{ host: 'example.org', payload: {}, createdAt: 1 },
    },
    60_000,
  );
  await store.close();
  const copy = join(temporaryFolder(), 'copy.db');
  copyDatabase(dataDir, copy);
  replaceSqlite({ dataDir, file: copy, now: 1_800_000_000 });
  const after = await serve(dataDir);
  expect(await after.batches.unsent(batchId, 9)).toEqual([]);
  expect((await after.batches.counts([batchId])).get(batchId)).toMatchObject({ cancelled: 2 });
  expect(await after.sessions.bySid(session.sid)).toMatchObject({ status: 'revoked', revokedReason: 'restored' });
  expect(await after.webhooks.depth()).toMatchObject({ pending: 0 });
  expect(await after.options.get('results.orphans_stay_until')).toBe(String(1_800_000_000 + 7 * 86_400));
  await after.close();
});

test('a copy of the first version, which has fewer tables, takes the place too', async () => {
  const old = createConcurrencyLimit();
  const setup = await old.setUp('sqlite');
  await anOldDatabase(setup, 1, []);
  const dataDir = temporaryFolder();
  await put(dataDir, NEW);
  expect(replaceSqlite({ dataDir, file: pathFor(setup.dataDir), now: 1_800_000_000 })).toBeDefined();
  expect(await databaseVersion(optionsFor(dataDir))).toBe(1);
});

const OLD = ['old-1', 'old-2'];
const NEW = ['new-1', 'new-2', 'new-3'];

/** A killed gateway, and copies from before and while it ran. */
async function setUp() {
  const dataDir = temporaryFolder();
  await put(dataDir, OLD);
  const copies = temporaryFolder();
  copyFileSync(pathFor(dataDir), join(copies, 'stopped.db'));
  copyDatabase(dataDir, join(copies, 'running.db'));
  return { left: await killedAfter(dataDir, NEW), copies };
}

test.each(['stopped.db', 'running.db'])(
  '%s over the database of a killed gateway: its log is refused',
  async (name) => {
    const { left, copies } = await setUp();
    copyFileSync(join(copies, name), pathFor(left));
    const refusal = { code: 'store.foreign_log', message: expect.stringContaining('taskgate restore-copy') };
    await expect(serve(left)).rejects.toMatchObject(refusal);
    await expect(migrateStore(optionsFor(left))).rejects.toMatchObject(refusal);
    await expect(databaseVersion(optionsFor(left))).rejects.toMatchObject(refusal);
    await expect(migrateStore({ ...optionsFor(left), dryRun: true })).rejects.toMatchObject(refusal);
    expect(replaceSqlite({ dataDir: left, file: join(copies, name), now: 1_800_000_000 })).toBeDefined();
    expect(await keysIn(left)).toEqual(OLD);
  },
);

test('the log of a killed gateway is its own, however often it was killed, or another program opened it', async () => {
  let { left } = await setUp();
  for (let round = 1; round <= 3; round += 1) {
    new SqliteFile(pathFor(left), { readwrite: true }).run('select 1');
    left = await killedAfter(left, [`new-${round + 3}`]);
  }
  expect(await keysIn(left)).toEqual([...NEW, 'new-4', 'new-5', 'new-6', ...OLD].sort());
});

test('the former database is kept with its log', async () => {
  const { left, copies } = await setUp();
  const kept = replaceSqlite({ dataDir: left, file: join(copies, 'stopped.db'), now: 1_800_000_000 }) ?? '';
  expect(kept).toBe(join(left, 'taskgate.db.replaced-20270115T080000Z'));
  expect(await keysIn(left)).toEqual(OLD);
  // And it comes back in the same way.
  replaceSqlite({ dataDir: left, file: kept, now: 1_800_000_001 });
  expect(await keysIn(left)).toEqual([...NEW, ...OLD]);
});

test('a kill between any two steps leaves the old or the new database intact, and never half of both', async () => {
  const seen = new Set<string>();
  for (let steps = 0, isEnd = false; !isEnd; steps += 1) {
    const { left, copies } = await setUp();
    mkdirSync(join(left, 'taskgate.copy'));
    const prepared = pathFor(join(left, 'taskgate.copy'));
    copyFileSync(join(copies, 'stopped.db'), prepared);
    markCopy(prepared);
    const file = new SqliteFile(prepared, { readonly: true });
    const mark = Number(file.query('pragma application_id').values()[0]?.[0]);
    file.close();
    const kept = `${pathFor(left)}.replaced-1`;
    const all = replacementSteps(left, { mark, kept });
    for (const step of all.slice(0, steps)) step();
    isEnd = steps === all.length;
    const keys = await keysIn(left);
    seen.add(keys.join());
    expect([OLD.join(), [...NEW, ...OLD].join()]).toContain(keys.join());
    const others = readdirSync(left).filter((name) => /replac/.test(name));
    expect(others).toEqual(keys.length === OLD.length ? ['taskgate.db.replaced-1', 'taskgate.db.replaced-1-wal'] : []);
  }
  expect(seen.size).toBe(2);
});

test('an interrupted replacement is ended by a start alone, and refused beside one', async () => {
  const { left } = await setUp();
  writeFileSync(join(left, 'taskgate.replacing'), 'torn');
  await expect(openStore(optionsFor(left))).rejects.toMatchObject({ code: 'store.restore_unfinished' });
  finishReplacement(left);
  expect(await keysIn(left)).toEqual([...NEW, ...OLD]);
});

test('a copy is refused beside a gateway, and where it is not a whole database of ours', async () => {
  const { left, copies } = await setUp();
  const replace = (file: string, dataDir = left) => replaceSqlite({ dataDir, file, now: 1_800_000_000 });
  const store = await serve(left);
  expect(() => replace(join(copies, 'stopped.db'))).toThrow('Another gateway is running');
  await store.close();
  const foreign = new SqliteFile(join(copies, 'foreign.db'));
  foreign.run('create table users (id integer)');
  foreign.close();
  writeFileSync(join(copies, 'text.db'), 'no database '.repeat(1000));
  copyFileSync(join(copies, 'stopped.db'), join(copies, 'cut.db'));
  const whole = await Bun.file(join(copies, 'cut.db')).bytes();
  writeFileSync(join(copies, 'cut.db'), whole.subarray(0, whole.length - 100 * 4096));
  copyFileSync(join(copies, 'stopped.db'), join(copies, 'newer.db'));
  const newer = new SqliteFile(join(copies, 'newer.db'));
  newer.run("insert into schema_migrations (number, name, applied_at) values (9999, 'later', 1)");
  newer.close();
  for (const [name, why] of [
    ['foreign.db', 'not a database of Taskgate'],
    ['text.db', 'not a whole database'],
    ['cut.db', 'not a whole database'],
    ['absent.db', 'no such file'],
    ['.', 'it is not a file'],
    ['newer.db', 'newer program'],
  ] as const) {
    expect(() => replace(join(copies, name))).toThrow(why);
  }
  expect(() => replace(pathFor(left))).toThrow('the database itself');
  expect([await keysIn(left), existsSync(join(left, 'taskgate.copy'))]).toEqual([[...NEW, ...OLD], false]);
});

test('a copy that cannot be made leaves nothing on the disk', async () => {
  const dataDir = temporaryFolder();
  await put(dataDir, OLD);
  const copies = temporaryFolder();
  // No file takes the place of a folder.
  mkdirSync(join(copies, 'copy.db', 'full'), { recursive: true });
  expect(() => copyDatabase(dataDir, join(copies, 'copy.db'))).toThrow();
  expect(readdirSync(copies)).toEqual(['copy.db']);
});
