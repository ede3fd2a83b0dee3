import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import type { ObjectStore } from '../ports/index.ts';
import { createFileWriter, listEntries, removeOldFiles, statOrNothing } from './write-file.ts';

/** Files in the making. */
const PARTIAL = '.partial';

/**
 * Backups as named files in a folder. They are readable by their owner only. All but `put` reject
 * with `store.backups_unavailable`: what cannot be looked at is not absent, or a clean-up would
 * remove it.
 */
export function createFolderObjects(folder: string): ObjectStore {
  const partial = join(folder, PARTIAL);
  const writeFile = createFileWriter({ folder, partial, minFreeBytes: 0 });

  return {
    put: (key, source, { signal }) =>
      writeFile(source, { signal, maxBytes: Number.POSITIVE_INFINITY, toPath: () => join(folder, key) }),

    async open(key) {
      const path = join(folder, key);
      return (await statOrNothing(path).catch((error) => rethrow(error))) && Bun.file(path).stream();
    },

    async list(below) {
      const entries = await listEntries(join(folder, below)).catch((error) => rethrow(error));
      const named = (isWanted: boolean) =>
        entries
          .filter((entry) => entry.isDirectory() === isWanted && entry.name !== PARTIAL)
          .map(({ name }) => name)
          .sort();
      return { files: named(false), folders: named(true) };
    },

    async delete(key) {
      const path = join(folder, key);
      await rm(path, { force: true }).catch((error: NodeJS.ErrnoException) => rethrow(error, 'deleted'));
      // An empty folder would look like an unfinished backup.
      await rmdir(dirname(path)).catch(() => undefined);
    },

    sweep: (before) => removeOldFiles(partial, before).catch((error) => rethrow(error)),
  };
}

function rethrow(error: NodeJS.ErrnoException, what: 'read' | 'deleted' = 'read'): never {
  const { code = 'unknown reason', path } = error;
  throw storeErrors.backups_unavailable({
    message:
      what === 'read'
        ? `The backup location cannot be read: ${path} (${code}).`
        : `A file of the backup location cannot be deleted: ${path} (${code}).`,
    cause: error,
  });
}
