/** What a restored database may hold besides its rows: nothing that acts by itself but ours. */
import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { migrateStore, removeForeignSchema, requireOwnSchema } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const fresh = temporaryFolder();
await migrateStore({
  databaseUrl: '',
  dataDir: fresh,
  synchronous: 'NORMAL',
  clock: systemClock,
  logger: silentLogger,
});

function databaseWith(...statements: string[]) {
  const dataDir = temporaryFolder();
  const path = join(dataDir, 'taskgate.db');
  copyFileSync(join(fresh, 'taskgate.db'), path);
  const file = new SqliteFile(path);
  for (const statement of statements) file.run(statement);
  file.close();
  return { dataDir, schema: () => schemaFor(path) };
}

function schemaFor(path: string): unknown[][] {
  const file = new SqliteFile(path, { readonly: true });
  const rows = file
    .query("select type, name, sql from sqlite_master where name not like 'sqlite%' order by 1, 2")
    .values();
  file.close();
  return rows;
}
const OWN = schemaFor(join(fresh, 'taskgate.db'));

test.each<[string, string[], string[]]>([
  [
    'a trigger',
    ['create trigger promote after insert on users begin update users set role = 100; end'],
    ['trigger promote'],
  ],
  ['a view', ['create view v as select * from users'], ['view v']],
  [
    'a trigger of a view',
    ['create view v as select 1 as a', 'create trigger t instead of insert on v begin delete from users; end'],
    ['view v', 'trigger t'],
  ],
  ['a virtual table', ['create virtual table f using fts5(a)'], ['table f']],
  [
    'ours with another body',
    [
      'drop trigger task_list_delete',
      'create trigger task_list_delete after delete on tasks begin delete from users; end',
    ],
    ['trigger task_list_delete'],
  ],
])('planted schema: %s of a backup is left out', (_, statements, names) => {
  const { dataDir, schema } = databaseWith(...statements);
  expect(removeForeignSchema(dataDir).sort()).toEqual([...names].sort());
  requireOwnSchema(dataDir);
  expect(schema().filter(([, name]) => !String(name).startsWith('f_'))).toEqual(OWN);
});

test.each<[string, string[]]>([
  [
    'a default that makes administrators',
    ['alter table users rename to u', 'create table users (id integer primary key, role integer not null default 100)'],
  ],
  [
    'a computed column',
    ["alter table users add column evil integer generated always as (json_extract('{}', '$')) virtual"],
  ],
  ['a check', ['alter table users add column evil integer check (evil is null)']],
])('planted schema: %s is refused', (_, statements) => {
  const { dataDir } = databaseWith(...statements);
  removeForeignSchema(dataDir);
  expect(() => requireOwnSchema(dataDir)).toThrow('The table users of the backup has another layout');
});

test('indexes of others go, those of a later version that was taken back stay, with its tables and columns', () => {
  const planted = databaseWith('create unique index only_one on users (role)', 'drop index task_list_user');
  requireOwnSchema(planted.dataDir);
  expect(planted.schema()).toEqual(OWN);
  const left = databaseWith(
    ...[
      'create table left_migrations (number integer primary key not null, name text not null)',
      'create table later (a text)',
    ],
    ...['alter table users add column later text', 'create index later_index on later (a)'],
  );
  expect(removeForeignSchema(left.dataDir)).toEqual([]);
  requireOwnSchema(left.dataDir);
  expect(left.schema().map(([, name]) => name)).toEqual(
    expect.arrayContaining(['later', 'later_index', 'left_migrations']),
  );
});
