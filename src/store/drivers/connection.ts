import type { Query } from 'drizzle-orm';
import { PgDatabase, PgDialect } from 'drizzle-orm/pg-core';
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';
import type { Logger } from '../../kernel/index.ts';
import type { ChangeTopic, Repositories } from '../ports/index.ts';
import type { LeaseBinding } from './memory-leases.ts';
import { PreparedQuery, type RunStatement, type SelectedField } from './prepared-query.ts';

export type { RunStatement };

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
