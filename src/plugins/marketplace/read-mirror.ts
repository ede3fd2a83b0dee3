import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { err, ok, type Result } from '../../kernel/index.ts';
import type { ReadFault } from './types.ts';

const OUTSIDE = 'The file is outside MARKETPLACE_DIR, the only folder that is read.';

/**
 * Reads a regular file of at most `maxBytes` below `root`, the folder that the operator has opened
 * to the panel; empty: none. Neither `..` nor a symbolic link leads out of it. A path outside is
 * refused before any access to the disk.
 */
export async function readMirror(root: string, url: URL, maxBytes: number): Promise<Result<Uint8Array, ReadFault>> {
  if (root === '') return refused('Folders are read only under MARKETPLACE_DIR, which is not set.');
  const path = pathOf(url);
  if (path === undefined || !isInside(resolve(root), path)) return refused(OUTSIDE);
  try {
    const [top, file] = await Promise.all([realpath(root), realpath(path)]);
    if (!isInside(top, file)) return refused(OUTSIDE);
    // Non-blocking, because opening a pipe would block.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) return refused('It is not a regular file.');
      if (stat.size > maxBytes) return refused(`The file is larger than ${maxBytes} bytes.`);
      const bytes = await handle.readFile();
      return bytes.length > maxBytes ? refused(`The file is larger than ${maxBytes} bytes.`) : ok(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `The file cannot be read (${typeof code === 'string' ? code : 'unknown reason'}).`;
    return err({ message, isAbsent: code === 'ENOENT' });
  }
}

const refused = (message: string): Result<never, ReadFault> => err({ message, isAbsent: false });

function pathOf(url: URL): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

function isInside(folder: string, path: string): boolean {
  const steps = relative(folder, path);
  return steps !== '' && steps !== '..' && !steps.startsWith(`..${sep}`) && resolve(folder, steps) === path;
}
