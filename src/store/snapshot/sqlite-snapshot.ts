import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { storeErrors, toStoreError } from '../drivers/errors.ts';
import { syncFolder } from '../files/write-file.ts';
import { isRestoreUnfinished, restoreFolder } from '../sqlite/lock-data-dir.ts';
import { copySqliteFile, openSqliteFile, sqlitePath } from '../sqlite/open-sqlite.ts';

/** Faults that a check of a file lists at most. */
const LISTED = 20;

/**
 * Copies the database of `dataDir` as it is at one moment into the folder `target`. A gateway goes
 * on writing; its write-ahead log grows by what it writes. Blocks this process, so it
 * belongs into one that serves nobody.
 */
export function copySqliteDatabase({ dataDir, target }: { dataDir: string; target: string }): void {
  if (!existsSync(sqlitePath(dataDir))) {
    throw storeErrors.unavailable({ message: `There is no database in ${dataDir}.` });
  }
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const file = openSqliteFile(dataDir, 'FULL');
  try {
    // The copy is not flushed while it grows: its user flushes what it makes of it.
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

/** Lists what `pragma integrity_check` finds in the database of `dataDir`. */
export function checkSqliteDatabase(dataDir: string): string[] {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    return findFaults(file, `pragma integrity_check(${LISTED})`);
  } finally {
    file.close();
  }
}

/** Does the same for one table with its indexes at a time, and calls `rest` after each. */
export async function checkSqliteTables(dataDir: string, rest: () => Promise<void>): Promise<string[]> {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  const faults: string[] = [];
  try {
    const tables = file.query("select name from sqlite_master where type = 'table'").values() as unknown[][];
    for (const name of ['sqlite_schema', ...tables.map(([table]) => String(table))]) {
      faults.push(...findFaults(file, `pragma integrity_check('${name.replaceAll("'", "''")}')`));
      if (faults.length >= LISTED) break;
      await rest();
    }
  } catch (error) {
    faults.push(readDamage(error));
  } finally {
    file.close();
  }
  return faults.slice(0, LISTED);
}

function findFaults(file: SqliteFile, check: string): string[] {
  try {
    const rows = file.query(check).values() as unknown[][];
    return rows.map(([text]) => String(text)).filter((text) => text !== 'ok');
  } catch (error) {
    return [readDamage(error)];
  }
}

/** @throws what says nothing about the file: a lock, or too many open files */
function readDamage(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^SQLITE_(?:BUSY|LOCKED|CANTOPEN|NOMEM|PERM|FULL)/.test(code)) throw toStoreError(error);
  return error instanceof Error ? error.message : String(error);
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

/** Locks, the work of backups, and what a new disk has: nothing that anybody would miss. */
const NOTHING = /^(?:taskgate\.(?:lock|backup)|lost\+found$)/;

/**
 * Makes the folder in which a restore prepares the database; what an interrupted one left there is
 * removed.
 * @throws `store.in_use` when the data directory is not empty
 */
export function beginSqliteRestore(dataDir: string): { folder: string; resumed: boolean } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const folder = restoreFolder(dataDir);
  const resumed = existsSync(folder);
  // An interrupted restore has put results and secrets in place, never the database: it comes last.
  const allowed = resumed ? ['results', 'results-upload', 'secrets.json', 'secrets.restored.env'] : [];
  const others = readdirSync(dataDir).filter(
    (name) => name !== basename(folder) && !NOTHING.test(name) && !allowed.includes(name),
  );
  if (others.length > 0) {
    throw storeErrors.in_use({
      message: `The data directory ${dataDir} is not empty (${others.slice(0, 3).join(', ')}). A backup is restored into an empty one only: choose another with --data-dir.`,
    });
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return { folder, resumed };
}

/** Puts the prepared files in place, the database last: with it the restore has happened. */
export async function endSqliteRestore(dataDir: string, otherFiles: readonly string[]): Promise<void> {
  const folder = restoreFolder(dataDir);
  for (const name of otherFiles) renameSync(join(folder, name), join(dataDir, name));
  await syncFolder(dataDir);
  renameSync(sqlitePath(folder), sqlitePath(dataDir));
  await syncFolder(dataDir);
  rmSync(folder, { recursive: true, force: true });
}

/**
 * A gateway must not create an empty database where a restored one belongs.
 * @throws `store.restore_unfinished`
 */
export function requireNoSqliteRestore(dataDir: string): void {
  if (!isRestoreUnfinished(dataDir)) return;
  throw storeErrors.restore_unfinished({
    message: `A restore into ${dataDir} has not ended. Run "taskgate backup restore" again, or empty the folder.`,
  });
}
