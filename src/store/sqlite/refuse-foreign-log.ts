/**
 * SQLite replays the write-ahead log that it finds beside a database into whatever file has the
 * name by then. So a serving gateway marks its file (`database-mark.ts`), and notes mark and log
 * beside it (`claimLog`). A copy has another mark, and with it the log of a gateway that was killed
 * is refused, and so is a copy that is still being put into its place (`requireOneFile`).
 */
import type { Database as SqliteFile } from 'bun:sqlite';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, parseJson } from '../../kernel/index.ts';
import { storeErrors } from '../drivers/errors.ts';
import { LOG_HEADER_BYTES, SALT_AT } from './count-log-pages.ts';
import { newMark, readMark, readNumber } from './database-mark.ts';
import { writeFlushed } from './flush.ts';

/** Mark and log of the gateway that serves. */
const OWNER_FILE = 'taskgate.db-wal-owner';
/** In the data directory while a copy takes the place of the database. */
export const INTENT_FILE = 'taskgate.replacing';
/** The salt of a log counts by one with each new beginning. */
const MOST_BEGINNINGS = 2 ** 24;
const OWNER_BYTES = 200;

/**
 * Gives the file of a gateway that begins to serve a new mark, and notes that the log from now on
 * is its own. What an earlier process left in the log goes into the file first. Where another
 * process reads an old state, such as a backup, all stays as it was.
 */
export function claimLog(file: SqliteFile, dataDir: string): void {
  const isBusy = () => Number(file.query('pragma wal_checkpoint(truncate)').values()[0]?.[0] ?? 0) !== 0;
  if (file.query('pragma journal_mode').values()[0]?.[0] !== 'wal' || isBusy()) return;
  const mark = newMark();
  rmSync(join(dataDir, OWNER_FILE), { force: true });
  file.run(`pragma application_id = ${mark}`);
  const salt = readNumber(`${file.filename}-wal`, SALT_AT);
  // Without the new mark in the file itself, nothing can be told from it.
  if (isBusy() || salt === undefined) return;
  writeFlushed(join(dataDir, OWNER_FILE), JSON.stringify({ mark, salt }));
}

/**
 * Whether the log beside the database was written by a gateway on another file. False also where
 * that cannot be told: a log of another program, or of a version that noted nothing.
 */
export function hasForeignLog(dataDir: string): boolean {
  const path = join(dataDir, 'taskgate.db');
  // A folder that cannot be looked at is reported when the database is opened.
  const size = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
  if (size <= LOG_HEADER_BYTES) return false;
  const owner = readOwner(dataDir);
  const salt = readNumber(`${path}-wal`, SALT_AT);
  if (owner === undefined || salt === undefined || (salt - owner.salt) >>> 0 > MOST_BEGINNINGS) return false;
  const mark = readMark(path);
  return mark !== undefined && mark !== owner.mark;
}

/**
 * Call it before this process opens the database: closing a file drops the locks that SQLite holds
 * on it in the same process.
 * @throws `store.restore_unfinished` while a copy takes its place, `store.foreign_log`
 */
export function requireOneFile(dataDir: string): void {
  if (existsSync(join(dataDir, INTENT_FILE))) {
    throw storeErrors.restore_unfinished({
      message: `A copy is being put into the place of the database in ${dataDir}, or that was interrupted. Start the gateway, which ends it.`,
    });
  }
  if (!hasForeignLog(dataDir)) return;
  const path = join(dataDir, 'taskgate.db');
  throw storeErrors.foreign_log({
    message: `The log ${path}-wal belongs to another file than ${path}, and would damage it. If you have put a copy there, run "taskgate restore-copy" with that copy; by hand, move taskgate.db-wal and taskgate.db-shm out of the folder, then start again.`,
  });
}

/** The note says nothing about a database that was put into the place of another. */
export const forgetOwner = (dataDir: string): void => rmSync(join(dataDir, OWNER_FILE), { force: true });

function readOwner(dataDir: string): { mark: number; salt: number } | undefined {
  const path = join(dataDir, OWNER_FILE);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const value = size > 0 && size <= OWNER_BYTES ? parseJson(readFileSync(path, 'utf8')) : undefined;
  if (!isObject(value) || typeof value.mark !== 'number' || typeof value.salt !== 'number') return undefined;
  return { mark: value.mark, salt: value.salt };
}
