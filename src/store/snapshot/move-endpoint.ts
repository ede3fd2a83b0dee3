import { type SQLQueryBindings, Database as SqliteFile } from 'bun:sqlite';
import type { SQL } from 'bun';
import { getTableColumns, getTableName } from 'drizzle-orm';
import { newSqliteDatabase } from '../../../migrations/index.ts';
import { connectPostgres, READER_DEADLINES } from '../postgres/open-postgres.ts';
import { tablesFor } from '../schema/index.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';

/** A table as both dialects have it: the same names, and the same values but for booleans. */
export type MovedTable = { name: string; columns: string[]; booleans: ReadonlySet<string> };
export type MovedRow = (string | number | boolean | null)[];

/** Parameters of one statement; PostgreSQL takes 65,535. */
const MAX_PARAMETERS = 20_000;
/** Tables in which a running gateway describes itself. */
const LEFT_OUT = ['nodes'];

/** One of the two databases of a move, below the store: raw rows, without triggers. */
export type MoveEndpoint = {
  dialect: 'sqlite' | 'postgres';
  run(text: string, params?: readonly unknown[]): Promise<unknown[][]>;
  /** The next rows in the order of their key, after the row `after`. */
  read(table: MovedTable, page: { after: MovedRow | undefined; limit: number }): Promise<MovedRow[]>;
  /** Inserts rows; rows that exist stay as they are. */
  write(table: MovedTable, rows: readonly MovedRow[]): Promise<void>;
  /** Stops the triggers, whose own rows are moved as well. */
  stopTriggers(): Promise<void>;
  /** Starts the triggers again, and lets new ids begin behind those of the moved rows. */
  finish(): Promise<void>;
  close(): Promise<void>;
};

/** The tables that are moved, in the order of the schema: what others refer to comes first. */
export const movedTables = (): MovedTable[] =>
  Object.values(tablesFor('sqlite'))
    .map((table) => {
      const columns = Object.values(getTableColumns(table));
      return {
        name: getTableName(table),
        columns: columns.map(({ name }) => name),
        booleans: new Set(columns.filter(({ dataType }) => dataType === 'boolean').map(({ name }) => name)),
      };
    })
    .filter(({ name }) => !LEFT_OUT.includes(name));

export async function openMoveEndpoint(place: { databaseUrl: string; dataDir: string }): Promise<MoveEndpoint> {
  return place.databaseUrl === '' ? openSqliteEndpoint(place.dataDir) : openPostgresEndpoint(place.databaseUrl);
}

function openSqliteEndpoint(dataDir: string): MoveEndpoint {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  file.run('pragma foreign_keys = off');
  file.run('pragma synchronous = full');
  const run: MoveEndpoint['run'] = async (text, params = []) =>
    file.query(text).values(...(params as SQLQueryBindings[])) ?? [];
  const triggers = async () =>
    (await run("select name, sql from sqlite_master where type = 'trigger'")).map(([name, sql]) => [
      String(name),
      String(sql),
    ]);
  const keys = rememberKeys(async (table) =>
    (await run('select name from pragma_table_info(?) where pk > 0 order by pk', [table])).map(([name]) =>
      String(name),
    ),
  );
  return {
    dialect: 'sqlite',
    run,
    read: (table, page) => readPage(run, table, { ...page, key: keys(table.name), parameter: () => '?' }),
    write: (table, rows) => writeRows({ run, parameter: () => '?' }, table, rows),
    async stopTriggers() {
      for (const [name] of await triggers()) file.run(`drop trigger "${name}"`);
    },
    async finish() {
      const fresh = new SqliteFile(':memory:');
      fresh.run(newSqliteDatabase);
      const wanted = fresh.query("select name, sql from sqlite_master where type = 'trigger'").values();
      fresh.close();
      const there = new Set((await triggers()).map(([name]) => name));
      for (const [name, sql] of wanted) if (!there.has(String(name))) file.run(String(sql));
      file.query('pragma wal_checkpoint(truncate)').values();
    },
    close: async () => file.close(),
  };
}

function openPostgresEndpoint(databaseUrl: string): MoveEndpoint {
  const sql: SQL = connectPostgres(databaseUrl, 1, READER_DEADLINES);
  const run: MoveEndpoint['run'] = async (text, params = []) =>
    (await sql.unsafe(text, [...params]).values()) as unknown[][];
  const keys = rememberKeys(async (table) => {
    const found = await run(
      `select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any (indkey)
      where indrelid = to_regclass($1) and indisprimary order by array_position(indkey::int2[], attnum)`,
      [`"${table}"`],
    );
    return found.map(([name]) => String(name));
  });
  const forEachTable = async (act: (table: MovedTable) => Promise<unknown>) => {
    for (const table of movedTables()) await act(table);
  };
  return {
    dialect: 'postgres',
    run,
    read: (table, page) => readPage(run, table, { ...page, key: keys(table.name), parameter: (at) => `$${at}` }),
    write: (table, rows) => writeRows({ run, parameter: (at) => `$${at}` }, table, rows),
    stopTriggers: () => forEachTable(({ name }) => run(`alter table "${name}" disable trigger user`)),
    async finish() {
      await forEachTable(({ name }) => run(`alter table "${name}" enable trigger user`));
      const numbered = await run(
        `select table_name from information_schema.columns
        where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'`,
      );
      for (const [name] of numbered)
        await run(
          `select setval(pg_get_serial_sequence('"${name}"', 'id'), (select greatest(coalesce(max(id), 0), 1) from "${name}"),
            exists (select 1 from "${name}"))`,
        );
      await run('analyze');
    },
    close: () => sql.close(),
  };
}

/** The columns of a table's primary key, read once. */
function rememberKeys(read: (table: string) => Promise<string[]>): (table: string) => Promise<string[]> {
  const known = new Map<string, Promise<string[]>>();
  return (table) => {
    const key = known.get(table) ?? read(table);
    known.set(table, key);
    return key;
  };
}

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

async function readPage(
  run: MoveEndpoint['run'],
  table: MovedTable,
  page: {
    after: MovedRow | undefined;
    limit: number;
    key: Promise<string[]>;
    parameter: (at: number) => string;
  },
): Promise<MovedRow[]> {
  const key = await page.key;
  const after = page.after && key.map((name) => page.after?.[table.columns.indexOf(name)]);
  const where = after ? ` where (${list(key)}) > (${after.map((_, at) => page.parameter(at + 1)).join(', ')})` : '';
  const found = await run(
    `select ${list(table.columns)} from "${table.name}"${where} order by ${list(key)} limit ${page.limit}`,
    after ?? [],
  );
  return found.map((row) => row.map(toValue));
}

/** Numbers beyond 32 bits come as text or bigint from some drivers. */
const toValue = (value: unknown): MovedRow[number] =>
  typeof value === 'bigint' ? Number(value) : value === undefined ? null : (value as MovedRow[number]);

async function writeRows(
  { run, parameter }: { run: MoveEndpoint['run']; parameter: (at: number) => string },
  { name, columns }: MovedTable,
  rows: readonly MovedRow[],
): Promise<void> {
  const most = Math.max(1, Math.floor(MAX_PARAMETERS / columns.length));
  for (let from = 0; from < rows.length; from += most) {
    const part = rows.slice(from, from + most);
    const places = part.map(
      (_, row) => `(${columns.map((_column, at) => parameter(row * columns.length + at + 1)).join(', ')})`,
    );
    await run(
      `insert into "${name}" (${list(columns)}) values ${places.join(', ')} on conflict do nothing`,
      part.flat(),
    );
  }
}
