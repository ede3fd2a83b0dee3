import type { Dirent } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes the files of a folder that were last written before `before` (Unix seconds). */
export async function removeOldFiles(folder: string, before: number): Promise<number> {
  let removed = 0;
  for (const { name } of await entriesOf(folder)) {
    const path = join(folder, name);
    const file = await statOrNothing(path);
    if (!file || file.mtimeMs / 1000 >= before) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}

/** What is in a folder; nothing when there is no such folder. */
export const entriesOf = (path: string): Promise<Dirent[]> =>
  readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

export const statOrNothing = (path: string) =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
