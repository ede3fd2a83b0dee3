/**
 * What a package does after its installation, with the programs and paths of the system replaced.
 */
import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = readFileSync(new URL('../../ops/linux/postinstall.sh', import.meta.url), 'utf8');

type Machine = { isRunning: boolean; hasSettings?: boolean };

/** The calls of `systemctl` that it makes. */
function install(argv: readonly string[], { isRunning, hasSettings = true }: Machine): string[] {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
    return join(folder, name);
  };
  for (const name of ['getent', 'install', 'useradd']) write(name, '#!/bin/sh\n');
  for (const name of ['chgrp', 'chmod']) write(name, '#!/bin/sh\n[ -e "$2" ]\n');
  mkdirSync(join(folder, 'etc'));
  if (hasSettings) write('etc/taskgate.env', '');
  const calls = write('calls', '');
  // In an image there is no systemd to ask, and the command may fail.
  write('systemctl', `#!/bin/sh\necho "$*" >>${calls}\n${isRunning ? '' : 'exit 1\n'}`);
  if (isRunning) mkdirSync(join(folder, 'systemd'));
  const command = write(
    'postinstall',
    script
      .replace('/run/systemd/system', join(folder, 'systemd'))
      .replaceAll('/etc/taskgate', join(folder, 'etc'))
      .replaceAll('/var/lib/taskgate', join(folder, 'data')),
  );
  const ran = Bun.spawnSync([command, ...argv], { env: { PATH: `${folder}:/usr/bin:/bin` } });
  expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, '']);
  return readFileSync(calls, 'utf8').split('\n').filter(Boolean);
}

test.each([
  ['a first installation starts the service', ['configure', ''], true, ['daemon-reload', 'enable --now']],
  ['by RPM too', ['1'], true, ['daemon-reload', 'enable --now']],
  ['an upgrade restarts the one that runs', ['configure', '1.0.0'], true, ['daemon-reload', 'try-restart']],
  ['in an image the service is enabled for its first start', ['configure', ''], false, ['enable']],
  ['an upgrade in an image changes nothing', ['configure', '1.0.0'], false, []],
] as const)('%s', (_name, argv, isRunning, expected) => {
  const calls = install(argv, { isRunning }).map((call) => call.replace(' taskgate.service', ''));
  expect(calls).toEqual([...expected]);
});

test('an upgrade ends well where an administrator has removed the settings', () => {
  expect(install(['configure', '1.0.0'], { isRunning: true, hasSettings: false })).toHaveLength(2);
});
