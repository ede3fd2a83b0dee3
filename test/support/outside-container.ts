import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

const MARK = '/.dockerenv';

/**
 * What starts a program as outside a container, where the tests run inside one: in a root without
 * the mark of Docker. `undefined`: this user may not do that.
 */
export function outsideContainer(): string[] | undefined {
  if (!existsSync(MARK)) return [];
  if (process.getuid?.() !== 0) return undefined;
  const root = temporaryFolder();
  const folders = readdirSync('/', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const links = readdirSync('/', { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  // The namespace, and its mounts with it, ends with the program.
  const script = [
    'set -e',
    'mount --make-rprivate /',
    `mount -t tmpfs none ${root}`,
    ...folders.map(({ name }) => `mkdir ${join(root, name)} && mount --rbind /${name} ${join(root, name)}`),
    ...links.map(({ name }) => `ln -s "$(readlink /${name})" ${join(root, name)}`),
    `exec chroot ${root} sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"`,
  ].join('\n');
  return ['/usr/bin/unshare', '--mount', 'sh', '-c', script, 'sh'];
}
