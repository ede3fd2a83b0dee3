import { closeSync, fsyncSync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { randomToken } from '../../kernel/index.ts';

/**
 * Creates a file that its owner alone can read. It appears complete and flushed or not at all, also
 * after a crash. Returns false if the file exists already: of several processes one creates it.
 * @throws the system's error when it cannot be written
 */
export function createFileOnce(path: string, content: Uint8Array): boolean {
  const draft = `${path}.${randomToken(6)}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    try {
      for (let written = 0; written < content.length; ) written += writeSync(descriptor, content, written);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    // Unlike a rename, a link never replaces an existing file.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
}
