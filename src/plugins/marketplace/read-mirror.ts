import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { err, ok, type Result } from '../../kernel/index.ts';

const OUTSIDE = 'The file is not under MARKETPLACE_DIR, the only folder that is read.';

/**
 * A regular file of at most `maxBytes` below `root`, which the operator has opened to the panel;
 * empty: none. Neither `..` nor a symbolic link leads out of it, and what is outside is refused
 * before the disk is asked.
 */
export async function readMirror(root: string, url: URL, maxBytes: number): Promise<Result<Uint8Array, string>> {
  if (root === '') return err('Folders are read only under MARKETPLACE_DIR, which is not set.');
  const path = pathOf(url);
  if (path === undefined || !isInside(resolve(root), path)) return err(OUTSIDE);
  try {
    const [top, file] = await Promise.all([realpath(root), realpath(path)]);
    if (!isInside(top, file)) return err(OUTSIDE);
    // Not blocking: a pipe in the folder must not hold the reader.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) return err('It is no regular file.');
      if (facts.size > maxBytes) return err(`The file is larger than ${maxBytes} bytes.`);
      const bytes = await handle.readFile();
      return bytes.length > maxBytes ? err(`The file is larger than ${maxBytes} bytes.`) : ok(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return err(`The file cannot be read (${typeof code === 'string' ? code : 'unknown reason'}).`);
  }
}

function pathOf(url: URL): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(folder, way) === path;
}
