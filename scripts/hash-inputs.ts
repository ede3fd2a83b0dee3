import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The repository's root folder. */
export const root = join(import.meta.dir, '..');

/**
 * All files below a folder (or the file itself), as sorted paths from the root with forward
 * slashes.
 */
export function listFiles(path: string, base = root): string[] {
  const full = join(base, path);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [path];
  return readdirSync(full)
    .sort()
    .flatMap((name) => listFiles(`${path}/${name}`, base));
}

/**
 * SHA-256 (hex) over the names and contents of all files below the given paths: the key of an
 * incremental build step.
 */
export function hashInputs(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of paths.flatMap((path) => listFiles(path))) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.byteLength}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Whether the step that writes `outputs` last ran with this hash. */
export function isFresh(stamp: string, hash: string, outputs: readonly string[]): boolean {
  const stampFile = join(root, stamp);
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== hash) return false;
  return outputs.every((path) => existsSync(join(root, path)));
}

/** Writes an output in one step: readers see the old one or the new one. */
export function writeWhole(path: string, text: string): void {
  const temporary = join(root, `${path}.${process.pid}.tmp`);
  writeFileSync(temporary, text);
  renameSync(temporary, join(root, path));
}
