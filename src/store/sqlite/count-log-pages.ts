/** How many pages the write-ahead log has, by which checkpoints are scheduled. */
import { Database as SqliteFile } from 'bun:sqlite';
import { closeSync, openSync, readSync } from 'node:fs';

/** The first version that says how much of the log is copied without copying any. */
const NOOP_VERSION = '3.51.0';
/** See https://www.sqlite.org/walformat.html. */
export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
export const PAGE_SIZE_AT = 8;
export const SALT_AT = 16;
const SALT_BYTES = 8;
const FRAME_SALT_AT = 8;

export type LogPages = {
  /** Pages in the log that have been copied, and that have not. */
  count(): { copied: number; left: number };
  /** The checkpoint that has just ended copied this many. */
  note(copied: number): void;
  close(): void;
};

const readVersion = (file: SqliteFile): string => String(file.query('select sqlite_version()').values()[0]?.[0] ?? '');

const knowsNoop = (version: string): boolean => Bun.semver.order(version, NOOP_VERSION) >= 0;

/** Which SQLite the runtime has loaded, and what the gateway does without in it. */
export function describeSqlite(): { version: string; lacks: string[] } {
  const file = new SqliteFile(':memory:');
  const version = readVersion(file);
  file.close();
  const lacks = [`a checkpoint that only counts (${NOOP_VERSION}): the gateway reads the write-ahead log instead`];
  return { version, lacks: knowsNoop(version) ? [] : lacks };
}

/**
 * Counts the pages of the write-ahead log. An older version of SQLite, such as that of a system
 * whose library the runtime loads, takes `noop` for a checkpoint and would make one in this thread
 * at each commit: there the log itself is read, whose frames carry the salt of its beginning.
 */
export const createLogPages = (file: SqliteFile): LogPages =>
  knowsNoop(readVersion(file)) ? askSqlite(file) : readLog(`${file.filename}-wal`);

const askSqlite = (file: SqliteFile): LogPages => ({
  count() {
    const [, pages, copied] = file.query('pragma wal_checkpoint(noop)').values()[0] ?? [];
    return { copied: Number(copied), left: Number(pages) - Number(copied) };
  },
  note() {},
  close() {},
});

/** Nobody locks the log itself, so it can be opened and closed beside SQLite. */
export function readLog(path: string): LogPages {
  let log: number | undefined;
  let known = { salt: '', copied: 0 };

  const readAt = (at: number, bytes: number): Buffer | undefined => {
    log ??= openSync(path, 'r');
    const buffer = Buffer.alloc(bytes);
    return readSync(log, buffer, 0, bytes, at) === bytes ? buffer : undefined;
  };

  /** The frames since the log started over; older ones may follow them. */
  function measure(): { salt: string; pages: number } {
    const header = readAt(0, LOG_HEADER_BYTES);
    if (!header) return { salt: '', pages: 0 };
    const salt = header.toString('hex', SALT_AT, SALT_AT + SALT_BYTES);
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(PAGE_SIZE_AT);
    const isOwn = (frame: number): boolean =>
      readAt(LOG_HEADER_BYTES + frame * frameBytes + FRAME_SALT_AT, SALT_BYTES)?.toString('hex') === salt;
    let own = 0;
    let other = 1;
    while (isOwn(other - 1)) {
      own = other;
      other *= 2;
    }
    while (other - own > 1) {
      const middle = Math.floor((own + other) / 2);
      if (isOwn(middle - 1)) own = middle;
      else other = middle;
    }
    return { salt, pages: own };
  }

  return {
    count() {
      const { salt, pages } = measure();
      const copied = salt === known.salt ? Math.min(known.copied, pages) : 0;
      return { copied, left: pages - copied };
    },
    note(copied) {
      known = { salt: measure().salt, copied };
    },
    close() {
      if (log !== undefined) closeSync(log);
      log = undefined;
    },
  };
}
