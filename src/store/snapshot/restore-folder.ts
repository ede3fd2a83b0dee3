import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sqlitePath } from '../drivers/sqlite.ts';

/** In the data directory: what a restore has not finished. */
export const restoreFolder = (dataDir: string): string => join(dataDir, 'taskgate.restoring');

/** A restore of SQLite runs, or was interrupted. The database comes last: with it, it has ended. */
export const isRestoreUnfinished = (dataDir: string): boolean =>
  existsSync(restoreFolder(dataDir)) && !existsSync(sqlitePath(dataDir));
