import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrors } from '../errors.ts';

const LOCK_FILE = 'taskgate.lock';

/**
 * Locks the data directory for this process; returns a function that releases it. The lock is
 * SQLite's file lock on a file of its own: the system frees it when the process ends, even by a
 * crash.
 * @throws `store.in_use` when another process has it
 */
export function lockDataDir(dataDir: string): () => void {
  const file = new SqliteFile(join(dataDir, LOCK_FILE), { create: true });
  try {
    file.run('pragma journal_mode = off');
    file.run('begin exclusive');
  } catch (error) {
    file.close();
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) {
      throw storeErrors.in_use({
        message: `Another gateway is running on the data directory ${dataDir}. Stop it first, or choose another with --data-dir.`,
      });
    }
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
