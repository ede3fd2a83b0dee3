import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashInputs, root } from './hash-inputs.ts';

export const output = 'build/factory';
export const manifestPath = `${output}/manifest.gen.ts`;
/** The plugins, and what checks them: the rooms that `write-factory.ts` loads. */
const inputs = [
  'src/plugins',
  'src/sandbox',
  'src/kernel',
  'src/upstream',
  'src/store/ports',
  'src/app/config',
  'contracts',
  'package-lock.json',
  'scripts/build-factory.ts',
  'scripts/write-factory.ts',
];

/**
 * The manifest's first line. It has the hash of its inputs in itself: a stamp beside it could
 * outlive it where a build was stopped between the two.
 */
export const stampLine = (hash: string): string => `// built from ${hash}`;

/**
 * Writes the manifest of the factory plugins when its inputs have changed. Says whether it did.
 * Throws with each file and its faults.
 *
 * The inputs are read before a process of its own loads the code that checks them. This process may
 * have loaded that code long ago, before a pull: it would write an old manifest under the new hash.
 */
export async function buildFactory(): Promise<boolean> {
  const hash = hashInputs(inputs);
  if (isCurrent(hash)) return false;
  const command = [process.execPath, join(root, 'scripts/write-factory.ts'), hash];
  const child = Bun.spawn(command, { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const texts = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()));
  if ((await child.exited) !== 0) throw new Error(texts.join('').trim());
  return true;
}

function isCurrent(hash: string): boolean {
  const path = join(root, manifestPath);
  return existsSync(path) && readFileSync(path, 'utf8').startsWith(`${stampLine(hash)}\n`);
}

if (import.meta.main) {
  try {
    console.log((await buildFactory()) ? 'Factory plugins built.' : 'Factory plugins are up to date.');
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
