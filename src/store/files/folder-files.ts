import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import type { FileStore } from '../ports/index.ts';
import { guardFileNames, isDigest } from './guard-file-names.ts';
import { createFileWriter, listEntries, removeOldFiles, statOrNothing } from './write-file.ts';

/** Files in the making; a file's place under its digest is taken by renaming it. */
const PARTIAL = '.partial';

/**
 * Files in a folder, which several nodes may share. `ab/abcdef…` holds the file with this digest. A
 * file is written beside, flushed to the disk and then renamed, so a file under a digest is
 * complete. `minFreeBytes`: writing stops before the disk has less than this.
 */
export function createFolderFiles({ folder, minFreeBytes }: { folder: string; minFreeBytes: number }): FileStore {
  const partial = join(folder, PARTIAL);
  const toPath = (sha256: string): string => join(folder, sha256.slice(0, 2), sha256);

  const writeFile = createFileWriter({ folder, partial, minFreeBytes });

  return guardFileNames({
    kind: 'folder',
    findFault: async () => undefined,

    put: (source, limit) => writeFile(source, { ...limit, toPath: ({ sha256 }) => toPath(sha256) }),

    async open(sha256, span) {
      const path = toPath(sha256);
      // What cannot be looked at is not lost.
      if (!(await statOrNothing(path).catch(unavailable))) return undefined;
      const file = Bun.file(path);
      return span ? file.slice(span.start, span.end) : file;
    },

    async withDescriptor(sha256, _, work) {
      const handle = await open(toPath(sha256), 'r').catch(() => undefined);
      return handle && (await work(handle.fd).finally(() => handle.close()));
    },

    async size(sha256) {
      return (await statOrNothing(toPath(sha256)))?.size;
    },

    async delete(sha256) {
      await rm(toPath(sha256), { force: true });
    },

    async list(after, limit) {
      const found: { sha256: string; changedAt: number; bytes: number }[] = [];
      for (const prefix of (await listEntries(folder)).map(({ name }) => name).sort()) {
        if (!/^[0-9a-f]{2}$/.test(prefix) || prefix < after.slice(0, 2)) continue;
        const names = (await listEntries(join(folder, prefix))).map(({ name }) => name).sort();
        for (const name of names) {
          if (!isDigest(name) || name <= after) continue;
          const file = await statOrNothing(toPath(name));
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
  });
}

function unavailable(cause: NodeJS.ErrnoException): never {
  throw storeErrors.results_unavailable({ cause });
}
