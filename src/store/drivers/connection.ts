import { drizzle as drizzlePostgres } from 'drizzle-orm/pg-proxy';
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import { drizzle as drizzleSqlite } from 'drizzle-orm/sqlite-proxy';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import type { TaskClaims } from './memory-leases.ts';

/**
 * Runs one statement. Rows come back as arrays in the order of the selected columns; a plain write
 * gives none.
 */
export type RunStatement = (text: string, params: unknown[]) => Promise<unknown[][]>;

/**
 * What repositories build their queries with. PostgreSQL's builder has the same methods as SQLite's
 * for all that we use.
 */
export type Database = BaseSQLiteDatabase<'async', unknown>;

/**
 * A drizzle database over `run`. Both dialects go through drizzle's proxy drivers: its own SQLite
 * driver commits asynchronous transactions early, and its own PostgreSQL driver cannot keep
 * prepared queries over transactions.
 */
export function bindDatabase(dialect: 'sqlite' | 'postgres', run: RunStatement): Database {
  const call = async (text: string, params: unknown[]) => ({ rows: await run(text, params) });
  return dialect === 'sqlite' ? drizzleSqlite(call) : (drizzlePostgres(call) as unknown as Database);
}

/**
 * Text with NUL, which a client may well send, is refused by PostgreSQL and cut off by SQLite's
 * functions. The replacement matches nothing by accident.
 */
export const storable = (param: unknown): unknown =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\uFFFD') : param;

/**
 * Makes the repositories over one way to run statements. Without `claims` those of tasks stand in
 * their rows, for several processes.
 */
export type BindRepositories = (run: RunStatement, claims?: TaskClaims) => Repositories;

/** An open database. */
export interface Driver {
  /** Repositories outside any transaction. */
  readonly root: Repositories;
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>;
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  publish(topic: ChangeTopic): Promise<void>;
  subscribe(listener: (topic: ChangeTopic) => void): () => void;
  /** As in `Store`; a driver without a file of its own has none. */
  writeFault?(): string | undefined;
  ping(): Promise<void>;
  close(): Promise<void>;
}
