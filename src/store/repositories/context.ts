import { fillPlaceholders, getTableColumns, type SQL, type SQLWrapper, sql, type Table } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../../kernel/index.ts';
import { bindDatabase, type Database, type RunStatement, storable } from '../drivers/connection.ts';
import type { Page, Paged, Store } from '../ports/index.ts';
import type { Tables } from '../schema/index.ts';

/**
 * What repositories are made of: a query builder and the few things that the dialects do not share.
 */
export type Context = {
  dialect: Store['dialect'];
  db: Database;
  tables: Tables;
  /**
   * Now in milliseconds, by the store's clock. A query that uses it is executed with `...now()`
   * among its values.
   */
  nowMs: SQL<number>;
  now: () => Record<string, number>;
  /**
   * Whether `column` is not among the integers of the placeholder `name`, whose value is a JSON
   * array as text.
   */
  notAmong: (column: SQL, name: string) => SQL;
  /**
   * The elements of the JSON array that is the value of the placeholder `name`, as rows of one JSON
   * column.
   */
  elements: (name: string) => SQL;
  /**
   * Whether `column` is among the rows of `query`, a select with a limit from the very table that
   * is written. Rows that another node is writing at the moment are passed over, so that nobody
   * waits.
   */
  amongRows: (column: SQLWrapper, query: SQL) => SQL;
  /**
   * At the end of a select: nobody else changes its rows until the transaction ends. (Not a shared
   * lock: two who held one and then wrote would wait for each other.)
   */
  holdRows: SQL;
  /** Runs a statement that the builder cannot say. */
  statement: (query: SQL) => Promise<unknown[][]>;
  /**
   * The same for a statement that runs often: its text is made once, `values` fill its
   * placeholders.
   */
  prepare: (query: SQL) => (values: Record<string, unknown>) => Promise<unknown[][]>;
  /**
   * Holds others off who take the same name until the transaction ends. SQLite has one writer
   * anyway.
   */
  lock: (name: string) => Promise<void>;
};

/** What a context is made from. `run` gets text and parameters as the builder made them. */
export type ContextDeps = { dialect: Store['dialect']; tables: Tables; clock: Clock; run: RunStatement };

export function createContext({ dialect, tables, clock, run: runRaw }: ContextDeps): Context {
  const run: RunStatement = (text, params) => runRaw(text, params.map(storable));
  const db = bindDatabase(dialect, run);
  const writer = dialect === 'sqlite' ? new SQLiteAsyncDialect() : new PgDialect();
  const prepare: Context['prepare'] = (query) => {
    const { sql: text, params } = writer.sqlToQuery(query);
    return (values) => run(text, fillPlaceholders(params, values));
  };
  if (dialect === 'sqlite') {
    return {
      dialect,
      db,
      tables,
      nowMs: sql<number>`${sql.placeholder('nowMs')}`,
      now: () => ({ nowMs: clock.nowMs() }),
      notAmong: (column, name) => sql`${column} not in (select value from json_each(${sql.placeholder(name)}))`,
      elements: (name) => sql`json_each(${sql.placeholder(name)})`,
      amongRows: (column, query) => sql`${column} in (${query})`,
      // There is one writer anyway.
      holdRows: sql``,
      statement: (query) => db.values(query),
      prepare,
      lock: () => Promise.resolve(),
    };
  }
  // The PostgreSQL builder behind the shared type runs plain statements by another name.
  const plain = db as unknown as { execute(query: SQL): Promise<unknown[][]> };
  return {
    dialect,
    db,
    tables,
    // A sub-select is evaluated once and may bound an index scan; a bare volatile function may not.
    nowMs: sql<number>`(select (extract(epoch from clock_timestamp()) * 1000)::bigint)`,
    now: () => ({}),
    notAmong: (column, name) =>
      sql`${column} not in (select value::bigint from json_array_elements_text(${sql.placeholder(name)}::text::json))`,
    elements: (name) => sql`json_array_elements(${sql.placeholder(name)}::text::json)`,
    // An array is filled once; a sub-select with a limit might be evaluated, and lock rows, several
    // times.
    amongRows: (column, query) => sql`${column} = any(array(${query} for update skip locked))`,
    holdRows: sql`for no key update`,
    statement: (query) => plain.execute(query),
    prepare,
    lock: async (name) => {
      await run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
    },
  };
}

/** Builds a prepared query when it is first needed: building takes as long as running it does. */
export function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/**
 * Reads rows of all columns of a table, in their order, as the builder does: for statements that
 * bring hundreds, of which the builder's own reading takes as long as the database.
 */
export function createRowReader<Row>(table: Table): (row: readonly unknown[]) => Row {
  const columns = Object.entries(getTableColumns(table));
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const [index, [name, column]] of columns.entries())
      record[name] = row[index] === null ? null : column.mapFromDriverValue(row[index]);
    return record as Row;
  };
}

/** A typed placeholder for `set` and `values`, encoded as the column encodes. */
export const slot = (name: string, column: Parameters<typeof sql.param>[1]): SQL =>
  sql`${sql.param(sql.placeholder(name), column)}`;

/**
 * Text for a JSON document of which the database shall give it back: PostgreSQL refuses NUL and
 * half a surrogate pair there.
 */
export const plainText = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** A change without a field to write, which the builder would refuse. */
export const isEmpty = (change: object): boolean => Object.values(change).every((value) => value === undefined);

/** `text` for a `like … escape '!'` pattern that finds it literally. */
export const escapeLike = (text: string): string => text.replace(/[!%_]/g, '!$&');

export const countAll = () => sql<number>`count(*)`.mapWith(Number);

/** One page of `items` and the count of all; `page.page` counts from 1. */
export async function paged<T>(
  page: Page,
  count: PromiseLike<{ total: number }[]>,
  items: (limit: number, offset: number) => PromiseLike<T[]>,
): Promise<Paged<T>> {
  const [counted, found] = await Promise.all([count, items(page.pageSize, (page.page - 1) * page.pageSize)]);
  return { total: counted[0]?.total ?? 0, items: found };
}
