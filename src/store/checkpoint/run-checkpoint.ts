/**
 * The entry of the thread that copies the write-ahead log into the database, which
 * `checkpoint-thread.ts` starts. Also an entry of the executable.
 */
import { Database as SqliteFile } from 'bun:sqlite';

declare const self: Worker;

let file: SqliteFile | undefined;

function checkpoint(filename: string): number {
  if (!file) {
    file = new SqliteFile(filename, { readwrite: true });
    // Log and database reach the disk in the order that a power cut asks for. It never waits for a
    // lock: what is in use now is copied the next time.
    file.run('pragma busy_timeout = 0');
    file.run('pragma synchronous = normal');
  }
  const [, pages, copied] = file.query('pragma wal_checkpoint(passive)').values()[0] ?? [];
  return Number(pages) - Number(copied);
}

self.onmessage = ({ data }: MessageEvent<{ filename: string } | 'close'>) => {
  try {
    if (data === 'close') {
      file?.close();
      file = undefined;
      self.postMessage({ left: 0 });
    } else {
      self.postMessage({ left: checkpoint(data.filename) });
    }
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
