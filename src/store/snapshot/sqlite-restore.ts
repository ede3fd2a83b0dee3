import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { syncFolder } from '../drivers/create-file-writer.ts';
import { sqlitePath } from '../drivers/sqlite.ts';
import { storeErrors } from '../errors.ts';
import { isRestoreUnfinished, restoreFolder } from './restore-folder.ts';

/** Locks, and the work of backups: nothing that anybody would miss. */
const LOCK = /^taskgate\.(?:lock|backup)/;

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
    (name) => name !== basename(folder) && !LOCK.test(name) && !allowed.includes(name),
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
