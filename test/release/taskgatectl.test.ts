/** The command that packages install, with the paths of the system replaced. */
import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary-folder.ts';

const script = readFileSync(new URL('../../ops/linux/taskgatectl', import.meta.url), 'utf8');

/** `user`: who runs it. Returns the variables that the program gets, and what it says otherwise. */
function run(user: string, settings: string, { credentials = false } = {}) {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
    return join(folder, name);
  };
  const file = write('taskgate.env', settings);
  const program = write('taskgate', '#!/bin/sh\nprintf "%s\\n" "$@"\nenv -0\n');
  write('id', `#!/bin/sh\necho ${user}\n`);
  write('setpriv', '#!/bin/sh\nshift 3\nexec "$@"\n');
  if (credentials) mkdirSync(join(folder, 'credentials'));
  const command = write(
    'taskgatectl',
    script
      .replace('/etc/taskgate/taskgate.env', file)
      .replace('/usr/bin/taskgate', program)
      .replace('/run/credentials/taskgate.service', join(folder, 'credentials'))
      .replace('/run/systemd/system', join(folder, 'no-systemd')),
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
