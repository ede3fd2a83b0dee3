import type { Dirent } from 'node:fs';
import { closeSync, constants, fsync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { err, ok, type Result, randomAlnum, randomToken, sentence } from '../../kernel/index.ts';
import type { FileFault, StoredFile } from '../ports/index.ts';

type FilePut = {
  maxBytes: number;
  signal: AbortSignal;
  /** Where the file goes, once its digest is known; below `folder`. */
  toPath: (file: StoredFile) => string;
};

/**
 * Returns a function that writes a file into `partial`, flushes it to the disk and then renames it:
 * a file at its path is complete. `minFreeBytes`: writing stops before the disk has less than this.
 */
export function createFileWriter(target: { folder: string; partial: string; minFreeBytes: number }) {
  const { folder, partial, minFreeBytes } = target;

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
      if (written.ok) await moveInto(temporary, limit.toPath(written.value));
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

/** Free space is checked again after this many written bytes. */
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
      return err({ kind: 'too_large', ...sentence('place.bytes', { max: maxBytes }) });
    }
    if (bytes >= nextCheck) {
      const { bavail, bsize } = await statfs(folder);
      if (bavail * bsize < minFreeBytes) {
        return err({ kind: 'full', ...sentence('place.low', { min: minFreeBytes, bytes }) });
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

/** The fault that the file system reported; undefined for any other error. */
export function toFileFault(error: unknown): FileFault | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (FULL.includes(code)) return { kind: 'full', ...sentence('place.folder_full', { code }) };
  if (UNAVAILABLE.includes(code)) {
    return { kind: 'unavailable', ...sentence('place.folder_unwritable', { code }) };
  }
  return undefined;
}

/**
 * Creates a file that its owner alone can read. It appears complete and flushed or not at all, also
 * after a crash; on a file system without hard links, a crash may leave it empty. Returns false if
 * the file exists already: only one of several processes creates it.
 * @throws the system's error when it cannot be written
 */
export function createFileOnce(path: string, content: Uint8Array): boolean {
  const draft = `${path}.${randomToken(6)}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    try {
      writeWhole(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    return linkOnce(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** As `createFileOnce`, for a large file: other work goes on while the disk takes it. */
export async function createLargeFileOnce(path: string, content: Uint8Array): Promise<boolean> {
  const draft = `${path}.${randomToken(6)}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    try {
      writeWhole(descriptor, content);
      await promisify(fsync)(descriptor);
    } finally {
      closeSync(descriptor);
    }
    return linkOnce(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

function writeWhole(descriptor: number, content: Uint8Array): void {
  for (let written = 0; written < content.length; ) written += writeSync(descriptor, content, written);
}

function linkOnce(draft: string, path: string): boolean {
  try {
    linkOrMoveNew(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Unlike a mere rename, neither replaces an existing file. */
function linkOrMoveNew(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // On a file system without hard links, such as exFAT, an empty file takes the name first.
    closeSync(openSync(to, 'wx', 0o600));
    renameSync(from, to);
  }
}

/** Removes the files of a folder that were last written before `before` (Unix seconds). */
export async function removeOldFiles(folder: string, before: number): Promise<number> {
  let removed = 0;
  for (const { name } of await listEntries(folder)) {
    const path = join(folder, name);
    const file = await statOrNothing(path);
    if (!file || file.mtimeMs / 1000 >= before) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}

/** What is in a folder; nothing when there is no such folder. */
export const listEntries = (path: string): Promise<Dirent[]> =>
  readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

export const statOrNothing = (path: string) =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
