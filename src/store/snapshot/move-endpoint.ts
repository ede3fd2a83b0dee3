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

/**
 * The last id that each table has given to a row. That row may be gone, and others still name it: a
 * new key or channel under its id would be taken for it.
 */
export type LastIds = ReadonlyMap<string, number>;

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
  lastIds(): Promise<LastIds>;
  /** Starts the triggers again, and lets new ids begin behind these and those of the moved rows. */
  finish(lastIds: LastIds): Promise<void>;
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
    lastIds: async () => readLastIds(file),
    async finish(lastIds) {
      const fresh = new SqliteFile(':memory:');
      fresh.run(newSqliteDatabase);
      const wanted = fresh.query("select name, sql from sqlite_master where type = 'trigger'").values();
      fresh.close();
      const there = new Set((await triggers()).map(([name]) => name));
      for (const [name, sql] of wanted) if (!there.has(String(name))) file.run(String(sql));
      keepLastIds(file, lastIds);
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
    lastIds: () => readPostgresLastIds(run),
    async finish(lastIds) {
      await forEachTable(({ name }) => run(`alter table "${name}" enable trigger user`));
      for (const [name] of await run(NUMBERED))
        await run(
          `select setval(pg_get_serial_sequence('"${name}"', 'id'), greatest(last, 1), last > 0)
            from (select greatest($1::bigint, coalesce(max(id), 0)) as last from "${name}") as ids`,
          [lastIds.get(String(name)) ?? 0],
        );
      await run('analyze');
    },
    close: () => sql.close(),
  };
}

/** Empty where the table is not there, as in a file that is no whole database. */
export function readLastIds(file: SqliteFile): LastIds {
  try {
    const rows = file.query('select name, seq from sqlite_sequence').values();
    return new Map(rows.map(([name, last]) => [String(name), Number(last)]));
  } catch {
    return new Map();
  }
}

export function keepLastIds(file: SqliteFile, lastIds: LastIds): void {
  for (const [name, last] of lastIds) {
    file.query('update sqlite_sequence set seq = max(seq, ?) where name = ?').run(last, name);
    file
      .query(
        `insert into sqlite_sequence (name, seq) select name, ? from sqlite_master
          where type = 'table' and name = ? and name not in (select name from sqlite_sequence)`,
      )
      .run(last, name);
  }
}

const NUMBERED = `select table_name from information_schema.columns
  where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'`;

export async function readPostgresLastIds(run: MoveEndpoint['run']): Promise<LastIds> {
  const lastIds = new Map<string, number>();
  for (const [name] of await run(NUMBERED)) {
    const [row] = await run(
      `select coalesce(pg_sequence_last_value(pg_get_serial_sequence('"${name}"', 'id')::regclass), 0)`,
    );
    lastIds.set(String(name), Number(row?.[0]));
  }
  return lastIds;
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
