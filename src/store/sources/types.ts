/** A row of a foreign database: each column that was asked for as text, or null. */
export type SourceRow = Readonly<Record<string, string | null>>;

/** Bytes of a value that is read. A longer one is null, and its column is named in `TOO_LONG`. */
export const MAX_SOURCE_TEXT = 1024 * 1024;
/** A member of each row: the columns with values that were too long, separated by commas. */
export const TOO_LONG = 'too_long columns';

export type SourceQuery = {
  table: string;
  /** Those that the table has; see `columns`. */
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
  bytesOf(column: string): string;
};
