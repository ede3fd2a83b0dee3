/** Names come from our own code; anything else is a mistake there. */
const NAME = /^[a-z0-9_]+$/;

/**
 * The statement of a query. The database measures each value before it sends it, so that one huge
 * value never fills the memory.
 */
function writeQuery(dialect: SourceDialect, { table, columns, by, after, until, limit }: SourceQuery): string {
  const quote = (name: string): string => {
    if (!NAME.test(name)) throw new Error(`"${name}" is not a name of a column`);
    return dialect.quote(name);
  };
  const isLong = (column: string) => `${dialect.measureBytes(column)} > ${MAX_SOURCE_TEXT}`;
  const fields = columns.flatMap((name, index) => {
    const column = quote(name);
    const text = `case when ${isLong(column)} then null else ${dialect.asText(column)} end`;
    return [`${text} as c${index}`, `case when ${isLong(column)} then 1 else 0 end as l${index}`];
  });
  const conditions = [
    ...(by !== undefined && after !== undefined ? [`${quote(by)} > ${whole(after)}`] : []),
    ...(by !== undefined && until !== undefined ? [`${quote(by)} <= ${whole(until)}`] : []),
  ];
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  const order = by === undefined ? '' : ` order by ${quote(by)}`;
  return `select ${fields.join(', ')} from ${quote(table)}${where}${order} limit ${whole(limit)}`;
}

function whole(number: number): string {
  if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`);
  return String(number);
}

/** A source over a driver's means to run a statement. */
export function createSource(
  dialect: SourceDialect,
  {
    run,
    listColumns,
    close,
  }: { run: RunSourceQuery; listColumns: (table: string) => Promise<string[]>; close: () => Promise<void> },
): SourceDatabase {
  return {
    kind: dialect.kind,
    async columns(table) {
      const names = await listColumns(table);
      return names.length === 0 ? undefined : new Set(names);
    },
    async rows(query) {
      const found = await run(writeQuery(dialect, query));
      return found.map((row) => toRow(query.columns, row));
    },
    async count(table) {
      const [row] = await run(`select count(*) as total from ${dialect.quote(table)}`);
      return Number(row?.total ?? 0);
    },
    close,
  };
}

function toRow(columns: readonly string[], found: Record<string, unknown>): SourceRow {
  const row: Record<string, string | null> = {};
  const long: string[] = [];
  columns.forEach((name, index) => {
    const value = found[`c${index}`];
    row[name] = value === null || value === undefined ? null : toText(value);
    if (Number(found[`l${index}`]) === 1) long.push(name);
  });
  row[TOO_LONG] = long.join();
  return row;
}

const toText = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);

/** A row of a foreign database: each column that was asked for as text, or null. */
export type SourceRow = Readonly<Record<string, string | null>>;

/** Bytes of a value that is read. A longer one is null, and its column is named in `TOO_LONG`. */
const MAX_SOURCE_TEXT = 1024 * 1024;
/** A member of each row: the columns with values that were too long, separated by commas. */
export const TOO_LONG = 'too_long columns';

export type SourceQuery = {
  table: string;
  /** The columns that the table has; see `columns`. */
  columns: readonly string[];
  /** The whole number that the rows are ordered and cut by. */
  by?: string;
  /** Exclusive. */
  after?: number;
  /** Inclusive. */
  until?: number;
  limit: number;
};

/** Another program's database, open for reading: every query sees the state of the opening. */
export interface SourceDatabase {
  readonly kind: 'sqlite' | 'postgres' | 'mysql';
  /** The names of a table's columns; `undefined` when there is no such table. */
  columns(table: string): Promise<ReadonlySet<string> | undefined>;
  rows(query: SourceQuery): Promise<SourceRow[]>;
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

/** The rows of a statement, each value as the driver gives it. */
export type RunSourceQuery = (text: string) => Promise<Record<string, unknown>[]>;

/** How the three kinds of database say the same. */
export type SourceDialect = {
  kind: SourceDatabase['kind'];
  quote(name: string): string;
  asText(column: string): string;
  measureBytes(column: string): string;
};
