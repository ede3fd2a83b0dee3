import { describe, expect, test } from 'bun:test';
import type { CommandIo } from '../../src/app/cli/command.ts';
import { COMMANDS } from '../../src/app/cli/commands.ts';
import { parseCommand, runCli } from '../../src/app/cli/run-cli.ts';
import { VARIABLES } from '../../src/app/config/config-variables.ts';

async function run(...argv: string[]) {
  let out = '';
  let err = '';
  const io: CommandIo = {
    out(text) {
      out += text;
    },
    err(text) {
      err += text;
    },
    readStdin: async () => '',
    flush: async () => {},
    isTerminal: false,
    answersTerminal: false,
  };
  const code = await runCli(argv, io);
  return { code, out, err };
}

describe('wrong usage exits 2 and says what is wrong and what is right', () => {
  const rows: [argv: string[], part: string][] = [
    [['--prot', '80'], 'unknown option --prot'],
    [['serv'], 'there is no command "serv"'],
    [['plugin'], '"plugin" needs one of: plugin new, plugin lint, plugin test'],
    [['admin', 'destroy'], '"admin" needs one of: admin create-root, admin reset-password'],
    [['serve', '--prot', '80'], 'unknown option --prot'],
    [['serve', '--port'], '--port needs a value: --port PORT'],
    [['serve', '--port='], '--port needs a value'],
    [['serve', '--port', '--host', 'x'], '--port needs a value'],
    [['serve', 'now'], 'unexpected argument "now"'],
    [['serve', '-x'], 'unknown option -x'],
    [['plugin', 'lint'], 'FILE is missing: taskgate plugin lint FILE...'],
    [['plugin', 'test', 'a.js', 'b.js'], 'unexpected argument "b.js"'],
    [['plugin', 'test', 'a.js'], 'there is no a.fixture.json: name the file with the cases with --fixture FIXTURE'],
    [['plugin', 'new', 'runtime'], 'the key "runtime" is reserved for the gateway'],
    [['plugin', 'new', '可灵'], 'a key has 1 to 30 of a-z, 0-9, "_" and "-"'],
    [['admin', 'create-root', '--password-stdin'], '--username is missing: --username NAME'],
    [['admin', 'create-root', '--username', 'u'], '--password-stdin is missing'],
    [['admin', 'create-root', '--username', 'u', '--password-stdin=x'], '--password-stdin takes no value'],
    [['admin', 'create-root', '--username', 'u', '--password', 'x'], 'unknown option --password'],
    [['version', '--verbose'], 'unknown option --verbose'],
    [['demo-vendor', '--port', 'x'], '--port'],
    [['reconcile', '--channel', '1', '--vendor-csv', 'x', '--since', '2026-02-30'], '--since must be a day'],
    [['reconcile', '--channel', '1', '--vendor-csv', 'x', '--until', '2026-02-29'], '--until must be a day'],
  ];
  test.each(rows)('%j', async (argv, part) => {
    const { code, out, err } = await run(...argv);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(part);
  });
  test('names the help of the command, once that is known', async () => {
    expect((await run('serve', '--prot', '80')).err).toContain('See: taskgate serve --help\n');
    expect((await run('plugin', 'lint')).err).toContain('See: taskgate plugin lint --help\n');
    expect((await run('plugin')).err).toContain('See: taskgate --help\n');
  });
  test('answers as JSON with --json', async () => {
    const { code, out, err } = await run('serve', '--prot', '80', '--json');
    expect([code, err]).toEqual([2, '']);
    expect(JSON.parse(out)).toEqual({ ok: false, error: 'unknown option --prot' });
  });
});

test('options are read in both forms', () => {
  const parsed = parseCommand(['serve', '--port=80', '--host', '::1', '--json']);
  expect(parsed).toMatchObject({ kind: 'run', input: { values: { port: '80', host: '::1' }, json: true } });
});

describe('help', () => {
  test('the general help names every command', async () => {
    for (const argv of [['--help'], ['-h'], ['help'], ['plugin', '--help']]) {
      const { code, out } = await run(...argv);
      expect(code).toBe(0);
      for (const command of COMMANDS) expect(out).toContain(command.name);
    }
  });
  test('the help of serve lists every variable', async () => {
    const { code, out } = await run('serve', '--help');
    expect(code).toBe(0);
    for (const { env, doc } of Object.values(VARIABLES)) {
      expect(out).toContain(`  ${env}\n`);
      expect(out.replace(/\s+/g, ' ')).toContain(doc);
    }
  });
  test('the help of each command names its options', async () => {
    for (const command of COMMANDS) {
      const { code, out } = await run(...command.name.split(' '), '--help');
      expect(code).toBe(0);
      for (const name of Object.keys(command.options)) expect(out).toContain(`--${name}`);
    }
  });
});

test('version prints the version', async () => {
  expect((await run('version')).out).toMatch(/^taskgate \d+\.\d+\.\d+\n$/);
  expect(
    JSON.parse((await run('--version', '--json')).out === '' ? '{}' : (await run('version', '--json')).out),
  ).toMatchObject({
    name: 'taskgate',
  });
});
