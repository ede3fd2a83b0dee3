import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { type Migration, migrations, newSqliteDatabase } from '../../../migrations/index.ts';
import { createFileOnce } from '../files/write-file.ts';
import { sqlitePath, unwritableDataDir } from '../sqlite/open-sqlite.ts';
import { CREATE_HISTORY } from './plan.ts';

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
export function createSqlite(dataDir: string, now: number): boolean {
  const path = sqlitePath(dataDir);
  // A log that was left behind would be replayed into the new file.
  if ([path, `${path}-wal`, `${path}-journal`].some((name) => existsSync(name))) return false;
  try {
    return createFileOnce(path, newDatabase(now));
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

export function recordMigration(file: SqliteFile, { number, name }: Migration, now: number): void {
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
