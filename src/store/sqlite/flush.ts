import type { Database as SqliteFile } from 'bun:sqlite';
import { closeSync, fdatasync, fsyncSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { waitForLock } from './wait-for-lock.ts';

type SyncFile = (descriptor: number) => Promise<void>;

/**
 * Brings commits of `file` to the disk as `synchronous=FULL` does at each commit, but in another
 * thread: the event loop would be blocked for as long as the disk takes. The connection is set to
 * NORMAL, under which SQLite writes a commit to the write-ahead log and leaves only this out.
 * `flush` resolves when all that was committed before is on the disk, and rejects with the system's
 * error. Undefined where there is no write-ahead log, as on a file system without shared memory:
 * SQLite keeps its own flushes there.
 */
export function createLogFlush(file: SqliteFile, syncFile: SyncFile = promisify(fdatasync)) {
  if (!usesLog(file)) return undefined;
  file.run('pragma synchronous = normal');
  let log: number | undefined;
  let hasFailed = false;
  return {
    async flush(): Promise<void> {
      // The system may have dropped the pages that it could not write, and no later flush brings
      // them back. What the log holds goes into the database itself, and the log starts over.
      if (hasFailed) {
        await waitForLock(() => {
          const [busy] = file.query('pragma wal_checkpoint(restart)').values()[0] ?? [];
          if (busy !== 0) throw Object.assign(new Error('The write-ahead log is in use.'), { code: 'SQLITE_BUSY' });
        });
        hasFailed = false;
      }
      try {
        log ??= openSync(`${file.filename}-wal`, 'r+');
        await syncFile(log);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    },
    close(): void {
      if (log !== undefined) closeSync(log);
    },
  };
}

/** Whether the database has a write-ahead log. */
export const usesLog = (file: SqliteFile): boolean => file.query('pragma journal_mode').values()[0]?.[0] === 'wal';

/** Brings a folder's names to the disk. */
export function flushFolder(path: string): void {
  // Windows opens no folder, and keeps the order of names itself.
  if (process.platform !== 'win32') flushFile(path);
}

export function flushFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a small file of its owner's, and brings its content to the disk. */
export function writeFlushed(path: string, text: string): void {
  const descriptor = openSync(path, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
