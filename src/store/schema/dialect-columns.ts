/**
 * Column types by one name for both dialects. The schema is written once against the types of
 * SQLite's; those of PostgreSQL build the same columns at run time and give the same JavaScript
 * values.
 */
import * as pg from 'drizzle-orm/pg-core';
import * as lite from 'drizzle-orm/sqlite-core';
import type { ResultState } from '../ports/index.ts';

const json = {
  /** TEXT in both dialects: `jsonb` refuses \u0000 and reorders keys. */
  dataType: () => 'text',
  toDriver: (value: unknown) => JSON.stringify(value),
  fromDriver: (value: unknown) => JSON.parse(String(value)) as unknown,
};

/** How a row says that a result is `pending`. Nodes of older versions know no other word. */
export const STORED_PENDING = 'wanted';

const resultState = {
  dataType: () => 'text',
  toDriver: (state: ResultState) => (state === 'pending' ? STORED_PENDING : state),
  fromDriver: (stored: string) => (stored === STORED_PENDING ? 'pending' : stored) as ResultState,
};

export const sqliteColumns = {
  table: lite.sqliteTable,
  id: () => lite.integer('id').primaryKey({ autoIncrement: true }),
  int: (name: string) => lite.integer(name),
  /** 64 bits: times in milliseconds and money. Read as a JavaScript number, exact up to 2^53. */
  big: (name: string) => lite.integer(name),
  text: (name: string) => lite.text(name),
  varchar: (name: string, length: number) =>
    lite.customType<{ data: string; driverData: string }>({ dataType: () => `varchar(${length})` })(name),
  bool: (name: string) => lite.integer(name, { mode: 'boolean' }),
  json: <T>(name: string) => lite.customType<{ data: T; driverData: string }>(json as never)(name),
  resultState: (name: string) => lite.customType<{ data: ResultState; driverData: string }>(resultState)(name),
};

export type DialectColumns = typeof sqliteColumns;

export const postgresColumns = {
  table: pg.pgTable,
  id: () => pg.bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
  int: (name: string) => pg.integer(name),
  big: (name: string) => pg.bigint(name, { mode: 'number' }),
  text: (name: string) => pg.text(name),
  varchar: (name: string, length: number) => pg.varchar(name, { length }),
  bool: (name: string) => pg.boolean(name),
  json: (name: string) => pg.customType<{ data: unknown; driverData: string }>(json)(name),
  resultState: (name: string) => pg.customType<{ data: ResultState; driverData: string }>(resultState)(name),
} as unknown as DialectColumns;
