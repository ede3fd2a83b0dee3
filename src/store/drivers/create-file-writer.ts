import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { err, type Result, randomAlnum } from '../../kernel/index.ts';
import type { FileFault, StoredFile } from '../ports/index.ts';
import { toFileFault, writeHashed } from './write-hashed.ts';

type FilePut = {
  maxBytes: number;
  signal: AbortSignal;
  /** Where the file goes, once its digest is known; below `folder`. */
  pathOf: (file: StoredFile) => string;
};

/**
 * Returns a function that writes a file into `partial`, flushes it to the disk and then renames it:
 * a file at its path is whole. `minFreeBytes`: writing stops before the disk has less than this.
 */
export function createFileWriter(place: { folder: string; partial: string; minFreeBytes: number }) {
  const { folder, partial, minFreeBytes } = place;

  async function write(handle: FileHandle, source: AsyncIterable<Uint8Array>, limit: FilePut) {
    const written = await writeHashed(handle, source, { ...limit, minFreeBytes, folder: partial });
    if (written.ok) await handle.sync();
    return written;
  }

  async function moveInto(from: string, path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(from, path);
    // The name is durable only once its folder is.
    await syncFolder(dirname(path));
    await syncFolder(folder);
  }

  return async (source: AsyncIterable<Uint8Array>, limit: FilePut): Promise<Result<StoredFile, FileFault>> => {
    const temporary = join(partial, randomAlnum(24));
    try {
      await mkdir(partial, { recursive: true, mode: 0o700 });
      const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_APPEND;
      const handle = await open(temporary, flags, 0o600);
      const written = await write(handle, source, limit).finally(() => handle.close());
      if (written.ok) await moveInto(temporary, limit.pathOf(written.value));
      return written;
    } catch (error) {
      const fault = toFileFault(error);
      if (fault) return err(fault);
      throw error;
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  };
}

export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  // Some network file systems cannot flush a folder; there the rename itself is durable.
  await handle.sync().catch(() => undefined);
  await handle.close();
}
