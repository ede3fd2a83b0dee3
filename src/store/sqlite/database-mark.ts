import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { randomBelow } from '../../kernel/index.ts';

/**
 * The four bytes of a database's header that SQLite leaves to applications: every file of ours has
 * a number of its own there. See https://www.sqlite.org/fileformat.html, the application id.
 */
const MARK_AT = 68;

/** The mark that a database file has on the disk; undefined: there is no such file. */
export const readMark = (path: string): number | undefined => readNumber(path, MARK_AT);

export const newMark = (): number => 1 + randomBelow(2 ** 31 - 1);

/** Marks a copy that nobody has open, and brings it to the disk. */
export function markCopy(path: string): void {
  const descriptor = openSync(path, 'r+');
  try {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(newMark());
    writeSync(descriptor, bytes, 0, bytes.length, MARK_AT);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Four bytes of a file as a number; undefined where it is not there or too short. */
export function readNumber(path: string, at: number): number | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(4);
    return readSync(descriptor, bytes, 0, bytes.length, at) === bytes.length ? bytes.readUInt32BE() : undefined;
  } finally {
    closeSync(descriptor);
  }
}
