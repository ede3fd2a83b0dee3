import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectStore } from '../ports/index.ts';
import { createFileWriter } from './create-file-writer.ts';
import { entriesOf } from './remove-old-files.ts';

/** Files in the making. */
const PARTIAL = '.partial';

/** Named files in a folder; they are readable by their owner only. */
export function createFolderObjects(folder: string): ObjectStore {
  const writeFile = createFileWriter({ folder, partial: join(folder, PARTIAL), minFreeBytes: 0 });

  return {
    put: (key, source, { signal }) =>
      writeFile(source, { signal, maxBytes: Number.POSITIVE_INFINITY, pathOf: () => join(folder, key) }),

    async open(key) {
      const file = Bun.file(join(folder, key));
      return (await file.exists()) ? file.stream() : undefined;
    },

    async list(below) {
      const entries = await entriesOf(join(folder, below));
      const named = (isWanted: boolean) =>
        entries
          .filter((entry) => entry.isDirectory() === isWanted && entry.name !== PARTIAL)
          .map(({ name }) => name)
          .sort();
      return { files: named(false), folders: named(true) };
    },

    async delete(key) {
      const path = join(folder, key);
      await rm(path, { force: true });
      // An empty folder would look like an unfinished backup.
      await rmdir(dirname(path)).catch(() => undefined);
    },
  };
}
