import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomAlnum } from '../../../kernel/index.ts';

/** A file that exists while `work` runs. It loses its name at once, so a crash leaves nothing. */
export async function withSpoolFile<T>(folder: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomAlnum(24));
  const remove = () => rm(path, { force: true }).catch(() => undefined);
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND;
  const handle = await open(path, flags, 0o600);
  try {
    // Windows keeps an open file; there it goes after the work.
    await remove();
    return await work(handle);
  } finally {
    await handle.close();
    await remove();
  }
}
