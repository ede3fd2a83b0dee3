import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { err, randomAlnum } from '../../kernel/index.ts';
import type { FileStore } from '../ports/index.ts';
import { entriesOf, removeOldFiles, statOrNothing } from './remove-old-files.ts';
import { toFileFault, writeHashed } from './write-hashed.ts';

/** Files in the making; a file's place under its digest is taken by renaming it. */
const PARTIAL = '.partial';
const DIGEST = /^[0-9a-f]{64}$/;

type PutLimit = Parameters<FileStore['put']>[1];

/**
 * Files in a folder, which several nodes may share. `ab/abcdef…` holds the file with this digest. A
 * file is written beside, flushed to the disk and then renamed, so a file under a digest is whole.
 * `minFreeBytes`: writing stops before the disk has less than this.
 */
export function createFolderFiles({ folder, minFreeBytes }: { folder: string; minFreeBytes: number }): FileStore {
  const partial = join(folder, PARTIAL);
  const pathOf = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);

  async function write(handle: FileHandle, source: AsyncIterable<Uint8Array>, limit: PutLimit) {
    const written = await writeHashed(handle, source, { ...limit, minFreeBytes, folder: partial });
    if (written.ok) await handle.sync();
    return written;
  }

  async function place(from: string, sha256: string): Promise<void> {
    const path = pathOf(sha256);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(from, path);
    // The name is durable only once its folder is.
    await syncFolder(dirname(path));
    await syncFolder(folder);
  }

  return {
    kind: 'folder',
    findFault: async () => undefined,

    async put(source, limit) {
      const temporary = join(partial, randomAlnum(24));
      try {
        await mkdir(partial, { recursive: true, mode: 0o700 });
        const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_APPEND;
        const handle = await open(temporary, flags, 0o600);
        const written = await write(handle, source, limit).finally(() => handle.close());
        if (written.ok) await place(temporary, written.value.sha256);
        return written;
      } catch (error) {
        const fault = toFileFault(error);
        if (fault) return err(fault);
        throw error;
      } finally {
        await rm(temporary, { force: true }).catch(() => undefined);
      }
    },

    async open(sha256, span) {
      const file = Bun.file(pathOf(sha256));
      if (!(await file.exists())) return undefined;
      return span ? file.slice(span.start, span.end) : file;
    },

    async size(sha256) {
      return (await statOrNothing(pathOf(sha256)))?.size;
    },

    async delete(sha256) {
      await rm(pathOf(sha256), { force: true });
    },

    async list(after, limit) {
      const found: { sha256: string; changedAt: number; bytes: number }[] = [];
      for (const prefix of (await entriesOf(folder)).map(({ name }) => name).sort()) {
        if (!/^[0-9a-f]{2}$/.test(prefix) || prefix < after.slice(0, 2)) continue;
        const names = (await entriesOf(join(folder, prefix))).map(({ name }) => name).sort();
        for (const name of names) {
          if (!DIGEST.test(name) || name <= after) continue;
          const file = await statOrNothing(pathOf(name));
          if (file) found.push({ sha256: name, changedAt: Math.floor(file.mtimeMs / 1000), bytes: file.size });
          if (found.length >= limit) return found;
        }
      }
      return found;
    },

    async sweep(before) {
      return removeOldFiles(partial, before);
    },

    presign: () => undefined,
  };
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  // Some network file systems cannot flush a folder; there the rename itself is durable.
  await handle.sync().catch(() => undefined);
  await handle.close();
}
