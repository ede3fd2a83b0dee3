import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** Brings a folder's names to the disk. */
export function flushFolder(path: string): void {
  // Windows opens no folder, and keeps the order of names itself.
  if (process.platform !== 'win32') flushFile(path);
}

export function flushFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a small file of its owner's, and brings its content to the disk. */
export function writeFlushed(path: string, text: string): void {
  const descriptor = openSync(path, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
