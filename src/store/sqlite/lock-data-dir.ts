import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import { sqlitePath } from './open-sqlite.ts';

const LOCK_FILE = 'taskgate.lock';
const BACKUP_LOCK_FILE = 'taskgate.backup.lock';

/**
 * Locks the data directory for this process; returns a function that releases it. The lock is
 * SQLite's file lock on a file of its own: the system frees it when the process ends, even by a
 * crash.
 * @throws `store.in_use` when another process has it
 */
export function lockDataDir(dataDir: string): () => void {
  const release = tryLock(join(dataDir, LOCK_FILE));
  if (release) return release;
  if (isRestoreUnfinished(dataDir)) {
    throw storeErrors.in_use({
      message: `A backup is being restored into the data directory ${dataDir}. Wait until it has ended, or choose another with --data-dir.`,
    });
  }
  throw storeErrors.in_use({
    message: `Another gateway is running on the data directory ${dataDir}. Stop it first, or choose another with --data-dir.`,
  });
}

/**
 * Locks the making of backups of a data directory in the same way. Undefined when another process
 * has it.
 */
export const lockBackups = (dataDir: string): (() => void) | undefined => tryLock(join(dataDir, BACKUP_LOCK_FILE));

function tryLock(path: string): (() => void) | undefined {
  const file = new SqliteFile(path, { create: true });
  try {
    file.run('pragma journal_mode = off');
    file.run('begin exclusive');
  } catch (error) {
    file.close();
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  return () => file.close();
}

/**
 * Creates nothing.
 * @throws `store.in_use` when another process has the data directory
 */
export function requireFreeDataDir(dataDir: string): void {
  if (existsSync(join(dataDir, LOCK_FILE))) lockDataDir(dataDir)();
}

/** In the data directory: what a restore has not finished. */
export const restoreFolder = (dataDir: string): string => join(dataDir, 'taskgate.restoring');

/** A restore of SQLite runs, or was interrupted. The database comes last: with it, it has ended. */
export const isRestoreUnfinished = (dataDir: string): boolean =>
  existsSync(restoreFolder(dataDir)) && !existsSync(sqlitePath(dataDir));
