import { drizzle as drizzlePostgres } from 'drizzle-orm/pg-proxy';
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import { drizzle as drizzleSqlite } from 'drizzle-orm/sqlite-proxy';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import type { LeaseBinding } from './memory-leases.ts';

/**
 * Runs one statement. Rows are arrays in the order of the selected columns; a plain write returns
 * none.
 */
export type RunStatement = (text: string, params: unknown[]) => Promise<unknown[][]>;

/**
 * The query builder of the repositories. PostgreSQL's builder has the same methods as SQLite's, as
 * far as we use them.
 */
export type Database = BaseSQLiteDatabase<'async', unknown>;

/**
 * A drizzle database over `run`. Both dialects use drizzle's proxy drivers, because its own SQLite
 * driver commits asynchronous transactions early, and its own PostgreSQL driver cannot keep
 * prepared queries across transactions.
 */
export function bindDatabase(dialect: 'sqlite' | 'postgres', run: RunStatement): Database {
  const call = async (text: string, params: unknown[]) => ({ rows: await run(text, params) });
  return dialect === 'sqlite' ? drizzleSqlite(call) : (drizzlePostgres(call) as unknown as Database);
}

/**
 * Replaces NUL in text. Clients can send it; PostgreSQL refuses it and SQLite's functions truncate
 * at it. U+FFFD matches nothing by accident.
 */
export const storable = (param: unknown): unknown =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\uFFFD') : param;

/**
 * Creates repositories over `run`. Without `memory`, task claims are stored in the rows, for
 * several processes.
 */
export type BindRepositories = (run: RunStatement, memory?: LeaseBinding) => Repositories;

/** An open database. */
export interface Driver {
  /** The repositories outside any transaction. */
  readonly root: Repositories;
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>;
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  publish(topic: ChangeTopic): Promise<void>;
  subscribe(listener: (topic: ChangeTopic) => void): () => void;
  /** As in `Store`; absent in a driver without a file of its own. */
  writeFault?(): string | undefined;
  ping(): Promise<void>;
  close(): Promise<void>;
}
