/** A PostgreSQL server of the test's own, of which a page of a table's file is overwritten. */
import { expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { migrateStore, moveDatabase, openStore, salvagePostgres } from '../../src/store/index.ts';
import { addUser } from '../support/add-user.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const OPTIONS = 400;
const PAGE = 8192;
const common = { synchronous: 'FULL', clock: systemClock, logger: silentLogger } as const;

test('what stands around a broken page is read, and moves into a new database', async () => {
  const server = await startOwnPostgres();
  const place = { databaseUrl: server.url, dataDir: '' };
  await migrateStore({ ...common, ...place });
  const store = await openStore({ ...common, ...place });
  const user = await addUser(store, { balance: 700 });
  for (let number = 1; number <= OPTIONS; number += 1) await store.options.put(`key ${number}`, 'x'.repeat(200));
  await store.close();

  const sql = new SQL({ url: server.url, max: 1 });
  await sql`checkpoint`;
  const [file] = await sql`select pg_relation_filepath('options') as path, current_setting('data_directory') as base`;
  await sql.close();
  await server.kill();
  const path = join(file.base, file.path);
  const pages = readFileSync(path).length / PAGE;
  expect(pages).toBeGreaterThan(5);
  const opened = openSync(path, 'r+');
  writeSync(opened, Buffer.alloc(PAGE, 0xff), 0, PAGE, 3 * PAGE);
  closeSync(opened);
  await server.restart();

  const to = join(temporaryFolder(), 'salvaged');
  try {
    const tables = await salvagePostgres({ databaseUrl: server.url, to, now: systemClock.unix() });
    const options = tables.find(({ table }) => table === 'options');
    expect(options?.gaps).toBe(1);
    expect(options?.rows).toBeGreaterThan(OPTIONS * (1 - 2 / pages));
    expect(options?.rows).toBeLessThan(OPTIONS);
    expect(tables.filter(({ gaps, rows, put }) => gaps > 0 || put < rows).map(({ table }) => table)).toEqual([
      'options',
    ]);
    expect(readFileSync(join(to, 'users.jsonl'), 'utf8')).toContain(`"username":"${user.username}"`);
    await expect(salvagePostgres({ databaseUrl: server.url, to, now: 0 })).rejects.toThrow('is not empty');
  } finally {
    await server.kill();
  }

  const target = { databaseUrl: await testDatabaseUrl(), dataDir: '' };
  await moveDatabase({ from: { databaseUrl: '', dataDir: to }, to: target, clock: systemClock, logger: silentLogger });
  const moved = await openStore({ ...common, ...target });
  expect(await moved.users.byId(user.id)).toMatchObject({ username: user.username });
  expect((await moved.ledger.imbalances(5)).wallets).toEqual([]);
  expect(await moved.options.get('key 400')).toBe('x'.repeat(200));
  await moved.close();
});

test('a database of an earlier version is refused: what migrations move would get lost', async () => {
  const databaseUrl = await testDatabaseUrl();
  await migrateStore({ ...common, databaseUrl, dataDir: '' });
  const sql = new SQL({ url: databaseUrl, max: 1 });
  await sql`delete from schema_migrations where number = (select max(number) from schema_migrations)`;
  await sql.close();
  const to = join(temporaryFolder(), 'salvaged');
  await expect(salvagePostgres({ databaseUrl, to, now: 0 })).rejects.toThrow('Run the program that last served it.');
});
