import type { Database as SqliteFile } from 'bun:sqlite';

/** A snapshot that fewer reads share costs more than their locks: ending it takes a turn. */
const WORTHWHILE_READS = 4;
/** After that, this many reads lock for themselves before sharing is tried again. */
const SEPARATE_READS = 64;

/**
 * Reads of a busy connection within the same turn of the event loop share one snapshot, and so one
 * lock of the write-ahead log, which takes three quarters of a read by key. Reads are as fresh as
 * with a lock each: whatever a request could know of was committed before the turn in which it
 * arrived, and `end` must be called before this process commits.
 */
export function createReadSnapshot<T>(file: SqliteFile, read: (text: string, params: unknown[]) => T) {
  const begin = file.query('begin');
  const commit = file.query('commit');
  let isOpen = false;
  let reads = 0;
  let separate = 0;

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    if (reads < WORTHWHILE_READS) separate = SEPARATE_READS;
    try {
      commit.run();
    } catch {
      // After an I/O error SQLite has ended it, and the read that met the error has reported it.
      if (file.inTransaction) file.run('rollback');
    }
  }

  return {
    read(text: string, params: unknown[]): T {
      if (isOpen) {
        reads += 1;
      } else if (separate > 0) {
        separate -= 1;
      } else {
        begin.run();
        isOpen = true;
        reads = 1;
        setImmediate(end);
      }
      return read(text, params);
    },
    end,
  };
}
