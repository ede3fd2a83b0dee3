/** The command that packages install, with the paths of the system replaced. */
import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = readFileSync(new URL('../../ops/linux/taskgatectl', import.meta.url), 'utf8');

/**
 * `user`: who runs it. `starting`: how many seconds the start of the service still takes; none
 * without systemd. Returns the variables that the program gets, and what it says otherwise.
 */
function run(user: string, settings: string | undefined, { credentials = false, starting = -1, sealed = '' } = {}) {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
    return join(folder, name);
  };
  const file = settings === undefined ? join(folder, 'none') : write('taskgate.env', settings);
  const program = write('taskgate', '#!/bin/sh\nprintf "%s\\n" "$@"\nenv -0\n');
  write('id', `#!/bin/sh\necho ${user}\n`);
  write('setpriv', '#!/bin/sh\nshift 3\nexec "$@"\n');
  // Seconds are lines of a file here.
  write('sleep', `#!/bin/sh\necho "$1" >>${folder}/slept\n`);
  write('slept', '');
  write(
    'systemctl',
    `#!/bin/sh
case $1 in
  is-active) [ "$(wc -l <${folder}/slept)" -lt ${starting} ] && echo activating || echo active ;;
  show) echo '${sealed}' ;;
esac
`,
  );
  if (starting >= 0) mkdirSync(join(folder, 'systemd'));
  if (credentials) mkdirSync(join(folder, 'credentials'));
  const command = write(
    'taskgatectl',
    script
      .replace('/etc/taskgate/taskgate.env', file)
      .replace('/usr/bin/taskgate', program)
      .replace('/run/credentials/taskgate.service', join(folder, 'credentials'))
      .replace('/run/systemd/system', join(folder, 'systemd')),
  );
  const ran = Bun.spawnSync([command, 'doctor', '--json'], { env: { PATH: `${folder}:/usr/bin:/bin` } });
  const [first = '', ...rest] = ran.stdout.toString().split('\0');
  const lines = first.split('\n');
  const pairs = [lines.at(-1) ?? '', ...rest].map((each) => each.split(/=([\s\S]*)/).slice(0, 2) as [string, string]);
  return {
    code: ran.exitCode,
    err: ran.stderr.toString(),
    words: lines.slice(0, 2),
    variables: new Map(pairs),
    slept: readFileSync(join(folder, 'slept'), 'utf8').split('\n').length - 1,
    folder,
  };
}

test('settings are read as systemd reads them: nothing in a value is a command, a variable or a comment', () => {
  const { code, variables, words } = run(
    'taskgate',
    [
      '# a comment',
      '; another',
      'PLAIN=a b  c ',
      '  SPACED = ignored, since the name ends with a space',
      'COMMAND=$(touch pwned) `id` $HOME',
      'QUOTED="with \\"quotes\\", a # and \\$one"',
      "SINGLE='it is $HOME'",
      'URL=postgres://u:p%23w@h/db?sslmode=require&x=1',
      'LONG=one \\',
      'two',
      'no assignment',
      'LAST=without a line break',
    ].join('\n'),
  );
  expect([code, words]).toEqual([0, ['doctor', '--json']]);
  expect(
    Object.fromEntries([...variables].filter(([name]) => /^[A-Z]+$/.test(name) && name !== 'PWD' && name !== 'PATH')),
  ).toEqual({
    PLAIN: 'a b  c',
    COMMAND: '$(touch pwned) `id` $HOME',
    QUOTED: 'with "quotes", a # and $one',
    SINGLE: 'it is $HOME',
    URL: 'postgres://u:p%23w@h/db?sslmode=require&x=1',
    LONG: 'one two',
    LAST: 'without a line break',
  });
});

test('root becomes the user of the service, others are told to be root, and credentials come along', () => {
  const root = run('root', 'PORT=3001\n', { credentials: true });
  expect([root.code, root.variables.get('PORT')]).toEqual([0, '3001']);
  expect(root.variables.get('CREDENTIALS_DIRECTORY')).toBe(join(root.folder, 'credentials'));
  const other = run('ada', 'PORT=3001\n');
  expect([other.code, other.err]).toEqual([1, 'taskgatectl: run it as root: sudo taskgatectl doctor --json\n']);
});

test('a running start of the service is awaited for at most a minute, and reported once', () => {
  const notice = 'taskgatectl: waiting for the start of the service\n';
  const [none, some, long] = [0, 3, 1000].map((starting) => run('root', 'PORT=3001\n', { starting }));
  expect([none?.slept, none?.err, none?.words]).toEqual([0, '', ['doctor', '--json']]);
  expect([some?.slept, some?.err, some?.words]).toEqual([3, notice, ['doctor', '--json']]);
  expect([long?.slept, long?.err, long?.words]).toEqual([60, notice, ['doctor', '--json']]);
});

test('credentials that exist only while the service runs are not taken for absent', () => {
  const sealed = { starting: 0, sealed: 'crypto_secret:/etc/taskgate/crypto' };
  const stopped = run('root', 'PORT=3001\n', sealed);
  expect([stopped.code, stopped.err]).toEqual([1, expect.stringContaining('exist only while it runs: start it')]);
  expect(run('root', 'PORT=3001\n', { ...sealed, credentials: true }).code).toBe(0);
});

test('the data directory is that of the unit, unless the settings name another', () => {
  for (const settings of ['PORT=3001\n', undefined]) {
    const { code, variables } = run('root', settings);
    expect([code, variables.get('DATA_DIR')]).toEqual([0, '/var/lib/taskgate']);
  }
  expect(run('root', 'DATA_DIR=/srv/taskgate\n').variables.get('DATA_DIR')).toBe('/srv/taskgate');
});
