import { type FileHandle, statfs } from 'node:fs/promises';
import { err, ok, type Result } from '../../kernel/index.ts';
import type { FileFault, StoredFile } from '../ports/index.ts';

/** Free space is looked at again after this many written bytes. */
const CHECK_EVERY_BYTES = 16 * 1024 * 1024;

type WriteLimit = {
  maxBytes: number;
  signal: AbortSignal;
  /** Writing stops before the disk of `folder` has less than this. */
  minFreeBytes: number;
  folder: string;
};

/**
 * Appends everything to `handle`. Returns its digest, or why it was not written. Rejects with what
 * `source` throws.
 */
export async function writeHashed(
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { maxBytes, signal, minFreeBytes, folder }: WriteLimit,
): Promise<Result<StoredFile, FileFault>> {
  const hash = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  let nextCheck = 0;
  for await (const chunk of source) {
    signal.throwIfAborted();
    if (bytes + chunk.byteLength > maxBytes) {
      return err({ kind: 'too_large', message: `it has more than ${maxBytes} bytes` });
    }
    if (bytes >= nextCheck) {
      const { bavail, bsize } = await statfs(folder);
      if (bavail * bsize < minFreeBytes) {
        return err({ kind: 'full', message: `less than ${minFreeBytes} bytes are free after ${bytes} bytes` });
      }
      nextCheck = bytes + CHECK_EVERY_BYTES;
    }
    hash.update(chunk);
    await handle.writeFile(chunk);
    bytes += chunk.byteLength;
  }
  signal.throwIfAborted();
  return ok({ sha256: hash.digest('hex'), bytes });
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const UNAVAILABLE = ['EACCES', 'EPERM', 'EROFS', 'EIO', 'ENOENT', 'ENOTDIR', 'ESTALE', 'EMFILE', 'ENFILE'];

/** What the file system refused; undefined for any other error. */
export function toFileFault(error: unknown): FileFault | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (FULL.includes(code)) return { kind: 'full', message: `the folder is full (${code})` };
  if (UNAVAILABLE.includes(code)) {
    return { kind: 'unavailable', message: `the folder cannot be written (${code})` };
  }
  return undefined;
}
