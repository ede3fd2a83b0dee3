import { OperatorError } from '../kernel/index.ts';
import { describeSourceError, type SourceDatabase, type SourceRow, TOO_LONG } from '../store/index.ts';
import { NEEDED_TABLES, TABLES, type TableName } from './new-api-mapping.ts';

/** Rows of a table of tens, and of one user range: more means that it is not what it seems. */
const MOST_ROWS = 50_000;

export type SourceReader = {
  kind: SourceDatabase['kind'];
  has(table: TableName): boolean;
  /** The next rows after the id `after`, at most `limit`. */
  page(table: TableName, after: number, limit: number): Promise<SourceRow[]>;
  /** The rows of the users with ids above `after`, up to `until`. */
  ofUsers(table: TableName, after: number, until: number): Promise<SourceRow[]>;
  all(table: TableName): Promise<SourceRow[]>;
  /** Undefined where there is no such table. */
  count(table: string): Promise<number | undefined>;
};

/**
 * The tables of new-api in a database.
 *
 * @throws `OperatorError` where it is not a database of new-api, or one of a release that is too
 * old
 */
export async function readSource(source: SourceDatabase): Promise<SourceReader> {
  const columns = new Map<TableName, string[]>();
  for (const table of Object.keys(TABLES) as TableName[]) {
    const present = await attempt(() => source.columns(table));
    if (present === undefined) {
      if (NEEDED_TABLES.includes(table)) throw notNewApi(`it has no table "${table}"`);
      continue;
    }
    const { needed, optional } = TABLES[table];
    const missing = needed.filter((name) => !present.has(name));
    if (missing.length > 0) {
      throw notNewApi(
        `its table "${table}" lacks ${missing.join(', ')}: start a newer release of new-api on it once, which adds what is missing`,
      );
    }
    columns.set(table, [...needed, ...optional.filter((name) => present.has(name))]);
  }

  const findColumns = (table: TableName): string[] => columns.get(table) ?? [];
  async function rows(table: TableName, cut: { by?: string; after?: number; until?: number; limit: number }) {
    if (!columns.has(table)) return [];
    return attempt(() => source.rows({ table, columns: findColumns(table), ...cut }));
  }
  async function bounded(table: TableName, cut: { by?: string; after?: number; until?: number }) {
    const found = await rows(table, { ...cut, limit: MOST_ROWS + 1 });
    if (found.length > MOST_ROWS) throw new OperatorError(`the table "${table}" of the source has too many rows`);
    return found;
  }

  return {
    kind: source.kind,
    has: (table) => columns.has(table),
    page: (table, after, limit) => rows(table, { by: 'id', after, limit }),
    ofUsers: (table, after, until) => bounded(table, { by: 'user_id', after, until }),
    all: (table) => bounded(table, findColumns(table).includes('id') ? { by: 'id' } : {}),
    count: (table) =>
      attempt(async () => ((await source.columns(table)) === undefined ? undefined : source.count(table))),
  };
}

const notNewApi = (why: string) =>
  new OperatorError(`the source is not a database of new-api that can be read: ${why}`);

async function attempt<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the source cannot be read: ${describeSourceError(error)}. Nothing was written`);
  }
}

/** Null, '' and an absent column all mean none. */
export const readText = (row: SourceRow, column: string): string => row[column] ?? '';

/** A whole number; `undefined` for anything else, an absent one included. */
export function readNumber(row: SourceRow, column: string): number | undefined {
  const text = (row[column] ?? '').trim();
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** SQLite and MySQL write 0 and 1, PostgreSQL false and true. */
export const readFlag = (row: SourceRow, column: string): boolean => /^(?:1|t|true)$/i.test(row[column] ?? '');

/** Whether it is one of the two, null and an absent one included. */
export const isFlag = (row: SourceRow, column: string): boolean => /^(?:[01tf]|true|false)?$/i.test(row[column] ?? '');

export const isDeleted = (row: SourceRow): boolean => (row.deleted_at ?? '') !== '';

/** What keeps a row from being understood as it was written: a huge value, or broken UTF-8. */
export function findFault(row: SourceRow, columns: readonly string[]): string | undefined {
  const long = (row[TOO_LONG] ?? '').split(',').find((name) => columns.includes(name));
  if (long !== undefined && long !== '') return `its ${long} is longer than 1 MiB`;
  const broken = columns.find((name) => (row[name] ?? '').includes('\uFFFD'));
  if (broken !== undefined) return `its ${broken} is not valid UTF-8`;
  const zero = columns.find((name) => (row[name] ?? '').includes('\0'));
  return zero === undefined ? undefined : `its ${zero} has a zero byte`;
}
