import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { isObject, OperatorError, parseJson, unwritable } from '../../kernel/index.ts';
import { flushFolder } from '../../store/index.ts';

/**
 * The files of an upgrade, all beside the executable: a rename does not leave a file system. The
 * next one is each process's own, so that nobody renames what another one is writing.
 */
export type ExecutablePaths = { current: string; next: string; previous: string };

/** The next executable of a process, by its number. */
const NEXT = /\.next-(\d{1,10})(?:\.exe)?$/;

export function executablePaths(current: string, pid = process.pid): ExecutablePaths {
  const [stem, ending] = current.endsWith('.exe') ? [current.slice(0, -4), '.exe'] : [current, ''];
  return { current, next: `${stem}.next-${pid}${ending}`, previous: `${stem}.previous${ending}` };
}

/**
 * Writes the new executable beside the current one, flushed to the disk. What interrupted upgrades
 * have left there goes.
 *
 * @throws `OperatorError` when it cannot be written, or while another upgrade runs
 */
export function writeNext(paths: ExecutablePaths, bytes: Uint8Array): void {
  const { next } = paths;
  try {
    rmSync(next, { force: true });
    const file = openSync(next, 'wx', 0o755);
    try {
      requireAlone(paths);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw notReplaced(next, error);
  }
}

/**
 * Each process looks for others once its own file is there: if two start at once, at least one sees
 * the other.
 */
function requireAlone({ current, next }: ExecutablePaths): void {
  const folder = dirname(current);
  const stem = basename(executablePaths(current).previous).replace(/\.previous(?:\.exe)?$/, '');
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const [, pid] = (name.startsWith(`${stem}.next-`) && path !== next && NEXT.exec(name)) || [];
    if (pid === undefined) continue;
    if (isRunning(Number(pid))) {
      throw new OperatorError(
        `another upgrade is running (process ${pid}); nothing was replaced. If none is, delete ${path}`,
      );
    }
    rmSync(path, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Puts the next executable in the place of the current one, which becomes the previous. At every
 * moment the name of the current one is that of a whole executable: a process that is killed in
 * between has upgraded or has not. On Windows, where a running file cannot be replaced but renamed,
 * the name is free for a moment.
 *
 * @throws `OperatorError` when the folder cannot be written
 */
export function swapInNext(paths: ExecutablePaths): void {
  const { current, next, previous } = paths;
  try {
    if (process.platform === 'win32') {
      rmSync(previous, { force: true });
      renameSync(current, previous);
      renameSync(next, current);
      return;
    }
    const kept = `${previous}.tmp`;
    rmSync(kept, { force: true });
    linkOrCopy(current, kept);
    renameSync(kept, previous);
    renameSync(next, current);
    flushFolder(dirname(current));
  } catch (error) {
    throw notReplaced(current, error);
  }
}

/**
 * Puts the previous executable back; the current one becomes the previous, so that a second call
 * undoes the first.
 */
export function swapBack(paths: ExecutablePaths): void {
  const { next, previous } = paths;
  try {
    rmSync(next, { force: true });
    linkOrCopy(previous, next);
    requireAlone(paths);
  } catch (error) {
    throw notReplaced(next, error);
  }
  swapInNext(paths);
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // A file system without hard links.
    copyFileSync(from, to);
  }
}

const notReplaced = (path: string, error: unknown): OperatorError =>
  error instanceof OperatorError
    ? error
    : new OperatorError(`${unwritable(path, error).message}; nothing was replaced`);

/** Whether a package of the system owns the executable, and which kind. */
const PACKAGE_MARK = '/usr/share/taskgate/package';
export const isPackaged = (executable: string): boolean =>
  executable === '/usr/bin/taskgate' && existsSync(PACKAGE_MARK);

/** Three times what an executable has. */
const MAX_BYTES = 400 * 1024 * 1024;
const TAR_BLOCK = 512;

/**
 * The executable in an archive of a release; `undefined` if there is none. The archive's digest has
 * been checked: it is what a release wrote.
 */
export function unpackExecutable(archive: Uint8Array, file: string): Uint8Array | undefined {
  try {
    return file.endsWith('.zip')
      ? fromZip(Buffer.from(archive))
      : fromTar(gunzipSync(archive, { maxOutputLength: MAX_BYTES }));
  } catch {
    return undefined;
  }
}

function fromTar(tar: Buffer): Uint8Array | undefined {
  for (let at = 0; at + TAR_BLOCK <= tar.length; ) {
    const [name = ''] = tar.toString('utf8', at, at + 100).split('\0', 1);
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8);
    if (name === '' || !Number.isSafeInteger(size) || size < 0) return undefined;
    const start = at + TAR_BLOCK;
    if (name.endsWith('/taskgate')) return start + size <= tar.length ? tar.subarray(start, start + size) : undefined;
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  return undefined;
}

/** Reads the headers before the files, which a release writes with all sizes. */
function fromZip(zip: Buffer): Uint8Array | undefined {
  for (let at = 0; at + 30 <= zip.length && zip.readUInt32LE(at) === 0x04034b50; ) {
    const size = zip.readUInt32LE(at + 18);
    const nameEnd = at + 30 + zip.readUInt16LE(at + 26);
    const start = nameEnd + zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 30, nameEnd).endsWith('/taskgate.exe')) {
      return inflateRawSync(zip.subarray(start, start + size), { maxOutputLength: MAX_BYTES });
    }
    at = start + size;
  }
  return undefined;
}

export type ProbedExecutable = {
  version: string;
  /** The number of the last migration that it knows; `undefined` for versions that do not say. */
  database: number | undefined;
};

const PROBE_MS = 30_000;

/** Starts an executable to ask for its version; `undefined` if it does not run here. */
export async function probeExecutable(path: string): Promise<ProbedExecutable | undefined> {
  const { body } = await runForJson([path, 'version', '--json'], PROBE_MS);
  if (!isObject(body) || body.name !== 'taskgate' || typeof body.version !== 'string') return undefined;
  const { version, database } = body;
  return { version, database: Number.isSafeInteger(database) ? Number(database) : undefined };
}

/** Runs a command that answers with one line of JSON, in this process's environment. */
export async function runForJson(command: string[], timeout: number): Promise<{ code: number; body: unknown }> {
  try {
    const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore', timeout });
    const text = await new Response(child.stdout).text();
    return { code: await child.exited, body: parseJson(text) };
  } catch {
    return { code: -1, body: undefined };
  }
}
