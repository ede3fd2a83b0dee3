import type { Clock, Logger } from '../kernel/index.ts';
import type { BindRepositories, Driver } from './drivers/connection.ts';
import { storeErrors, toStoreError } from './drivers/errors.ts';
import { migrateSqlite, pendingSqlite } from './migrate/migrate-sqlite.ts';
import { requireNotMoved } from './migrate/pending-migrations.ts';
import type { Store } from './ports/index.ts';
import { createRepositories, withTransactions } from './repositories/index.ts';
import { tablesFor } from './schema/index.ts';
import { finishReplacement } from './snapshot/replace-sqlite.ts';
import { requireNoSqliteRestore } from './snapshot/sqlite-snapshot.ts';
import { followClock, type MoveDeadlines } from './sqlite/follow-clock.ts';
import { lockDataDir, requireFreeDataDir } from './sqlite/lock-data-dir.ts';
import { openSqlite, prepareDataDir } from './sqlite/open-sqlite.ts';
import { requireOneFile } from './sqlite/refuse-foreign-log.ts';

export type StoreOptions = {
  /** `postgres://…`, or empty for SQLite in `dataDir`. */
  databaseUrl: string;
  /**
   * PostgreSQL only: the same database through a pooler of transactions. What needs a session goes
   * around it.
   */
  poolUrl?: string;
  dataDir: string;
  /**
   * SQLite only. With FULL every commit survives a power cut. With NORMAL the last commits may be
   * lost, never the database.
   */
  synchronous: 'FULL' | 'NORMAL';
  clock: Clock;
  logger: Logger;
  /**
   * SQLite only: lock the data directory for this process, as the serving gateway does. Commands
   * that run beside it do not.
   */
  exclusive?: boolean;
  /**
   * Migrate the database first (the default). `false`: refuse a database that needs a migration.
   */
  migrate?: boolean;
  /** A restore that has not ended opens what it restores. */
  restoring?: boolean;
  /** A move opens what it moves. */
  moving?: boolean;
};

/**
 * Opens the database, migrated. What only PostgreSQL needs is loaded only for it.
 * @throws `store.unavailable` when it cannot be reached or written, `store.in_use` when another
 * gateway has the data directory, `store.schema_newer`, `store.schema_outdated` (with `migrate:
 * false`), `store.migration_refused`, `store.restore_unfinished`
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const dialect = options.databaseUrl === '' ? 'sqlite' : 'postgres';
  const release = dialect === 'sqlite' && options.exclusive ? createAndLockDataDir(options.dataDir) : () => {};
  try {
    if (dialect === 'sqlite') requireOneFile(options.dataDir);
    if (!options.restoring) await requireNoRestore(options);
    if (options.migrate === false) await requireCurrent(options);
    else await migrate(options);

    const tables = tablesFor(dialect);
    const bindTo = (clock: Clock): BindRepositories => {
      return (run, memory, refuseLookUp) => createRepositories({ dialect, tables, clock, run, refuseLookUp }, memory);
    };
    if (dialect === 'sqlite') {
      const move: MoveDeadlines = (byMs, moved) =>
        store.transaction(async (tx) => {
          await tx.clock.moveDeadlines(byMs);
          moved();
        });
      const clock = options.exclusive ? followClock(options.clock, options.logger, move) : options.clock;
      const store = assembleStore(dialect, openSqlite({ ...options, bind: bindTo(clock), release }));
      return await requireServing(store, options);
    }
    const { openPostgres } = await import('./postgres/open-postgres.ts');
    const store = assembleStore(dialect, await openPostgres({ ...options, bind: bindTo(options.clock) }));
    return await requireServing(store, options);
  } catch (error) {
    release();
    throw error;
  }
}

async function requireServing(store: Store, { moving }: StoreOptions): Promise<Store> {
  if (moving) return store;
  try {
    await requireNotMoved(store.options);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Migrates the database and returns the names of the migrations that it ran; with `dryRun`, of
 * those that it would run. Refuses a SQLite database that a gateway is serving. Throws as
 * `openStore` does, with `dryRun` too.
 */
export async function migrateStore(options: StoreOptions & { dryRun?: boolean }): Promise<string[]> {
  if (options.dryRun) {
    try {
      if (options.databaseUrl === '') requireFreeDataDir(options.dataDir);
      await requireNoRestore(options);
      return await pending(options, true);
    } catch (error) {
      throw toStoreError(error);
    }
  }
  if (options.databaseUrl !== '') return migrate(options);
  const release = createAndLockDataDir(options.dataDir);
  try {
    requireOneFile(options.dataDir);
    return await migrate(options);
  } finally {
    release();
  }
}

function createAndLockDataDir(dataDir: string): () => void {
  prepareDataDir(dataDir);
  try {
    const release = lockDataDir(dataDir);
    finishReplacement(dataDir);
    return release;
  } catch (error) {
    throw toStoreError(error);
  }
}

async function pending({ databaseUrl, dataDir }: StoreOptions, dryRun = false): Promise<string[]> {
  if (databaseUrl === '') return pendingSqlite(dataDir, dryRun);
  const { pendingPostgres } = await import('./migrate/migrate-postgres.ts');
  return pendingPostgres(databaseUrl, dryRun);
}

async function migrate(options: StoreOptions): Promise<string[]> {
  const names = await (options.databaseUrl === '' ? migrateSqlite(options) : runPostgres(options));
  if (names.length > 0) options.logger.info({ migrations: names }, 'migrated the database');
  return names;
}

async function runPostgres(options: StoreOptions): Promise<string[]> {
  const { migratePostgres } = await import('./migrate/migrate-postgres.ts');
  return migratePostgres(options);
}

async function requireNoRestore({ databaseUrl, dataDir }: StoreOptions): Promise<void> {
  if (databaseUrl === '') return requireNoSqliteRestore(dataDir);
  const { requireNoPostgresRestore } = await import('./snapshot/postgres-snapshot.ts');
  await requireNoPostgresRestore(databaseUrl);
}

async function requireCurrent(options: StoreOptions): Promise<void> {
  const missing = await pending(options);
  if (missing.length > 0) {
    throw storeErrors.schema_outdated({
      message: `The database lacks ${missing.join(', ')}. Run "taskgate migrate", or start the gateway once.`,
    });
  }
}

/** What the driver offers, as one store: its errors are the store's. */
export function assembleStore(dialect: Store['dialect'], driver: Driver): Store {
  const transaction: Store['transaction'] = async (work) => {
    try {
      return await driver.transaction(work);
    } catch (error) {
      throw toStoreError(error);
    }
  };
  return {
    ...withTransactions(driver.root, transaction),
    dialect,
    transaction,
    exclusively: driver.exclusively,
    publish: driver.publish,
    subscribe: driver.subscribe,
    writeFault: () => driver.writeFault?.(),
    ping: driver.ping,
    close: driver.close,
  };
}
