import { copyFileSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

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

/** Whether `overlayRoot` can work: Linux, and root. */
export const canOverlay = process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/unshare');

/**
 * What starts a command in a copy of this machine's file system, in which it may install and
 * change what it likes: nothing of it reaches the machine, and all of it is gone with the command.
 */
export function overlayRoot(): string[] {
  const folder = temporaryFolder();
  const root = join(folder, 'root');
  const script = [
    'set -e',
    'mount --make-rprivate /',
    `mount -t tmpfs none ${folder}`,
    `mkdir ${folder}/up ${folder}/work ${root}`,
    `mount -t overlay overlay -o lowerdir=/,upperdir=${folder}/up,workdir=${folder}/work ${root}`,
    ...['proc', 'dev', 'sys'].map((name) => `mount --rbind /${name} ${root}/${name}`),
    `rm -f ${root}/.dockerenv`,
    `exec chroot ${root} "$@"`,
  ].join('\n');
  return ['/usr/bin/unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh'];
}
