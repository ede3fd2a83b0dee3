import type { RunSourceQuery, SourceDatabase, SourceDialect, SourceQuery, SourceRow } from './types.ts';
import { MAX_SOURCE_TEXT, TOO_LONG } from './types.ts';

/** Names come from our own code; anything else is a mistake there. */
const NAME = /^[a-z0-9_]+$/;

/**
 * The statement of a query. The database measures each value before it sends it, so that one huge
 * value never fills the memory.
 */
export function writeQuery(dialect: SourceDialect, { table, columns, by, after, until, limit }: SourceQuery): string {
  const quote = (name: string): string => {
    if (!NAME.test(name)) throw new Error(`"${name}" is no name of a column`);
    return dialect.quote(name);
  };
  const isLong = (column: string) => `${dialect.bytesOf(column)} > ${MAX_SOURCE_TEXT}`;
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
  if (!Number.isSafeInteger(number)) throw new Error(`${number} is no whole number`);
  return String(number);
}

/** A source over a driver's means to run a statement. */
export function createSource(
  dialect: SourceDialect,
  {
    run,
    columnsOf,
    close,
  }: { run: RunSourceQuery; columnsOf: (table: string) => Promise<string[]>; close: () => Promise<void> },
): SourceDatabase {
  return {
    kind: dialect.kind,
    async columns(table) {
      const names = await columnsOf(table);
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
    row[name] = value === null || value === undefined ? null : textOf(value);
    if (Number(found[`l${index}`]) === 1) long.push(name);
  });
  row[TOO_LONG] = long.join();
  return row;
}

const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
