import { or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import {
  batchCalls,
  CLOCK_LEEWAY_SECONDS,
  type Clock,
  ok,
  type Sentence,
  type StoredSentence,
  withoutMessage,
} from '../../kernel/index.ts';
import { bindDatabase, type Database, PreparedQuery, type RunStatement, storable } from '../drivers/connection.ts';
import type { Store } from '../ports/index.ts';
import type { Tables } from '../schema/index.ts';
import type { Select } from './prepare-by-shape.ts';

/**
 * What repositories are built from: a query builder and the few things in which the dialects
 * differ.
 */
export type Context = {
  dialect: Store['dialect'];
  db: Database;
  tables: Tables;
  /**
   * Now in milliseconds, by the store's clock, when the statement runs. Pass `...now()` among the
   * values when you execute a query that uses it.
   */
  nowMs: SQL<number>;
  now: () => Record<string, unknown>;
  lists: Lists;
  /**
   * Reads the few rows that are found by a value. `select` builds the query and selects as `sought`
   * what it compares by `isSought`, a text or `bigint`. On PostgreSQL the look-ups of one moment
   * are one statement, and callers that look for the same share the records: never change them.
   */
  lookUp: <Row extends Sought>(
    select: (isSought: (column: SQLWrapper) => SQL) => Select<Row>,
    type?: 'text' | 'bigint',
  ) => (value: Row['sought']) => Promise<Row[]>;
  /**
   * Ends a select that locks its rows until the transaction ends. (Not a shared lock: two
   * transactions that held one and then wrote would deadlock.)
   */
  lockRows: SQL;
  /** Runs a statement that the builder cannot express. */
  statement: (query: SQL) => Promise<unknown[][]>;
  /**
   * Prepares a statement that runs often: its text is built once, and `values` fill its
   * placeholders.
   */
  prepare: (query: SQL) => (values: Record<string, unknown>) => Promise<unknown[][]>;
  /**
   * `text` as names, addresses and searches compare it: A to Z in lower case, nothing else changed.
   * It is the same in both databases and under every collation; migration 0033 has the indexes.
   */
  fold: (text: SQLWrapper | string) => SQL;
  /** Locks `name` until the transaction ends. SQLite has only one writer and needs no lock. */
  lockName: (name: string) => Promise<void>;
};

/** Conditions and writes that take a list, which dialects pass differently. */
type Lists = {
  /**
   * A condition: `column` is not among the integers of the placeholder `name`, whose value is a
   * JSON array as text.
   */
  notAmong: (column: SQL, name: string) => SQL;
  /** A condition: `column` is among the integers of the placeholder `name`, as in `notAmong`. */
  amongIds: (column: SQLWrapper, name: string) => SQL;
  /** A condition: `column` is among the texts of the placeholder `name` (`encodeTexts`). */
  amongTexts: (column: SQLWrapper, name: string) => SQL;
  /**
   * The elements of a JSON array as rows of one JSON column. The array is the value of the
   * placeholder `name`.
   */
  elements: (name: string) => SQL;
  /**
   * The objects of a JSON array as rows of a table `name`, whose columns have the names of their
   * members; a member that is absent is null. The array is the value of the placeholder `name`.
   */
  records: (name: string, columns: RecordColumns) => SQL;
  /**
   * Prepares a statement that writes many records: `build` gets them as a table `name`, whose
   * columns have the names of their members; a member that is absent is null. It runs on PostgreSQL
   * once with all of them, and on SQLite, which has no round trips, once for each: values that are
   * bound take half the time of a document that the database takes apart.
   */
  prepareRecords: (
    records: { name: string; columns: RecordColumns },
    build: (records: SQL) => SQL,
  ) => (records: readonly StoredRecord[], values?: Record<string, unknown>) => Promise<unknown[][]>;
  /**
   * A condition: `column` is among the rows of `query`, a select with a limit from the table that
   * is written. Rows that another node is writing are skipped, so that nobody waits.
   */
  amongRows: (column: SQLWrapper, query: SQL) => SQL;
};

/** The columns of `records`, with PostgreSQL's types; SQLite takes the types of the values. */
export type RecordColumns = Record<string, 'text' | 'bigint' | 'integer' | 'boolean'>;

/** What a statement over `records` is given, by the names of its columns. */
export type StoredRecord = Readonly<Record<string, string | number | null | undefined>>;

/** The value by which a row of a look-up was sought. */
type Sought = { sought: string | number };

/**
 * What a context is created from. `run` gets text and parameters as the builder created them.
 * `refuseLookUp`: set where callers may share a look-up; it throws for one that may not.
 */
export type ContextDeps = {
  dialect: Store['dialect'];
  tables: Tables;
  clock: Clock;
  run: RunStatement;
  refuseLookUp?: (() => void) | undefined;
};

export function createContext({ dialect, tables, clock, run, refuseLookUp }: ContextDeps): Context {
  const { db, writer } = bindDatabase(dialect, run);
  const prepare: Context['prepare'] = (query) => new PreparedQuery(run, writer.sqlToQuery(query), undefined).values;
  const statement: Context['statement'] = (query) => prepare(query)({});
  if (dialect === 'sqlite') {
    return {
      dialect,
      db,
      tables,
      nowMs: sql<number>`${sql.placeholder('nowMs')}`,
      now() {
        // Deadlines that have to move with the clock do so before this statement.
        clock.nowMs();
        return { nowMs: clock.nowMs };
      },
      lists: {
        notAmong: (column, name) => sql`${column} not in (select value from json_each(${sql.placeholder(name)}))`,
        amongTexts: (column, name) => sql`${column} in (select value from json_each(${sql.placeholder(name)}))`,
        amongIds: (column, name) => sql`${column} in (select value from json_each(${sql.placeholder(name)}))`,
        elements: (name) => sql`json_each(${sql.placeholder(name)})`,
        records: (name, columns) => {
          // Materialized, or each member would have its object written as text once more.
          const members = Object.keys(columns).map((column) => `value ->> '${column}' as "${column}"`);
          return sql`(with objects as materialized (select value from json_each(${sql.placeholder(name)}))
            select ${sql.raw(members.join(', '))} from objects) as ${sql.raw(name)}`;
        },
        prepareRecords({ name, columns }, build) {
          const members = Object.keys(columns);
          const values = members.map((member) => sql`${sql.placeholder(member)} as ${sql.raw(`"${member}"`)}`);
          const write = prepare(build(sql`(select ${sql.join(values, sql`, `)}) as ${sql.raw(name)}`));
          const absent = Object.fromEntries(members.map((member) => [member, null]));
          return async (records, given) =>
            (await Promise.all(records.map((record) => write({ ...absent, ...record, ...given })))).flat();
        },
        amongRows: (column, query) => sql`${column} in (${query})`,
      },
      lookUp: lookUpAlone,
      // There is only one writer.
      lockRows: sql``,
      statement,
      prepare,
      fold: (text) => sql`lower(${text})`,
      lockName: () => Promise.resolve(),
    };
  }
  const lists: Lists = {
    notAmong: (column, name) =>
      sql`${column} <> all(array(select value::bigint from json_array_elements_text(${sql.placeholder(name)}::text::json)))`,
    amongTexts: (column, name) =>
      sql`${column} = any(array(select json_array_elements_text(${sql.placeholder(name)}::text::json)))`,
    amongIds: (column, name) =>
      sql`${column} = any(array(select value::bigint from json_array_elements_text(${sql.placeholder(name)}::text::json)))`,
    elements: (name) => sql`json_array_elements(${sql.placeholder(name)}::text::json)`,
    // It parses each object once; an operator for each member would parse it as often. The
    // condition holds always: with it PostgreSQL expects one row and not a hundred, and finds
    // the rows of a table by its index even if it planned the statement while that was small.
    records: (name, columns) => {
      const typed = Object.entries(columns).map(([column, type]) => `"${column}" ${type}`);
      const [[first, type] = ['', '']] = Object.entries(columns);
      const always = `"${first}" = "${first}" ${type === 'text' ? `|| ''` : '+ 0'}`;
      return sql`(select * from json_to_recordset(${sql.placeholder(name)}::text::json)
        as ${sql.raw(`${name}(${typed.join(', ')}) where ${always}`)}) as ${sql.raw(name)}`;
    },
    prepareRecords({ name, columns }, build) {
      const write = prepare(build(lists.records(name, columns)));
      return async (records, given) => {
        const written: unknown[][] = [];
        for (const group of groupBySize(records.map((record) => JSON.stringify(record))))
          written.push(...(await write({ [name]: `[${group.join()}]`, ...given })));
        return written;
      };
    },
    // An array is evaluated once. A sub-select with a limit might be evaluated, and lock rows,
    // several times.
    amongRows: (column, query) => sql`${column} = any(array(${query} for update skip locked))`,
  };
  return {
    dialect,
    db,
    tables,
    lists,
    // A sub-select is evaluated once and can bound an index scan; a bare volatile function cannot.
    nowMs: sql<number>`(select (extract(epoch from clock_timestamp()) * 1000)::bigint)`,
    now: () => ({}),
    lookUp: refuseLookUp ? (select, type) => lookUpTogether(select, { type, refuseLookUp }) : lookUpAlone,
    lockRows: sql`for no key update`,
    statement,
    prepare,
    fold: (text) => sql`lower(${text} collate "C")`,
    lockName: async (name) => {
      await run('select pg_advisory_xact_lock(hashtextextended($1, 0))', [storable(name)]);
    },
  };
}

/**
 * Characters of the records of one statement. Their data may be a MiB each, and the database holds
 * it several times while it parses it.
 */
const MAX_STATEMENT_LENGTH = 4 * 1024 * 1024;

/** Records as JSON in groups of at most `MAX_STATEMENT_LENGTH`. A larger one is alone. */
function groupBySize(records: readonly string[]): string[][] {
  const groups: string[][] = [];
  let length = MAX_STATEMENT_LENGTH;
  for (const record of records) {
    if (length + record.length > MAX_STATEMENT_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(record);
    length += record.length;
  }
  return groups;
}

const lookUpAlone: Context['lookUp'] = (select) => {
  const query = lazy(() => select((column) => sql`${column} = ${sql.placeholder('sought')}`));
  return (sought) => query().execute({ sought });
};

/** Statements of one look-up that run at once: one is prepared while another is answered. */
const LOOK_UPS_AT_ONCE = 2;
const MAX_SOUGHT = 64;

/**
 * A look-up alone runs at once; those that come while others run share a statement. A round trip
 * costs both sides several times what a row does.
 */
function lookUpTogether<Row extends Sought>(
  select: (isSought: (column: SQLWrapper) => SQL) => Select<Row>,
  { type = 'text', refuseLookUp }: { type: 'text' | 'bigint' | undefined; refuseLookUp: () => void },
): (value: Row['sought']) => Promise<Row[]> {
  const values = sql`array(select value::${sql.raw(type)} from json_array_elements_text(${sql.placeholder('sought')}::text::json))`;
  const query = lazy(() => select((column) => sql`${column} = any(${values})`));
  const find = batchCalls<string, Row[]>({
    async run(sought) {
      const rows = await query().execute({ sought: encodeTexts([...new Set(sought)]) });
      const found = Map.groupBy(rows, (row) => String(row.sought));
      return sought.map((value) => ok(found.get(toJsonSafeText(value)) ?? []));
    },
    maxSize: MAX_SOUGHT,
    maxRunning: LOOK_UPS_AT_ONCE,
    gather: () => Promise.resolve(),
  });
  return async (value) => {
    refuseLookUp();
    return find(String(value));
  };
}

type Method = (...args: never[]) => Promise<unknown>;
const declared = new WeakMap<Method, 'atomic' | 'separate'>();

/**
 * Declares a method whose statements are stored together or not at all: called outside a
 * transaction, it runs in one of its own. A test finds methods that need this and do not say so.
 */
export function atomic<M extends Method>(method: M): M {
  declared.set(method, 'atomic');
  return method;
}

/** Declares a method of several statements of which each is right without the others. */
export function separate<M extends Method>(method: M): M {
  declared.set(method, 'separate');
  return method;
}

/** `undefined`: the method runs one statement, or only reads. */
export const findDeclaration = (method: Method) => declared.get(method);

/** Declares `copy` as `method` is. */
export function declareAlike<M extends Method>(copy: M, method: Method): M {
  const kind = declared.get(method);
  if (kind) declared.set(copy, kind);
  return copy;
}

/**
 * A condition: a deadline is over, as `isOver` of the kernel says. All in milliseconds; `longestMs`
 * is how far ahead the deadline was at most when it was written.
 */
export const isOverIn = (column: SQLWrapper, nowMs: SQL, longestMs: number): SQL =>
  sql`(${column} <= ${nowMs} or ${column} > ${nowMs} + ${sql.raw(String(longestMs + LEEWAY_MS))})`;

/**
 * A condition: a time at which something began, in milliseconds, was written before the clock was
 * set back. So is the deadline that was counted from it, which counts as over however far it is.
 */
export const isFromFuture = (begun: SQLWrapper, nowMs: SQL): SQL =>
  sql`${begun} > ${nowMs} + ${sql.raw(String(LEEWAY_MS))}`;

/**
 * A condition: a deadline is ahead, in Unix seconds, of a row that was written at `createdAt`. Its
 * longest span is what the row began with, so it is over while the row is from the future. `now`:
 * the placeholder of the present second.
 */
export const isAheadSince = (deadline: SQLWrapper, createdAt: SQLWrapper, now = 'now'): SQL =>
  sql`(${deadline} > ${sql.placeholder(now)} and ${createdAt} - ${sql.raw(String(CLOCK_LEEWAY_SECONDS))} <= ${sql.placeholder(now)})`;

/**
 * Makes rows due at once whose next attempt is further ahead than it was at most when it was
 * written: the clock was set back. They are tried for as long as new ones, `triesMs`, at most.
 * Apart from the claim, which then keeps to the order of its index. `isNeeded` is a condition for
 * other queries; `run` tells whether there were any.
 */
export function createPullForward(
  { prepare, nowMs, now }: Pick<Context, 'prepare' | 'nowMs' | 'now'>,
  { rows, longestMs, triesMs }: { rows: { table: SQL; isWaiting: SQL }; longestMs: number; triesMs: number },
): { isNeeded: SQL; run: () => Promise<boolean> } {
  const { table, isWaiting } = rows;
  const isTooFar = sql`${isWaiting} and next_attempt_at > ${nowMs} + ${sql.raw(String(longestMs + LEEWAY_MS))}`;
  const isNeeded = sql`exists (select 1 from ${table} where ${isTooFar})`;
  const find = lazy(() => prepare(sql`select 1 where ${isNeeded}`));
  const lastTry = sql`${nowMs} + ${sql.raw(String(triesMs))}`;
  const pull = lazy(() =>
    prepare(sql`update ${table} set next_attempt_at = ${nowMs},
      give_up_at = case when give_up_at > ${lastTry} then ${lastTry} else give_up_at end where ${isTooFar}`),
  );
  return {
    isNeeded,
    async run() {
      if ((await find()(now())).length === 0) return false;
      await pull()(now());
      return true;
    },
  };
}

/** Builds a prepared query on first use: building it takes as long as running it. */
export function lazy<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

const LEEWAY_MS = CLOCK_LEEWAY_SECONDS * 1000;

/**
 * Makes text safe for a JSON document that the database parses: PostgreSQL refuses NUL and lone
 * surrogates there.
 */
export const toJsonSafeText = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

/** What stands in the column beside the text of a sentence. */
export const encodeSentence = (said: Sentence): string => JSON.stringify(withoutMessage(said));

/** Decodes what a statement read from such a column. */
export const decodeSentence = (value: unknown): StoredSentence | null =>
  value === null || value === undefined ? null : (JSON.parse(String(value)) as StoredSentence);

/** The value of `amongTexts`. */
export const encodeTexts = (texts: readonly string[]): string => JSON.stringify(texts.map(toJsonSafeText));

/** Whether a change has no field to write; the builder would refuse it. */
export const isEmpty = (change: object): boolean => Object.values(change).every((value) => value === undefined);

/** Escapes `text` for a `like … escape '!'` pattern that matches it literally. */
export const escapeLike = (text: string): string => text.replace(/[!%_]/g, '!$&');

/** A condition: `column` contains `text`, in whatever case. */
export const containsText = ({ fold }: Pick<Context, 'fold'>, column: SQLWrapper, text: string): SQL | undefined =>
  or(...listSpellings(text).map((one) => sql`${fold(column)} like ${fold(`%${escapeLike(one)}%`)} escape '!'`));

/**
 * What to search for, so that letters other than A to Z are found in either case: the text as
 * typed, in lower and in upper case, each as `Context.fold` leaves it.
 */
export const listSpellings = (text: string): string[] => [
  ...new Set([text, text.toLowerCase(), text.toUpperCase()].map((one) => one.replace(/[A-Z]+/g, toLowerCase))),
];

const toLowerCase = (letters: string): string => letters.toLowerCase();
