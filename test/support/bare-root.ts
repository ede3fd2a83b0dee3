import { copyFileSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The libraries that a program links to, as `ldd` finds them. */
async function readLibraries(program: string): Promise<string[]> {
  const text = await new Response(Bun.spawn(['ldd', program], { stdout: 'pipe' }).stdout).text();
  return [...text.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

/**
 * A root that holds these programs of this machine, with the libraries that they link to, and
 * nothing else but what a file system needs.
 */
export async function makeBareRoot(root: string, programs: readonly string[]): Promise<void> {
  for (const folder of ['dev', 'etc', 'proc', 'tmp', 'usr/bin', 'usr/sbin', 'var/lib', 'run']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  for (const program of programs) {
    for (const path of [program, ...(await readLibraries(program))]) copyInto(root, path);
  }
}

function copyInto(root: string, path: string): void {
  const target = join(root, path);
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(path), target);
}
