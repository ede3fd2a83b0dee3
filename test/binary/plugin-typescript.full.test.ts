/** Plugins in TypeScript, on the compiled binary, which bundles them itself. */
import { beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepCommandRunning } from '../support/keep-command-running.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');
const plugin = (...argv: string[]): Promise<CommandResult> => runCommand(['plugin', ...argv], { cwd: folder });

beforeAll(async () => {
  expect((await plugin('new', 'Paper Films', '--typescript')).code).toBe(0);
});

test('a new plugin is free of faults, warnings and type errors, and its cases pass', async () => {
  expect(readdirSync(folder).sort()).toEqual(
    ['package.json', 'paper-films.fixture.json', 'paper-films.ts', 'tsconfig.json', 'taskgate-plugin-types'].sort(),
  );
  const linted = await plugin('lint', 'paper-films.ts');
  expect(linted.out).toStartWith('paper-films.ts: paper-films@1.0.0 is valid\n');
  expect(JSON.parse((await plugin('test', 'paper-films.ts', '--json')).out)).toMatchObject({ ok: true, uncovered: [] });
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const check = async () => (await Bun.$`${tsc} -p ${folder}`.nothrow().quiet()).stdout.toString();
  expect(await check()).toBe('');
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules/typescript/package.json'), 'utf8'));
  expect(JSON.parse(read('package.json')).devDependencies).toEqual({ typescript: version });
  const before = read('paper-films.ts');
  writeFileSync(at('paper-films.ts'), before.replace("method: 'POST'", 'method: 5'));
  expect(await check()).toContain('paper-films.ts(');
  writeFileSync(at('paper-films.ts'), before);
});

test('build makes one file of the plugin and what it imports, the same wherever it is called', async () => {
  mkdirSync(at('shared'));
  writeFileSync(at('shared/limits.ts'), 'export const MAX_SECONDS: number = 12;\nexport type Unused = { a: 1 };\n');
  const single = read('paper-films.ts');
  writeFileSync(
    at('paper-films.ts'),
    single
      .replace('const MAX_SECONDS = 60;', '')
      .replace('import type {', "import { MAX_SECONDS, type Unused } from './shared/limits.ts';\nimport type {"),
  );
  expect((await plugin('build', 'paper-films.ts')).out).toBe('wrote paper-films.js: paper-films@1.0.0\n');
  const built = read('paper-films.js');
  expect(built).toContain('// shared/limits.ts\nvar MAX_SECONDS = 12;');
  expect(built).not.toContain(folder.slice(1));
  expect(built).not.toContain('import ');
  const elsewhere = await runCommand(['plugin', 'build', at('paper-films.ts'), '--out', at('again.js')], { cwd: '/' });
  expect([elsewhere.code, read('again.js') === built]).toEqual([0, true]);
  const refused = await plugin('test', 'paper-films.js', '--filter', 'too long');
  expect(refused.out).toContain('got: A video has from 1 to 12 seconds.');
});

test('faults and warnings have their place in the file that they are in', async () => {
  const source = read('paper-films.ts');
  writeFileSync(
    at('shared/limits.ts'),
    'type Late = string;\nexport const MAX_SECONDS = 12;\nexport const wait = async () => 1;\n',
  );
  const broken = `${source.replace('{ MAX_SECONDS,', '{ MAX_SECONDS, wait,')}\nexport const late = () => wait();\n`;
  writeFileSync(at('broken.ts'), broken.replace('method: ', 'timeout: 5,\n  method: '));
  const { code, out } = await plugin('lint', 'broken.ts');
  expect([code, out]).toEqual([1, expect.stringContaining('shared/limits.ts:3:')]);
  expect(out).toContain('async functions are not allowed [source.async]');
  expect((await plugin('build', 'broken.ts')).code).toBe(1);
  expect(readdirSync(folder)).not.toContain('broken.js');
  writeFileSync(at('warned.ts'), source.replace('method: ', 'timeout: 5,\n  method: '));
  const line =
    read('warned.ts')
      .split('\n')
      .findIndex((text) => text.includes('timeout: 5')) + 1;
  expect((await plugin('lint', 'warned.ts')).out).toStartWith(
    `warned.ts:${line}:3: warning: exports/buildSubmitRequest: `,
  );
  writeFileSync(at('wrong.ts'), 'export const meta = {;\n');
  const wrong = await plugin('lint', 'wrong.ts');
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/^taskgate: wrong\.ts:1:\d+: /)]);
  expect((await plugin('build', 'paper-films.js')).code).toBe(2);
});

test('dev serves the file itself, and again when an imported one is saved', async () => {
  writeFileSync(at('shared/limits.ts'), 'export const MAX_SECONDS: number = 12;\nexport type Unused = { a: 1 };\n');
  const dev = keepCommandRunning(['plugin', 'dev', 'paper-films.ts', '--port', '0'], { cwd: folder });
  const ready = await dev.wait('it is ready', ({ event }) => event === 'ready');
  const submit = async (seconds: number) => {
    const headers = { authorization: `Bearer ${ready.api_key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'paper-films-video', prompt: 'a boat', seconds });
    return (await fetch(`${ready.address}/v1/videos`, { method: 'POST', headers, body })).status;
  };
  expect(await submit(13)).toBe(400);
  writeFileSync(at('shared/limits.ts'), 'export const MAX_SECONDS = 20;\nexport type Unused = 1;\n');
  await dev.wait('the reload', ({ event, ok }) => event === 'reloaded' && ok === true);
  expect(await submit(13)).toBe(200);
  writeFileSync(at('shared/limits.ts'), 'export const MAX_SECONDS = ;\n');
  await dev.wait(
    'the fault',
    ({ event, ok, error }) => event === 'reloaded' && ok === false && String(error).includes('limits.ts:1:'),
  );
  expect(await submit(13)).toBe(200);
  expect((await dev.interrupt()).code).toBe(0);
});
