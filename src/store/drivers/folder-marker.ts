import { constants } from 'node:fs';
import { copyFile, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomAlnum } from '../../kernel/index.ts';

/** Names the folder or bucket; a database remembers which name its place has. */
export const MARKER = '.taskgate-results';
const NAME = /^[A-Za-z0-9]{24}$/;

/** The name in the marker of a folder; undefined where it has none. */
export async function readMarker(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, MARKER), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
    throw error;
  });
  return nameOf(text);
}

/** The name that a marker has; undefined where it has something else. */
export function nameOf(text: string): string | undefined {
  const name = text.trim();
  return NAME.test(name) ? name : undefined;
}

/** Marks a folder unless it is marked, also by another node at the same time. Returns its name. */
export async function markFolder(folder: string): Promise<string> {
  const found = await readMarker(folder);
  if (found !== undefined) return found;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = randomAlnum(24);
  const written = await placeMarker(folder, name, placeNew);
  return written ? name : ((await readMarker(folder)) ?? name);
}

/** Gives a folder this name, whatever it had. */
export async function replaceMarker(folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await placeMarker(folder, name, rename);
}

/** Never replaces a file. Network file systems without links copy. */
const placeNew = (from: string, to: string): Promise<void> =>
  link(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw error;
    return copyFile(from, to, constants.COPYFILE_EXCL);
  });

/** The marker appears whole or not at all. False: there was one. */
async function placeMarker(
  folder: string,
  name: string,
  place: (from: string, to: string) => Promise<void>,
): Promise<boolean> {
  const temporary = join(folder, `${MARKER}.${randomAlnum(8)}`);
  try {
    await writeFile(temporary, `${name}\n`, { mode: 0o600, flush: true });
    await place(temporary, join(folder, MARKER));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}
