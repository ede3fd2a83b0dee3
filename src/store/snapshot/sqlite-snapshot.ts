import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { copySqliteFile, openSqliteFile, sqlitePath } from '../drivers/sqlite.ts';
import { storeErrors, toStoreError } from '../errors.ts';

/** Faults that a check of a file lists at most. */
const LISTED = 20;

/**
 * Copies the database of `dataDir` as it is at one moment into the folder `target`. A gateway goes
 * on writing meanwhile; its write-ahead log grows by what it writes. Blocks this process, so it
 * belongs into one that serves nobody.
 */
export function copySqliteDatabase({ dataDir, target }: { dataDir: string; target: string }): void {
  if (!existsSync(sqlitePath(dataDir))) {
    throw storeErrors.unavailable({ message: `There is no database in ${dataDir}.` });
  }
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const file = openSqliteFile(dataDir, 'FULL');
  try {
    // The copy is not flushed while it grows: who uses it flushes what it makes of it.
    file.run('pragma synchronous = off');
    copySqliteFile(file, sqlitePath(target), false);
    // Closing may write the log into the database, which must be durable.
    file.run('pragma synchronous = full');
  } catch (error) {
    throw toStoreError(error);
  } finally {
    file.close();
  }
}

/** The size of a database and its log in bytes, about what a copy needs. */
export function sqliteBytes(dataDir: string): number {
  const path = sqlitePath(dataDir);
  return [path, `${path}-wal`].reduce((sum, name) => sum + (existsSync(name) ? statSync(name).size : 0), 0);
}

/** What `pragma integrity_check` finds in the database of `dataDir`; empty: nothing. */
export function checkSqliteDatabase(dataDir: string): string[] {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    const rows = file.query(`pragma integrity_check(${LISTED})`).values() as unknown[][];
    return rows.map(([text]) => String(text)).filter((text) => text !== 'ok');
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  } finally {
    file.close();
  }
}

/** Ends the log of a database that nobody uses, so that the file alone is the database. */
export function closeSqliteLog(dataDir: string): void {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    file.query('pragma wal_checkpoint(truncate)').values();
  } finally {
    file.close();
  }
}
