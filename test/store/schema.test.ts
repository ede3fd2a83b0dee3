import { Database as SqliteFile } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type PgTable, getTableConfig as postgresConfig } from 'drizzle-orm/pg-core';
import { type SQLiteTable, getTableConfig as sqliteConfig } from 'drizzle-orm/sqlite-core';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { migrateStore } from '../../src/store/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Column = { name: string; type: string; notNull: boolean };
type Layout = Record<string, Column[]>;
const byName = <T extends { name: string }>(rows: T[]): T[] => rows.sort((a, b) => a.name.localeCompare(b.name));

let dataDir: string;
let sqlite: SqliteFile;
let postgres: SQL;

beforeAll(async () => {
  dataDir = temporaryFolder();
  const databaseUrl = await testDatabaseUrl();
  for (const url of ['', databaseUrl]) {
    const options = { dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger } as const;
    await migrateStore({ ...options, databaseUrl: url });
  }
  sqlite = new SqliteFile(join(dataDir, 'taskgate.db'));
  postgres = new SQL({ url: databaseUrl, max: 1 });
});
afterAll(async () => {
  sqlite.close();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
});

function definedLayout(dialect: 'sqlite' | 'postgres'): Layout {
  const layout: Layout = {};
  for (const table of Object.values(tablesFor(dialect))) {
    const { name, columns } =
      dialect === 'sqlite' ? sqliteConfig(table as SQLiteTable) : postgresConfig(table as unknown as PgTable);
    layout[name] = byName(
      columns.map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        notNull: column.notNull || column.primary,
      })),
    );
  }
  return layout;
}

function sqliteLayout(): Layout {
  const layout: Layout = {};
  const tables = sqlite
    .query("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    .values();
  for (const [table] of tables) {
    const rows = sqlite.query('select name, type, "notnull", pk from pragma_table_info(?)').values(String(table));
    layout[String(table)] = byName(
      rows.map(([name, type, notNull, pk]) => ({
        name: String(name),
        type: String(type).toLowerCase(),
        notNull: notNull === 1 || pk !== 0,
      })),
    );
  }
  return layout;
}

async function postgresLayout(): Promise<Layout> {
  const rows = (await postgres`
    select table_name, column_name, is_nullable,
      case when data_type = 'character varying' then 'varchar(' || character_maximum_length || ')' else data_type end as type
    from information_schema.columns where table_schema = 'public'`) as Record<string, string>[];
  const layout: Layout = {};
  for (const row of rows) {
    const table = row.table_name ?? '';
    layout[table] ??= [];
    layout[table].push({ name: row.column_name ?? '', type: row.type ?? '', notNull: row.is_nullable === 'NO' });
  }
  for (const columns of Object.values(layout)) byName(columns);
  return layout;
}

const withoutHistory = ({ schema_migrations: _, ...layout }: Layout): Layout => layout;

describe('the schema definition', () => {
  test('is what the SQLite migrations make', () => {
    expect(definedLayout('sqlite')).toEqual(withoutHistory(sqliteLayout()));
  });

  test('is what the PostgreSQL migrations make', async () => {
    expect(definedLayout('postgres')).toEqual(withoutHistory(await postgresLayout()));
  });

  test('has the same indexes in both dialects, unique or not', async () => {
    const lite = sqlite
      .query(
        "select name, sql like 'create unique%' from sqlite_master where type = 'index' and sql is not null order by name",
      )
      .values()
      .map(([name, unique]) => `${name} ${unique === 1}`);
    const pg = (await postgres`
      select c.relname as name, i.indisunique as unique from pg_index i join pg_class c on c.oid = i.indexrelid
      join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and not i.indisprimary
      order by c.relname collate "C"`) as { name: string; unique: boolean }[];
    expect(lite).toEqual(pg.map(({ name, unique }) => `${name} ${unique}`));
    expect(lite.length).toBeGreaterThan(20);
  });

  test('previous_refresh_hash does not pad', async () => {
    const column = (await postgresLayout()).user_sessions?.find(({ name }) => name === 'previous_refresh_hash');
    expect(column?.type).toBe('varchar(64)');
  });
});
