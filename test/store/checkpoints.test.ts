import { Database as SqliteFile } from 'bun:sqlite';
import { afterEach, expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { describeSqlite, readLog } from '../../src/store/sqlite/count-log-pages.ts';
import { scheduleCheckpoints } from '../../src/store/sqlite/schedule-checkpoints.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const MEGABYTE = 1024 * 1024;
/** The first one with which the log is copied. */
const DUE_MEGABYTES = 33;
const PAGES_OF_A_MEGABYTE = 256;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

function newDatabase(synchronous: 'FULL' | 'NORMAL') {
  const dataDir = temporaryFolder();
  folders.push(dataDir);
  const path = join(dataDir, 'taskgate.db');
  return {
    path,
    open: () => openStore({ databaseUrl: '', dataDir, synchronous, clock: systemClock, logger: silentLogger }),
    /** Pages that the log holds since it started over last. */
    countLogPages(): number {
      const file = new SqliteFile(path);
      const [, pages] = file.query('pragma wal_checkpoint(noop)').values()[0] ?? [];
      file.close();
      return Number(pages);
    },
  };
}

let written = 0;

/** A commit each. SQLite does not write pages that stay the same, so each value has its letter. */
async function write(store: Store, megabytes: number): Promise<void> {
  for (let i = 0; i < megabytes; i += 1) {
    written += 1;
    await store.options.put(`value-${i % 8}`, `${i} ${LETTERS[written % LETTERS.length]?.repeat(MEGABYTE)}`);
  }
}

for (const synchronous of ['FULL', 'NORMAL'] as const) {
  test(`another thread copies the write-ahead log, which starts over, and nothing of it is lost, ${synchronous}`, async () => {
    const { path, open, countLogPages } = newDatabase(synchronous);
    const store = await open();
    // Far less than SQLite lets gather before it copies the log itself, in this thread.
    await write(store, DUE_MEGABYTES);
    await until(async () => {
      await store.options.put('tick', `${performance.now()}`);
      return countLogPages() < DUE_MEGABYTES * PAGES_OF_A_MEGABYTE;
    });
    await write(store, 20);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);

    const file = new SqliteFile(path);
    expect(file.query('pragma integrity_check').values()).toEqual([['ok']]);
    file.close();
    const again = await open();
    expect(await again.options.get('value-3')).toStartWith('19 ');
    await again.close();
  });
}

test('while another process reads an old state commits go on; the log starts over when it has ended', async () => {
  const { path, open, countLogPages } = newDatabase('NORMAL');
  const store = await open();
  const reader = new SqliteFile(path);
  reader.run('begin');
  reader.query('select count(*) from options').values();
  await write(store, 80);
  expect(countLogPages()).toBeGreaterThan(80 * PAGES_OF_A_MEGABYTE);
  reader.run('commit');
  reader.close();
  await until(async () => {
    const before = countLogPages();
    await write(store, 4);
    return countLogPages() < before;
  });
  await store.close();
});

test('no commit waits for a copy that a reader of an old state holds up', async () => {
  const { path, open } = newDatabase('NORMAL');
  await (await open()).close();
  const [writer, reader] = [new SqliteFile(path), new SqliteFile(path)];
  writer.run('pragma wal_autocheckpoint = 0');
  const checkpoints = scheduleCheckpoints(writer, { clock: systemClock, logger: silentLogger });
  let pauses = 0;
  const commit = async (n: number) => {
    const pausing = checkpoints.pause();
    if (pausing) pauses += 1;
    await pausing;
    writer
      .query("insert or replace into options (key, value) values ('value-' || ?, ?)")
      .run(n % 8, `${n} ${LETTERS[n % LETTERS.length]?.repeat(MEGABYTE)}`);
    checkpoints.noteCommit();
    await Bun.sleep(1);
  };
  for (let n = 0; n < 8; n += 1) await commit(n);
  reader.run('begin');
  reader.query('select count(*) from options').values();
  for (let n = 0; n < 5 * DUE_MEGABYTES; n += 1) await commit(n);
  expect(pauses).toBe(0);
  reader.run('commit');
  reader.close();
  // Then the rest is copied while one commit waits, and the log starts over.
  let n = 0;
  await until(async () => {
    n += 1;
    await commit(n);
    return pauses > 0;
  });
  await checkpoints.close();
  writer.close();
});

test('the log itself tells as many pages as SQLite does, also after it started over', () => {
  const path = join(temporaryFolder(), 'x.db');
  const file = new SqliteFile(path);
  file.run('pragma journal_mode = wal');
  file.run('pragma wal_autocheckpoint = 0');
  file.run('create table t (a blob)');
  const log = readLog(`${path}-wal`);
  const checkpoint = (kind: string) => file.query(`pragma wal_checkpoint(${kind})`).values()[0] ?? [];
  const byLog = () => Object.values(log.count());
  for (let round = 0; round < 40; round += 1) {
    file.run('insert into t values (randomblob(?))', [(round % 7) * 9000]);
    if (round % 5 === 4) log.note(Number(checkpoint('passive')[2]));
    const [, pages, copied] = checkpoint('passive');
    if (round % 5 !== 4) log.note(Number(copied));
    expect(byLog()).toEqual([Number(copied), Number(pages) - Number(copied)]);
  }
  file.run('insert into t values (randomblob(20000))');
  const [copied = 0, left = 0] = byLog();
  expect(copied).toBe(0);
  expect(left).toBeGreaterThan(4);
  log.close();
  file.close();
});

test('sqlite: the doctor is told which version was loaded, and what it lacks', () => {
  const { version, lacks } = describeSqlite();
  expect(version).toMatch(/^3\.\d+\.\d+$/);
  expect(lacks).toHaveLength(Bun.semver.order(version, '3.51.0') < 0 ? 1 : 0);
});
