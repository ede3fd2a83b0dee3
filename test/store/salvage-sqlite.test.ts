import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { checkSqliteDatabase, findDamage, openStore, replaceSqlite, salvageSqlite } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROWS = 400;

async function createDamaged(): Promise<{ dataDir: string; page: number; pageSize: number }> {
  const dataDir = temporaryFolder();
  const store = await openStore({
    ...{ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  for (let number = 1; number <= ROWS; number += 1) await store.options.put(`key ${number}`, 'x'.repeat(200));
  await store.close();
  const file = new Database(join(dataDir, 'taskgate.db'));
  // A key that was deleted: other rows may name it.
  file.run("insert into sqlite_sequence (name, seq) values ('api_keys', 77)");
  file.run('create table numbered (id integer primary key, words text)');
  for (let id = 1; id <= ROWS; id += 1)
    file.query('insert into numbered values (?, ?)').run(id, `${id} ${'y'.repeat(200)}`);
  file.query('pragma wal_checkpoint(truncate)').values();
  const [[pageSize]] = file.query('pragma page_size').values() as [[number]];
  file.close();
  // The page where the words of the row 200 stand.
  const bytes = readFileSync(join(dataDir, 'taskgate.db'));
  return { dataDir, page: Math.floor(bytes.indexOf('200 yyyy') / pageSize), pageSize };
}

function overwrite(dataDir: string, at: number, length: number): void {
  const file = openSync(join(dataDir, 'taskgate.db'), 'r+');
  writeSync(file, Buffer.alloc(length, 0xff), 0, length, at);
  closeSync(file);
}

test('what stands around a broken page is read, and the new database takes the place of the old one', async () => {
  const { dataDir, page, pageSize } = await createDamaged();
  overwrite(dataDir, page * pageSize, pageSize);
  const before = readFileSync(join(dataDir, 'taskgate.db'));
  const rests: number[] = [];
  const { faults } = await findDamage({ databaseUrl: '', dataDir }, async () => void rests.push(1));
  expect(faults.join()).toMatch(/malformed|numbered|page/i);
  expect(rests.length).toBeGreaterThan(10);

  const to = join(temporaryFolder(), 'salvaged');
  const tables = salvageSqlite({ dataDir, to, now: systemClock.unix() });
  expect(tables.find(({ table }) => table === 'options')).toMatchObject({ rows: ROWS, gaps: 0, put: ROWS });
  // Other rows stand on the same page: it holds about twenty.
  const numbered = tables.find(({ table }) => table === 'numbered');
  expect(numbered).toMatchObject({ gaps: 1, put: 0 });
  const read = readFileSync(join(to, 'numbered.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(read.length).toBeGreaterThan(ROWS - 50);
  expect([read[0], read.at(-1), read.includes(200)]).toEqual([1, ROWS, false]);
  expect(readFileSync(join(dataDir, 'taskgate.db')).equals(before)).toBe(true);

  expect(checkSqliteDatabase(to)).toEqual([]);
  const salvaged = new Database(join(to, 'taskgate.db'));
  expect(salvaged.query("select seq from sqlite_sequence where name = 'api_keys'").values()).toEqual([[77]]);
  salvaged.close();
  replaceSqlite({ dataDir, file: join(to, 'taskgate.db'), now: systemClock.unix() });
  const store = await openStore({
    ...{ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  expect(await store.options.get('key 7')).toBe('x'.repeat(200));
  await store.close();
});

test('a folder that is not empty is refused, and so is a database without its first page', async () => {
  const { dataDir, pageSize } = await createDamaged();
  expect(() => salvageSqlite({ dataDir, to: dataDir, now: 0 })).toThrow('is not empty');
  overwrite(dataDir, 0, pageSize);
  expect(() => salvageSqlite({ dataDir, to: join(temporaryFolder(), 'new'), now: 0 })).toThrow('restore a backup');
});

test.each([
  ['an earlier', 'delete from schema_migrations where number = (select max(number) from schema_migrations)'],
  ['a later', "insert into schema_migrations values (9999, 'later', 0)"],
])('a database of %s version is refused: what migrations move would get lost', async (_, statement) => {
  const { dataDir } = await createDamaged();
  const file = new Database(join(dataDir, 'taskgate.db'));
  file.run(statement);
  file.close();
  const to = join(temporaryFolder(), 'new');
  const salvage = () => salvageSqlite({ dataDir, to, now: 0 });
  expect(salvage).toThrow('Run the program that last served it.');
  expect(readdirSync(to)).toEqual([]);
  const again = new Database(join(dataDir, 'taskgate.db'));
  again.run('drop table schema_migrations');
  again.close();
  expect(salvage().find(({ table }) => table === 'options')).toMatchObject({ rows: ROWS, put: ROWS });
});
