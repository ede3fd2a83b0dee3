/**
 * The entry of the thread that copies the write-ahead log into the database, which
 * `schedule-checkpoints.ts` starts. Also an entry of the executable.
 */
import { Database as SqliteFile } from 'bun:sqlite';

declare const self: Worker;

let file: SqliteFile | undefined;

/** How many pages of the log have been copied since it started over. */
function checkpoint(filename: string): number {
  if (!file) {
    file = new SqliteFile(filename, { readwrite: true });
    // Log and database reach the disk in the order that a power cut asks for. It never waits for a
    // lock: what is in use now is copied the next time.
    file.run('pragma busy_timeout = 0');
    file.run('pragma synchronous = normal');
  }
  const [, , copied] = file.query('pragma wal_checkpoint(passive)').values()[0] ?? [];
  return Number(copied);
}

self.onmessage = ({ data }: MessageEvent<{ filename: string } | 'close'>) => {
  try {
    if (data === 'close') {
      file?.close();
      file = undefined;
      self.postMessage({ copied: 0 });
    } else {
      self.postMessage({ copied: checkpoint(data.filename) });
    }
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
