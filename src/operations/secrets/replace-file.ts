import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { randomToken, unwritable } from '../../kernel/index.ts';
import { flushFolder } from '../../store/index.ts';

/**
 * Replaces the text of a file atomically, and on the disk when it returns; follows links and keeps
 * the mode. Returns false and leaves the file alone if its text is no longer `before`: somebody has
 * saved it since.
 *
 * @throws `OperatorError` if it cannot be written
 */
export function replaceFile(path: string, before: string, after: string): boolean {
  let temporary: string | undefined;
  try {
    const target = realpathSync(path);
    temporary = `${target}.${randomToken(6)}.tmp`;
    const file = openSync(temporary, 'wx', statSync(target).mode);
    try {
      writeFileSync(file, after);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (readFileSync(target, 'utf8') !== before) return false;
    renameSync(temporary, target);
    flushFolder(dirname(target));
    return true;
  } catch (error) {
    throw unwritable(path, error);
  } finally {
    if (temporary !== undefined) rmSync(temporary, { force: true });
  }
}
