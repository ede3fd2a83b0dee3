import { Column, is, Param, Placeholder, type Query } from 'drizzle-orm';
import { PgDatabase, PgDialect } from 'drizzle-orm/pg-core';
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import type { Logger, Sentence } from '../../kernel/index.ts';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import type { LeaseBinding } from './memory-leases.ts';

/**
 * The query builder of the repositories. PostgreSQL's builder has the same methods as SQLite's, as
 * far as we use them.
 */
export type Database = BaseSQLiteDatabase<'async', unknown>;

/**
 * SQLite's planner looks at the value of a parameter that stands alone in a comparison (`x = 1` is
 * taken to be less selective than `x = 7`), and plans such a statement again for every new value:
 * a join by two keys took 18 µs instead of 2.5. It does not look behind a plus, which changes
 * neither type nor value. Conditions that a partial index needs are literals anyway.
 */
class StablePlanDialect extends SQLiteAsyncDialect {
  override escapeParam = (): string => '+?';
}

/**
 * The query builder over `run`, and the dialect that turns its queries into text.
 *
 * The session between them is ours: the builder's own SQLite driver commits asynchronous
 * transactions early, and its own PostgreSQL driver cannot keep prepared queries across
 * transactions.
 */
export function bindDatabase(
  dialect: 'sqlite' | 'postgres',
  run: RunStatement,
): { db: Database; writer: Pick<PgDialect, 'sqlToQuery'> } {
  const prepareQuery = (query: Query, fields: SelectedField[] | undefined) => new PreparedQuery(run, query, fields);
  // All that the builders of our repositories call.
  const session = { prepareQuery, prepareOneTimeQuery: prepareQuery } as never;
  if (dialect === 'sqlite') {
    const writer = new StablePlanDialect();
    return { db: new BaseSQLiteDatabase('async', writer, session, undefined), writer };
  }
  const writer = new PgDialect();
  return { db: new PgDatabase(writer, session, undefined) as unknown as Database, writer };
}

/**
 * Creates repositories over `run`. Without `memory`, task claims are stored in the rows, for
 * several processes. With `refuseLookUp`, callers share look-ups.
 */
export type BindRepositories = (run: RunStatement, memory?: LeaseBinding, refuseLookUp?: () => void) => Repositories;

/** An open database. */
export interface Driver {
  /** The repositories outside any transaction. */
  readonly root: Repositories;
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>;
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  publish(topic: ChangeTopic): Promise<void>;
  subscribe(listener: (topic: ChangeTopic) => void): () => void;
  /** As in `Store`; absent in a driver without a file of its own. */
  writeFault?(): Sentence | undefined;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The change listeners of this process. If one throws, that is logged and the others are still
 * called.
 */
export function createChangeListeners(logger: Logger) {
  const listeners = new Set<(topic: ChangeTopic) => void>();
  return {
    deliver(topic: ChangeTopic): void {
      for (const listener of [...listeners]) {
        try {
          listener(topic);
        } catch (error) {
          logger.error({ err: error, topic }, 'a listener for changes threw');
        }
      }
    },
    subscribe(listener: (topic: ChangeTopic) => void): () => void {
      // Wrapped, so that the same function can be subscribed twice.
      const entry = (topic: ChangeTopic) => listener(topic);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
}

/**
 * Runs one statement. Rows are arrays in the order of the selected columns; a plain write returns
 * none.
 */
export type RunStatement = (text: string, params: unknown[]) => Promise<unknown[][]>;

type Values = Record<string, unknown>;
type Row = readonly unknown[];

/** A column that a statement returns: where it stands in the record, and what decodes it. */
export type SelectedField = { path: string[]; field: unknown };

/**
 * One statement of the query builder: its placeholders and columns are looked at once, here. The
 * builder's own prepared queries look at them for every row, which takes longer than the database.
 */
export class PreparedQuery {
  /** The rows as the driver returned them. */
  readonly values: (values?: Values) => Promise<unknown[][]>;
  /** The rows as records; as the driver returned them where the statement selects no columns. */
  readonly execute: (values?: Values) => Promise<unknown[]>;

  constructor(run: RunStatement, { sql, params }: Query, fields: readonly SelectedField[] | undefined) {
    const bind = createBinder(params);
    const read = fields && createRowReader(fields);
    const values = (given: Values = {}) => run(sql, bind(given));
    this.values = values;
    this.execute = read ? async (given) => (await values(given)).map((row) => read(row)) : values;
  }

  /** What the builder calls when a statement is awaited without being prepared. */
  all = (): Promise<unknown[]> => this.execute();
  run = (): Promise<unknown[]> => this.execute();
  setToken = (): this => this;
}

/** Gives the parameters of a statement for the values of its placeholders. */
function createBinder(params: readonly unknown[]): (values: Values) => unknown[] {
  const slots = params.map((param) => {
    if (is(param, Placeholder)) return { name: param.name, encoder: undefined, constant: undefined };
    if (is(param, Param) && is(param.value, Placeholder))
      return { name: param.value.name, encoder: param.encoder, constant: undefined };
    return { name: undefined, encoder: undefined, constant: storable(param) };
  });
  return (values) => {
    const bound: unknown[] = [];
    for (const { name, encoder, constant } of slots) {
      if (name === undefined) {
        bound.push(constant);
        continue;
      }
      const value = values[name];
      if (value === undefined && !(name in values)) throw new Error(`The placeholder "${name}" has no value.`);
      bound.push(storable(encoder ? encoder.mapToDriverValue(value) : value));
    }
    return bound;
  };
}

/**
 * Replaces NUL in text. Clients can send it; PostgreSQL refuses it and SQLite's functions truncate
 * at it. U+FFFD matches nothing by accident.
 */
export const storable = (param: unknown): unknown =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\uFFFD') : param;

type Decoder = { mapFromDriverValue(value: unknown): unknown };
type Reader = (row: Row) => Record<string, unknown>;

/** Converts rows of `fields`, in their order, to records. Null stays null. */
function createRowReader(fields: readonly SelectedField[]): Reader {
  const ofIndex = fields.map(({ path, field }, index) => ({ path, index, decoder: findDecoder(field) }));
  return createReader(ofIndex, 0);
}

type IndexedField = { path: string[]; index: number; decoder: Decoder | undefined };

/** The reader of the objects at `depth` of the records. */
function createReader(fields: readonly IndexedField[], depth: number): Reader {
  const groups = Map.groupBy(fields, ({ path }) => path[depth] ?? '');
  const members = [...groups].map(([name, [first, ...others]]) => {
    const all = first ? [first, ...others] : [];
    const isObject = first !== undefined && first.path.length > depth + 1;
    return isObject
      ? { name, index: 0, decoder: undefined, read: createReader(all, depth + 1) }
      : { name, index: first?.index ?? 0, decoder: first?.decoder, read: undefined };
  });
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const { name, index, decoder, read } of members) {
      const value = read ? read(row) : row[index];
      record[name] = value === null || decoder === undefined ? value : decoder.mapFromDriverValue(value);
    }
    return record;
  };
}

/** `undefined` where the driver's value is the record's value. */
function findDecoder(field: unknown): Decoder | undefined {
  const decoder = is(field, Column) ? field : (field as { decoder: Decoder }).decoder;
  return decoder.mapFromDriverValue === Column.prototype.mapFromDriverValue ? undefined : decoder;
}
