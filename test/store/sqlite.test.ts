import { Database as SqliteFile } from 'bun:sqlite';
import { afterEach, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createTransactionGuard } from '../../src/store/drivers/guard-transactions.ts';
import { beginSqliteRestore, lockDataDir, migrateStore, openStore } from '../../src/store/index.ts';
import { createLogFlush } from '../../src/store/sqlite/flush.ts';
import { createGroupCommit } from '../../src/store/sqlite/group-commit.ts';
import { createReadSnapshot } from '../../src/store/sqlite/read-snapshot.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folders: string[] = [];
const processes: Bun.Subprocess[] = [];
afterEach(async () => {
  for (const child of processes.splice(0)) {
    child.kill('SIGKILL');
    await child.exited;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder;
}

const setup = (dataDir: string) =>
  ({ databaseUrl: '', dataDir, synchronous: 'FULL', clock: systemClock, logger: silentLogger }) as const;

/** A program of this folder, and the lines that it has printed. */
function run(command: string[]): { child: Bun.Subprocess; lines: string[] } {
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' });
  processes.push(child);
  const lines: string[] = [];
  void (async () => {
    let rest = '';
    for await (const chunk of child.stdout) {
      const parts = (rest + new TextDecoder().decode(chunk)).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
    }
  })();
  return { child, lines };
}

const program = (url: string, dataDir: string) => [process.execPath, Bun.fileURLToPath(url), dataDir];
const holdDataDir = (dataDir: string) => program(import.meta.resolve('./hold-data-dir.ts'), dataDir);
const writeUntilFull = (dataDir: string) => program(import.meta.resolve('./write-until-full.ts'), dataDir);

test('a second restore and a gateway are told that a restore is running', async () => {
  const dataDir = newFolder();
  const unlock = lockDataDir(dataDir);
  expect(() => lockDataDir(dataDir)).toThrow(`Another gateway is running on the data directory ${dataDir}`);
  beginSqliteRestore(dataDir);
  const restoring = {
    message: expect.stringContaining(`A backup is being restored into the data directory ${dataDir}`),
  };
  expect(() => lockDataDir(dataDir)).toThrow(expect.objectContaining(restoring));
  await expect(openStore({ ...setup(dataDir), exclusive: true })).rejects.toMatchObject(restoring);
  unlock();
});

test('one gateway a data directory: the second is refused, commands beside it are not, and a killed one leaves no lock', async () => {
  const dataDir = newFolder();
  const inUse = { code: 'store.in_use', message: expect.stringContaining(dataDir) };
  const { child, lines } = run(holdDataDir(dataDir));
  await until(() => lines.includes('holding'));
  await expect(openStore({ ...setup(dataDir), exclusive: true })).rejects.toMatchObject(inUse);
  await expect(migrateStore(setup(dataDir))).rejects.toMatchObject(inUse);

  const beside = await openStore({ ...setup(dataDir), migrate: false });
  expect(await beside.users.byNameOrAddress('spender')).toMatchObject({ username: 'spender' });
  await beside.options.put('from-a-command', 'x');
  expect(await beside.options.get('from-a-command')).toBe('x');
  await beside.close();

  child.kill('SIGKILL');
  await child.exited;
  const next = await openStore({ ...setup(dataDir), exclusive: true });
  await expect(openStore({ ...setup(dataDir), exclusive: true })).rejects.toMatchObject(inUse);
  await next.close();
  await (await openStore({ ...setup(dataDir), exclusive: true })).close();
});

test('killed in the middle of writing: whatever was answered is there, complete, and the money adds up', async () => {
  const dataDir = newFolder();
  const { child, lines } = run(holdDataDir(dataDir));
  await until(() => lines.length > 200);
  child.kill('SIGKILL');
  await child.exited;
  const store = await openStore(setup(dataDir));
  const kept = new Set((await store.options.all()).map(({ key }) => key));
  for (const taskId of lines.slice(1)) expect(kept.has(taskId)).toBe(true);
  const user = await store.users.byNameOrAddress('spender');
  expect(user?.quota).toBe(1_000_000_000 - 7 * kept.size);
  expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  await store.close();
});

test('a disk without room: works are refused with advice, nothing of them stays, reading goes on, and room heals it', async () => {
  const dataDir = newFolder();
  // A file may grow to 2 MiB (1024-byte blocks); the signal that a longer one brings is ignored, so
  // that writing fails instead.
  const limited = `trap '' XFSZ; ulimit -S -f 2048; exec "$@"`;
  const { child, lines } = run(['bash', '-c', limited, 'bash', ...writeUntilFull(dataDir)]);
  const events = () =>
    lines.map(
      (line) =>
        JSON.parse(line) as {
          event: string;
          keys?: string[];
          told?: string[][];
          reads?: number;
          fault?: string | null;
        },
    );
  await until(() => events().some(({ event }) => event === 'refused'));
  const refused = events().find(({ event }) => event === 'refused');
  for (const [code, message] of refused?.told ?? []) {
    expect(code).toBe('store.unavailable');
    expect(message).toMatch(/free space|Free some space/);
  }
  const durable = events().flatMap(({ keys }) => keys ?? []);
  expect(refused?.reads).toBeGreaterThan(0);
  expect(refused?.fault).toMatch(/free space|Free some space/);
  expect(child.exitCode).toBeNull();

  Bun.spawnSync(['prlimit', `--pid=${child.pid}`, '--fsize=unlimited']);
  await until(() => events().some(({ event }) => event === 'done'));
  expect(events().find(({ event }) => event === 'done')?.fault).toBeNull();
  const store = await openStore(setup(dataDir));
  const kept = (await store.options.all()).map(({ key }) => key).sort();
  const written = events().flatMap(({ keys }) => keys ?? []);
  expect(written.length).toBeGreaterThan(durable.length);
  expect(kept).toEqual(written.sort());
  await store.close();
});

test('a commit that fails rejects the whole group and leaves nothing of it; the next group works', async () => {
  const file = new SqliteFile(':memory:');
  // A deferred constraint fails at the commit and not before.
  file.run('pragma foreign_keys = on; create table a (id integer primary key);');
  file.run('create table b (a integer references a (id) deferrable initially deferred)');
  const writer = createGroupCommit(file);
  const insert = (text: string) => writer.submit(async () => void file.run(text), true);
  const group = await Promise.allSettled([
    insert('insert into a values (1)'),
    insert('insert into b values (99)'),
    writer.submit(() => Promise.reject(new Error('its own')), true),
    insert('insert into a values (2)'),
  ]);
  expect(group.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
  expect(group[2]).toMatchObject({ reason: { message: 'its own' } });
  expect(file.query('select * from a').values()).toEqual([]);
  await insert('insert into a values (3)');
  expect(file.query('select * from a').values()).toEqual([[3]]);
  await writer.close();
  await expect(insert('insert into a values (4)')).rejects.toMatchObject({ code: 'store.unavailable' });
  file.close();
});

test('a commit is answered once it is on the disk; transactions that arrive in the meantime share the next commit', async () => {
  const file = new SqliteFile(':memory:');
  file.run('create table a (id integer primary key)');
  const flushes: (() => void)[] = [];
  const writer = createGroupCommit(file, { flush: () => new Promise((resolve) => flushes.push(resolve)) });
  const answered: number[] = [];
  const insert = (id: number) =>
    writer.submit(async () => void file.run(`insert into a values (${id})`), true).then(() => answered.push(id));
  const first = insert(1);
  await until(() => flushes.length === 1);
  const others = [insert(2), insert(3)];
  await Bun.sleep(0);
  expect(answered).toEqual([]);
  flushes[0]?.();
  await first;
  expect(answered).toEqual([1]);
  await until(() => flushes.length === 2);
  flushes[1]?.();
  await Promise.all(others);
  expect(flushes).toHaveLength(2);
  expect(file.query('select id from a').values()).toEqual([[1], [2], [3]]);
  await writer.close();
  file.close();
});

test('a commit is answered as soon as it is on the disk, whatever the next one takes', async () => {
  const file = new SqliteFile(':memory:');
  const flushes: (() => void)[] = [];
  const writer = createGroupCommit(file, { flush: () => new Promise((resolve) => flushes.push(resolve)) });
  const answered: string[] = [];
  const { promise: end, resolve: endSlow } = Promise.withResolvers<void>();
  const quick = writer.submit(async () => {}, true).then(() => answered.push('quick'));
  await until(() => flushes.length === 1);
  const slow = writer.submit(() => end, true).then(() => answered.push('slow'));
  flushes[0]?.();
  await quick;
  expect(answered).toEqual(['quick']);
  endSlow();
  await until(() => flushes.length === 2);
  flushes[1]?.();
  await slow;
  await writer.close();
  file.close();
});

test('a disk that does not take a commit: the outcome is unknown, and the log starts over before the next is answered', async () => {
  const dataDir = newFolder();
  const file = new SqliteFile(join(dataDir, 'taskgate.db'));
  file.run('pragma journal_mode = wal');
  file.run('create table a (id integer primary key)');
  let fails = true;
  const log = createLogFlush(file, async () => {
    if (fails) throw Object.assign(new Error('i/o error'), { code: 'EIO' });
  });
  const writer = createGroupCommit(file, { flush: log?.flush });
  const insert = (id: number) => writer.submit(async () => void file.run(`insert into a values (${id})`), true);
  await expect(insert(1)).rejects.toMatchObject({
    code: 'store.outcome_unknown',
    message: expect.stringContaining('check the disk'),
  });
  expect(writer.fault()?.message).toContain('check the disk');
  fails = false;
  await insert(2);
  expect(writer.fault()).toBeUndefined();
  // What the log held went into the database before.
  const copy = join(newFolder(), 'taskgate.db');
  writeFileSync(copy, readFileSync(join(dataDir, 'taskgate.db')));
  const kept = new SqliteFile(copy);
  expect(kept.query('select id from a').values()).toEqual([[1], [2]]);
  kept.close();
  await writer.close();
  log?.close();
  file.close();
});

test('without a write-ahead log SQLite flushes each commit itself', () => {
  const synchronous = (file: SqliteFile) => file.query('pragma synchronous').values();
  const file = new SqliteFile(join(newFolder(), 'taskgate.db'));
  file.run('pragma synchronous = full');
  expect(createLogFlush(file)).toBeUndefined();
  expect(synchronous(file)).toEqual([[2]]);
  file.run('pragma journal_mode = wal');
  createLogFlush(file)?.close();
  expect(synchronous(file)).toEqual([[1]]);
  file.close();
});

test('reads of one turn of the event loop share a snapshot; own commits are seen at once, others in the next turn', async () => {
  const path = join(newFolder(), 'taskgate.db');
  const [own, other, reading] = [new SqliteFile(path), new SqliteFile(path), new SqliteFile(path)];
  own.run('pragma journal_mode = wal');
  own.run('create table a (id integer primary key)');
  const snapshot = createReadSnapshot(reading, (text) => reading.query(text).values().flat());
  const writer = createGroupCommit(own, { beforeCommit: snapshot.end });
  // As many reads as make a snapshot worthwhile.
  const seen = () => [1, 2, 3, 4].map(() => snapshot.read('select id from a', [])).pop();
  expect(seen()).toEqual([]);
  await writer.submit(async () => void own.run('insert into a values (1)'), false);
  expect(seen()).toEqual([1]);
  other.run('insert into a values (2)');
  expect(seen()).toEqual([1]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen()).toEqual([1, 2]);
  expect(() => snapshot.read('select nothing', [])).toThrow();
  expect(seen()).toEqual([1, 2]);
  snapshot.end();
  // After a snapshot that few reads shared, reads lock for themselves.
  snapshot.read('select 1', []);
  snapshot.end();
  expect(seen()).toEqual([1, 2]);
  other.run('insert into a values (3)');
  expect(seen()).toEqual([1, 2, 3]);
  // No lock is left: the log can start over.
  expect(own.query('pragma wal_checkpoint(truncate)').values()[0]?.[0]).toBe(0);
  await writer.close();
  for (const file of [own, other, reading]) file.close();
});

test('transactions that wait together share one commit, at most 64 of them', async () => {
  const file = new SqliteFile(':memory:');
  file.run('create table a (id integer primary key)');
  const begun: string[] = [];
  const counted = new Proxy(file, {
    get(target, name) {
      if (name === 'query')
        return (text: string) => {
          begun.push(text);
          return target.query(text);
        };
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const writer = createGroupCommit(counted);
  await Promise.all(
    Array.from({ length: 130 }, (_, i) =>
      writer.submit(async () => void file.run(`insert into a values (${i})`), true),
    ),
  );
  expect(begun.filter((text) => text === 'begin immediate')).toHaveLength(3);
  expect(begun.filter((text) => text === 'commit')).toHaveLength(3);
  expect(file.query('select count(*) from a').values()).toEqual([[130]]);
  await writer.close();
  file.close();
});

test('a transaction that never ends is given up and undone, and holds up nobody for long', async () => {
  const file = new SqliteFile(':memory:');
  file.run('create table a (id integer primary key)');
  const guard = createTransactionGuard(50);
  const writer = createGroupCommit(file);
  const stuck = writer.submit(
    () =>
      guard.run({ open: true, failure: undefined }, async () => {
        file.run('insert into a values (1)');
        await new Promise(() => undefined);
      }),
    true,
  );
  const next = writer.submit(async () => void file.run('insert into a values (2)'), true);
  await expect(stuck).rejects.toMatchObject({ code: 'store.misused' });
  await next;
  expect(file.query('select id from a').values()).toEqual([[2]]);
  await writer.close();
  file.close();
});

test('another process that holds the file too long makes a write unavailable, not the process dead', async () => {
  const dataDir = newFolder();
  const store = await openStore(setup(dataDir));
  const other = new SqliteFile(join(dataDir, 'taskgate.db'));
  other.run('begin immediate');
  await expect(store.options.put('k', 'v')).rejects.toMatchObject({
    code: 'store.unavailable',
    message: expect.stringContaining('Another process'),
  });
  expect(await store.options.get('k')).toBeUndefined();
  other.run('rollback');
  await store.options.put('k', 'v');
  other.close();
  await store.close();
});

test('a write waits for the lock of another process, and other work runs in the meantime', async () => {
  const dataDir = newFolder();
  const store = await openStore(setup(dataDir));
  const other = new SqliteFile(join(dataDir, 'taskgate.db'));
  other.run('begin immediate');
  let isStored = false;
  const write = store.options.put('k', 'v').then(() => {
    isStored = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await Bun.sleep(1);
  expect(isStored).toBe(false);
  other.run('rollback');
  await write;
  other.close();
  await store.close();
});

test('a data directory that cannot be made, or a file that is not a database, is said plainly', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'file'), '');
  await expect(openStore(setup(join(folder, 'file', 'data')))).rejects.toMatchObject({
    code: 'store.unavailable',
    message: expect.stringContaining('cannot be written'),
  });
  const damaged = newFolder();
  writeFileSync(join(damaged, 'taskgate.db'), 'this is not a database, '.repeat(100));
  await expect(openStore(setup(damaged))).rejects.toMatchObject({
    code: 'store.unavailable',
    message: expect.stringContaining('taskgate backup restore'),
  });
});
