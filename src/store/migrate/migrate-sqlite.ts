import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { type Migration, migrations, newSqliteDatabase } from '../../../migrations/index.ts';
import { type Clock, type Logger, sha256Hex } from '../../kernel/index.ts';
import { toStoreError } from '../drivers/errors.ts';
import { createLargeFileOnce } from '../files/write-file.ts';
import {
  copySqliteFile,
  openSqliteFile,
  prepareDataDir,
  prepareSqliteFile,
  sqlitePath,
  unwritableDataDir,
} from '../sqlite/open-sqlite.ts';
import { requireOneFile } from '../sqlite/refuse-foreign-log.ts';
import {
  CREATE_HISTORY,
  checkPending,
  findMoves,
  pendingMigrations,
  READ_HISTORY,
  READ_REVERTED,
  refuseFindings,
  requireNotMoved,
  wasReverted,
} from './pending-migrations.ts';

/**
 * Names of the migrations that the database in `dataDir` lacks; creates nothing. `dryRun`: rejects
 * if one of them would be refused, or the database is one that serves no more.
 */
export async function pendingSqlite(dataDir: string, dryRun = false): Promise<string[]> {
  requireOneFile(dataDir);
  if (!existsSync(sqlitePath(dataDir))) return pendingMigrations(migrations, []).map(({ name }) => name);
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    const applied = history(file);
    const pending = pendingMigrations(migrations, applied);
    const isForeign = applied.length === 0 && hasTable(file, 'users');
    if (dryRun) {
      await checkPending(pending, isForeign, (query) => file.query(query).values());
      if (applied.length > 0) await requireNotMoved({ get: async (key) => readOption(file, key) });
    }
    return pending.map(({ name }) => name);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    file.close();
  }
}

/**
 * Runs the pending migrations, each in a transaction; copies the file first unless it is new.
 * Returns the names of those run.
 */
export async function migrateSqlite(options: MigrateOptions): Promise<string[]> {
  prepareDataDir(options.dataDir);
  if (await createSqlite(options.dataDir, options.clock.unix())) return migrations.map(({ name }) => name);
  prepareSqliteFile(options.dataDir);
  const file = openSqliteFile(options.dataDir, 'FULL');
  try {
    return migrateSqliteFile(file, options);
  } finally {
    file.close();
  }
}

type MigrateOptions = { dataDir: string; clock: Clock; logger: Logger };

/** Does the same over an open connection whose commits survive a power cut. */
function migrateSqliteFile(file: SqliteFile, options: MigrateOptions): string[] {
  try {
    if (isEmpty(file) && fillEmpty(file, options.clock.unix())) return migrations.map(({ name }) => name);
    const applied = history(file);
    const pending = pendingMigrations(migrations, applied);
    const first = pending[0];
    if (!first) return [];
    if (applied.length > 0) {
      const copy = `${sqlitePath(options.dataDir)}.before-${first.name}`;
      copySqliteFile(file, copy, true);
      options.logger.info({ copy }, 'copied the database before its migration');
    }
    // For migrations that replace clear-text tokens by digests: SQLite has no SHA-256 of its own.
    file.function('sha256_hex', (text: unknown) => sha256Hex(String(text)));
    for (const migration of pending) runOne(file, migration, options.clock.unix());
    return pending.map(({ name }) => name);
  } catch (error) {
    throw toStoreError(error);
  }
}

function history(file: SqliteFile): number[] {
  if (!hasTable(file, 'schema_migrations')) return [];
  return file
    .query(READ_HISTORY)
    .values()
    .map(([number]) => Number(number));
}

const readOption = (file: SqliteFile, key: string): string | undefined =>
  file.query<{ value: string }, [string]>('select value from options where key = ?').get(key)?.value;

const leftIn = (file: SqliteFile): unknown[][] =>
  hasTable(file, 'left_migrations') ? file.query(READ_REVERTED).values() : [];

const hasTable = (file: SqliteFile, name: string): boolean =>
  file.query("select 1 from sqlite_master where type = 'table' and name = ?").values(name).length > 0;

const isEmpty = (file: SqliteFile): boolean => file.query('select 1 from sqlite_master limit 1').values().length === 0;

/**
 * Fills an empty file in one transaction: a quarter of the time of all migrations. Returns false
 * when another process has begun to fill it.
 */
function fillEmpty(file: SqliteFile, now: number): boolean {
  return inTransaction(file, () => {
    if (!isEmpty(file)) return false;
    fillDatabase(file, now);
    return true;
  });
}

function runOne(file: SqliteFile, migration: Migration, now: number): void {
  inTransaction(file, () => {
    file.run(CREATE_HISTORY);
    // Another process may have run it by now.
    if (history(file).includes(migration.number)) return;
    for (const check of migration.checks) refuseFindings(migration, check, file.query(check.query).values());
    if (wasReverted(migration, leftIn(file))) {
      file.query('delete from left_migrations where number = ?').run(migration.number);
      file.run(findMoves(migration).again);
    } else file.run(migration.sql.sqlite);
    recordMigration(file, migration, now);
  });
}

function inTransaction<T>(file: SqliteFile, work: () => T): T {
  file.run('begin immediate');
  try {
    const value = work();
    file.run('commit');
    return value;
  } catch (error) {
    if (file.inTransaction) file.run('rollback');
    throw error;
  }
}

/**
 * Where a database file says how it is written and read: 1 is a rollback journal, 2 the write-ahead
 * log. See https://www.sqlite.org/fileformat.html, "File format version numbers".
 */
const FORMAT_VERSIONS = [18, 19] as const;
const WRITE_AHEAD_LOG = 2;

/**
 * Creates the database with the layout of all migrations, unless something is there already;
 * readable by its owner only. The file is made in memory, and appears complete or not at all. The
 * folder is flushed by the first commit, before anybody relies on it: SQLite flushes it together
 * with a new write-ahead log.
 * Returns whether this call created it.
 * @throws `store.unavailable` when it cannot be written
 */
async function createSqlite(dataDir: string, now: number): Promise<boolean> {
  const path = sqlitePath(dataDir);
  // A log that was left behind would be replayed into the new file.
  if ([path, `${path}-wal`, `${path}-journal`].some((name) => existsSync(name))) return false;
  try {
    return await createLargeFileOnce(path, newDatabase(now));
  } catch (error) {
    throw unwritableDataDir(dataDir, error);
  }
}

/** Gives an empty database the layout that all migrations together would, and their history. */
export function fillDatabase(file: SqliteFile, now: number): void {
  file.run(CREATE_HISTORY);
  file.run(newSqliteDatabase);
  for (const migration of migrations) recordMigration(file, migration, now);
}

function recordMigration(file: SqliteFile, { number, name }: Migration, now: number): void {
  file.query('insert into schema_migrations (number, name, applied_at) values (?, ?, ?)').run(number, name, now);
}

function newDatabase(now: number): Uint8Array {
  const file = new SqliteFile(':memory:');
  try {
    file.transaction(() => fillDatabase(file, now))();
    const bytes = file.serialize();
    for (const at of FORMAT_VERSIONS) bytes[at] = WRITE_AHEAD_LOG;
    return bytes;
  } finally {
    file.close();
  }
}
