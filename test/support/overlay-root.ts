import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

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
