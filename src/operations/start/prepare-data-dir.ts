import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperatorError, randomToken } from '../../kernel/index.ts';

/** A full disk accepts an empty file. */
const PROBE_BYTES = 64 * 1024;
/**
 * Below this much free space the start warns, and later the panel: a database that cannot grow
 * refuses every write.
 */
export const LOW_SPACE_BYTES = 100 * 1024 * 1024;

/**
 * Creates the data directory (mode 0700) if it is absent, and writes to it to prove that it can.
 *
 * @throws `OperatorError` that names the folder, the reason and what to do
 */
export function prepareDataDir(path: string): { path: string; created: boolean; warnings: string[] } {
  const folder = resolve(path);
  try {
    const created = mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined;
    probe(folder);
    return { path: folder, created, warnings: describeFolder(folder) };
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** Checks these rules as far as that needs no writing. */
export function requireUsableDataDir(path: string): void {
  const folder = resolve(path);
  try {
    const existing = nearestExisting(folder);
    if (!statSync(existing).isDirectory()) throw errorWithCode(existing === folder ? 'EEXIST' : 'ENOTDIR');
    accessSync(existing, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(existing);
    if (bavail * bsize < PROBE_BYTES) throw errorWithCode('ENOSPC');
  } catch (error) {
    throw unusable(folder, error);
  }
}

function nearestExisting(path: string): string {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

const errorWithCode = (code: string): Error => Object.assign(new Error(code), { code });

function unusable(folder: string, error: unknown): OperatorError {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return new OperatorError(
    `the data directory ${folder} cannot be used: ${REASONS[code] ?? `error ${code || String(error)}`}`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'no permission to write there. Make the user that runs taskgate its owner, or choose another with --data-dir',
  EPERM: 'no permission to write there. Make the user that runs taskgate its owner, or choose another with --data-dir',
  EROFS: 'its file system is read-only. Choose another folder with --data-dir',
  ENOSPC: 'the disk is full. Free some space and start again; nothing was changed',
  EDQUOT: 'the disk quota is used up. Free some space and start again; nothing was changed',
  ENOTDIR: 'a part of the path is a file. Choose another folder with --data-dir',
  EEXIST: 'there is a file with that name. Choose another folder with --data-dir',
};

/** Writes 64 KiB to the disk and removes them: a full disk accepts an empty file. */
function probe(folder: string): void {
  const isEmpty = readdirSync(folder).length === 0;
  const path = join(folder, `.probe-${randomToken(6)}`);
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    const bytes = Buffer.alloc(PROBE_BYTES);
    if (writeSync(descriptor, bytes) < bytes.length) {
      throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
    }
    // An empty folder gets its database next, which is larger and flushed.
    if (!isEmpty) fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
    unlinkSync(path);
  }
}

/** Warnings about an existing folder: its permissions and its free space. */
export function describeFolder(folder: string): string[] {
  const warnings: string[] = [];
  const others = process.platform === 'win32' ? 0 : statSync(folder).mode & 0o077;
  if (others !== 0) {
    // The folder holds the secrets and the database. Its own mode protects files in it whose mode
    // is too open.
    const access = (others & 0o022) !== 0 ? 'written' : 'read';
    warnings.push(`the data directory ${folder} can be ${access} by other users: chmod 700 ${folder}`);
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free < LOW_SPACE_BYTES) {
    warnings.push(`only ${Math.floor(free / 1024 / 1024)} MB are free in the data directory ${folder}`);
  }
  return warnings;
}
