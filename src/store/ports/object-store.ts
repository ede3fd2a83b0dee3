/** Named files of backups, in a folder or a bucket. A file appears whole or not at all. */

import type { Result } from '../../kernel/index.ts';
import type { FileFault, StoredFile } from './file-store.ts';

export interface ObjectStore {
  /**
   * Stores the bytes of `source` under `key`, in place of a former file, and resolves when they are
   * durable. After a fault nothing has changed. Rejects with what `source` throws.
   */
  put(
    key: string,
    source: AsyncIterable<Uint8Array>,
    limit: { signal: AbortSignal },
  ): Promise<Result<StoredFile, FileFault>>;
  /** The bytes of a file; undefined: it is not there. */
  open(key: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /** The names directly below a folder; an empty folder name is the outermost. */
  list(folder: string): Promise<{ files: string[]; folders: string[] }>;
  /** Removes a file; nothing happens if it is not there. */
  delete(key: string): Promise<void>;
  /**
   * Removes what killed processes left half written before `before` (Unix seconds). Returns how
   * many that were.
   */
  sweep(before: number): Promise<number>;
}
