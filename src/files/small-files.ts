import type { ReportCacheSize } from '../kernel/index.ts';
import type { FileStore, KeptResultRecord } from '../store/ports/index.ts';

/** Larger files are sent by the operating system, which costs less than a copy in memory. */
const MAX_FILE_BYTES = 64 * 1024;
/** Memory of all of them together. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

export type SmallFiles = {
  /** A kept file whole; undefined where it is not small, or not there as recorded. */
  read(file: Pick<KeptResultRecord, 'bytes'> & { sha256: string }): Promise<Uint8Array | undefined>;
};

/**
 * Holds small kept files, such as pictures of a gallery: to look for one, open and read it takes
 * longer than to send it. A digest never has other bytes, so nothing has to be told of a change.
 * The caller has read that the file is kept.
 */
export function createSmallFiles(
  { files }: { files: Pick<FileStore, 'open'> },
  reportCacheSize?: ReportCacheSize,
): SmallFiles {
  const known = new Map<string, Uint8Array>();
  let held = 0;
  reportCacheSize?.('small_results', () => known.size);

  return {
    async read({ sha256, bytes }) {
      if (bytes > MAX_FILE_BYTES) return undefined;
      const found = known.get(sha256);
      if (found) return found;
      const body = await files.open(sha256);
      const read = body && (await new Response(body).bytes());
      if (read?.byteLength !== bytes) return undefined;
      if (!known.has(sha256)) held += bytes;
      known.set(sha256, read);
      for (const [oldest, { byteLength }] of known) {
        if (held <= MAX_HELD_BYTES) break;
        known.delete(oldest);
        held -= byteLength;
      }
      return read;
    },
  };
}
