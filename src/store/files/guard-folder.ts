import { constants } from 'node:fs';
import { copyFile, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { err, randomAlnum, type Sentence, sentence } from '../../kernel/index.ts';
import { resultsUnavailable } from '../drivers/errors.ts';
import type { FileStore, Store } from '../ports/index.ts';
import { toFileFault } from './write-file.ts';

/** The row of the options with the name of the database's storage; no administrator sets it. */
export const FOLDER_OPTION = 'results.folder_name';
/** Files looked for in a location that an earlier version filled without marking it. */
export const SAMPLE = 20;

type FolderMemory = Pick<Store, 'options' | 'results'>;
type Guarded = { folder: string; store: FolderMemory };

/**
 * Refuses a folder that is not the one the database knows. A shared folder whose mount vanished
 * looks like an empty one: what is written there is on this machine's disk, and every kept file
 * seems to be missing. The first use of a folder marks it, and the database remembers its name.
 */
export function guardFolder(files: FileStore, { folder, store }: Guarded): FileStore {
  let known: string | undefined;

  async function findFault(): Promise<Sentence | undefined> {
    known ??= await store.options.get(FOLDER_OPTION);
    if (known === undefined) return undefined;
    const marker = await readMarker(folder);
    if (marker === known) return undefined;
    return sentence(marker === undefined ? 'place.folder_unmarked' : 'place.folder_foreign');
  }

  /** Marks the folder of a database that knows none. */
  async function prepare(): Promise<Sentence | undefined> {
    const fault = await findFault();
    if (fault !== undefined || known !== undefined) return fault;
    const refused = await refuseFolder();
    // Another node may have been first, and has put files there.
    if (refused !== undefined) return (await store.options.get(FOLDER_OPTION)) === undefined ? refused : findFault();
    await store.options.putIfAbsent(FOLDER_OPTION, await markFolder(folder));
    // Another node may have been first, with another folder.
    return findFault();
  }

  /**
   * Why a database that knows no folder may not take this one. A marked one that has nothing of
   * this database is another's, whose files would go as those that nothing needs.
   */
  async function refuseFolder(): Promise<Sentence | undefined> {
    if ((await readMarker(folder)) === undefined) {
      return (await hasNeeded()) ? undefined : sentence('place.folder_empty');
    }
    const there = (await files.list('', SAMPLE)).map(({ sha256 }) => sha256);
    const isOwn = there.length === 0 || (await store.results.knownFiles(there)).length > 0;
    return isOwn ? undefined : sentence('place.folder_foreign');
  }

  async function hasNeeded(): Promise<boolean> {
    const needed = (await store.results.files('', SAMPLE)).filter(({ refs }) => refs > 0);
    const sizes = await Promise.all(needed.map(({ sha256 }) => files.size(sha256)));
    return needed.length === 0 || sizes.some((size) => size !== undefined);
  }

  async function requireFolder(): Promise<void> {
    const fault = await findFault();
    if (fault) throw resultsUnavailable(fault, 60);
  }

  /** Whether the database knows the folder: before its first use, nothing in it is its own. */
  async function isKnown(): Promise<boolean> {
    await requireFolder();
    return known !== undefined;
  }

  /** A file that is there shows that the folder is. */
  async function found<T>(look: Promise<T | undefined>): Promise<T | undefined> {
    const value = await look;
    if (value === undefined) await requireFolder();
    return value;
  }

  return {
    ...files,
    findFault,
    async put(source, limit) {
      try {
        const fault = await prepare();
        if (fault) return err({ kind: 'unavailable', ...fault });
      } catch (error) {
        const fault = toFileFault(error);
        if (fault) return err(fault);
        throw error;
      }
      return files.put(source, limit);
    },
    open: (sha256, span) => found(files.open(sha256, span)),
    size: (sha256) => found(files.size(sha256)),
    async delete(sha256) {
      await requireFolder();
      await files.delete(sha256);
    },
    list: async (after, limit) => ((await isKnown()) ? files.list(after, limit) : []),
    sweep: async (before) => ((await isKnown()) ? files.sweep(before) : 0),
  };
}

/** Makes this folder the database's, whatever it contains, and counts the files that it lacks. */
export async function acceptFolder(files: FileStore, { folder, store }: Guarded): Promise<{ missing: number }> {
  await store.options.putIfAbsent(FOLDER_OPTION, await markFolder(folder));
  const name = await store.options.get(FOLDER_OPTION);
  if (name !== undefined && (await readMarker(folder)) !== name) await replaceMarker(folder, name);
  return { missing: await countMissing(files, store) };
}

/** Files that results need and that are not there. */
export async function countMissing(files: FileStore, store: Pick<Store, 'results'>): Promise<number> {
  let missing = 0;
  for (let after = ''; ; ) {
    const page = await store.results.files(after, 500);
    const last = page.at(-1);
    if (!last) return missing;
    after = last.sha256;
    for (const { sha256, refs } of page) {
      if (refs > 0 && (await files.size(sha256)) === undefined) missing += 1;
    }
  }
}

/** Names the folder or bucket; a database remembers which name its storage has. */
export const MARKER = '.taskgate-results';
const NAME = /^[A-Za-z0-9]{24}$/;

/** The name in the marker of a folder; undefined where it has none. */
async function readMarker(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, MARKER), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
    throw error;
  });
  return readName(text);
}

/** The name that a marker has; undefined where it has something else. */
export function readName(text: string): string | undefined {
  const name = text.trim();
  return NAME.test(name) ? name : undefined;
}

/** Marks a folder unless it is marked, also by another node at the same time. Returns its name. */
async function markFolder(folder: string): Promise<string> {
  const found = await readMarker(folder);
  if (found !== undefined) return found;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = randomAlnum(24);
  const written = await placeMarker(folder, name, placeNew);
  return written ? name : ((await readMarker(folder)) ?? name);
}

/** Gives a folder this name, whatever it had. */
async function replaceMarker(folder: string, name: string): Promise<void> {
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
  move: (from: string, to: string) => Promise<void>,
): Promise<boolean> {
  const temporary = join(folder, `${MARKER}.${randomAlnum(8)}`);
  try {
    await writeFile(temporary, `${name}\n`, { mode: 0o600, flush: true });
    await move(temporary, join(folder, MARKER));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}
