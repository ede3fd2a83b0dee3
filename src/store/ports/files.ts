/** Where bytes are: kept results, named by their digest, and named files of backups. */
import type { Result, Sentence } from '../../kernel/index.ts';

/**
 * This option says until when files that no row names stay, in Unix seconds; the catalogue does not
 * list it. A copy that took the place of the database does not know what was kept since; the
 * database that it replaced does, and may come back.
 */
export const ORPHANS_STAY = 'results.orphans_stay_until';
export const ORPHANS_STAY_SECONDS = 7 * 86_400;

/** Bytes as they arrive, the SHA-256 and size that they turned out to have. */
export type StoredFile = { sha256: string; bytes: number };

/** In words that are safe to show: no address, no credential. */
export type FileFault = Sentence & {
  /**
   * `full`: no room, by the disk or by a limit. `too_large`: the file is larger than one may be.
   * `unavailable`: the place does not answer, or refuses.
   */
  kind: 'full' | 'too_large' | 'unavailable';
};

/** A part of a file; `end` is the first byte after it. */
export type ByteSpan = { start: number; end: number };

export interface FileStore {
  readonly kind: 'folder' | 's3';
  /** Why nothing may be read or written here at all, in words for administrators. */
  findFault(): Promise<Sentence | undefined>;
  /**
   * Stores the bytes of `source`, and resolves when they are durable under their digest. After a
   * fault nothing new is under any digest. Rejects with what `source` throws.
   */
  put(
    source: AsyncIterable<Uint8Array>,
    limit: { maxBytes: number; signal: AbortSignal },
  ): Promise<Result<StoredFile, FileFault>>;
  /** The bytes of a file, or a part. Undefined: it is not there. */
  open(sha256: string, span?: ByteSpan): Promise<Blob | ReadableStream<Uint8Array> | undefined>;
  /**
   * Gives `work` a descriptor of the file, from which any part can be read, and closes it after
   * that. A file elsewhere is copied to this machine's disk first, if it has at most `maxBytes`.
   * Undefined: it is not there, or too large for that.
   */
  withDescriptor<T>(
    sha256: string,
    limit: { maxBytes: number; signal: AbortSignal },
    work: (descriptor: number) => Promise<T>,
  ): Promise<T | undefined>;
  /** The size of a file in bytes; undefined: it is not there. */
  size(sha256: string): Promise<number | undefined>;
  /** Removes a file; nothing happens if it is not there. */
  delete(sha256: string): Promise<void>;
  /** Files after a digest, in order of the digest. `changedAt`: Unix seconds. */
  list(after: string, limit: number): Promise<{ sha256: string; changedAt: number; bytes: number }[]>;
  /** Removes what interrupted writes left behind that began before `before` (Unix seconds). */
  sweep(before: number): Promise<number>;
  /**
   * A link to the file that works without us for `seconds`; undefined where the place has none. It
   * answers with this content type and Content-Disposition.
   */
  presign(sha256: string, link: { seconds: number; mimeType: string; disposition: string }): string | undefined;
}

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
