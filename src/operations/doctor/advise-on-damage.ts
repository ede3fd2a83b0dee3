import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, isoTime } from '../../kernel/index.ts';
import { describeLocation } from '../backup/backup-location.ts';
import type { BackupConfig } from '../backup/types.ts';

const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)/;
/** Damage of SQLite, and what PostgreSQL says of broken pages, broken indexes and its disk. */
const ANY_DAMAGE = /^(?:SQLITE_(?:CORRUPT|NOTADB|IOERR)|(?:XX|58)[0-9A-Z]{3})/;
/** Copies that upgrades and `restore-copy` leave beside the database. */
const COPY = /^taskgate\.db\.(?:before|replaced)-[^.]+$/;

const readCause = (error: unknown): string =>
  error instanceof AppError && error.cause instanceof Error ? error.cause.message : '';

/** Whether what stopped a check is itself damage: a database that is away or locked is whole. */
export const isDamage = (error: unknown): boolean => ANY_DAMAGE.test(readCause(error));

/**
 * Which way back is right for a database that does not open: the newest backup, a copy that is
 * there, or what can still be read. Undefined: the error reports no damage.
 */
export function adviseOnDamage(error: unknown, config: BackupConfig): string | undefined {
  const cause = readCause(error);
  if (!DAMAGE.test(cause)) return undefined;
  const { dataDir } = config;
  const place = describeLocation(config);
  const copy = findNewestCopy(dataDir);
  const ways = [
    place === null
      ? 'BACKUP_TO is not set; where you have a backup all the same, "taskgate backup restore --from PLACE" into an empty data directory is the first choice'
      : `the newest backup first: "taskgate backup restore" from ${place} into an empty data directory`,
    ...(copy
      ? [`else the copy of ${copy.at}: "taskgate restore-copy ${copy.path}" (what happened after it is not in it)`]
      : []),
    'for what no backup has: "taskgate salvage --to NEW_FOLDER" exports what can be read',
  ];
  return `the database in ${dataDir} is damaged (${cause}). Copy ${dataDir} somewhere else before anything. Then:\n${ways.map((way) => `  - ${way}`).join('\n')}\nSee "A damaged database" in docs/operating/incidents.md`;
}

function findNewestCopy(dataDir: string): { path: string; at: string } | undefined {
  try {
    const copies = readdirSync(dataDir)
      .filter((name) => COPY.test(name))
      .map((name) => ({ path: join(dataDir, name), ms: statSync(join(dataDir, name)).mtimeMs }));
    const [newest] = copies.sort((one, other) => other.ms - one.ms);
    return newest && { path: newest.path, at: isoTime(newest.ms).slice(0, 16) };
  } catch {
    return undefined;
  }
}
