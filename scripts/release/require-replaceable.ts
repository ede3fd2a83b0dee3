import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKSUMS } from './write-checksums.ts';

/**
 * A release empties its folder: it must be new, empty, or that of a former release.
 *
 * @throws when it holds anything else
 */
export function requireReplaceable(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0 || existsSync(join(folder, CHECKSUMS))) return;
  throw new Error(`${folder} holds other files than a release: name another folder, or empty it`);
}
