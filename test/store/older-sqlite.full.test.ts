/**
 * The suites of the store on SQLite as systems have it: macOS 13 brings 3.39, macOS 14 brings 3.43,
 * and the runtime loads it there. The source of both comes with a package of that time.
 */
import { expect, setDefaultTimeout } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_LIMIT_MS } from '../support/far-limits.ts';
import { testInFullRun } from '../support/full-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(900_000);

const ROOT = new URL('../../', import.meta.url).pathname;
const SUITES = [
  ...readdirSync(`${ROOT}test/contract`)
    .filter((name) => name.endsWith('.test.ts') && !name.endsWith('.full.test.ts'))
    .map((name) => `test/contract/${name}`),
  ...['sqlite', 'migrations', 'checkpoints', 'revert', 'replace-sqlite', 'remove-foreign-schema', 'claim-tasks'].map(
    (name) => `test/store/${name}.test.ts`,
  ),
];

/** Rejects, saying what is missing, without the registry or a C compiler. */
function buildLibrary(release: string): string {
  const folder = temporaryFolder();
  const run = (command: string, args: string[]) => execFileSync(command, args, { cwd: folder, stdio: 'pipe' });
  const [archive = ''] = run('npm', ['pack', '--silent', `better-sqlite3@${release}`])
    .toString()
    .trim()
    .split('\n');
  run('tar', ['xzf', archive, 'package/deps/sqlite3/sqlite3.c']);
  const library = join(folder, 'sqlite.so');
  const defines = ['-DSQLITE_THREADSAFE=1', '-DSQLITE_ENABLE_COLUMN_METADATA'];
  run('cc', [
    '-O1',
    '-shared',
    '-fPIC',
    ...defines,
    '-o',
    library,
    'package/deps/sqlite3/sqlite3.c',
    '-lm',
    '-lpthread',
    '-ldl',
  ]);
  return library;
}

testInFullRun.each([
  ['3.39', '7.6.2'],
  ['3.43', '8.6.0'],
])('the suites of the store hold on SQLite %s', async (version, release) => {
  const env = { ...process.env, TASKGATE_SQLITE: buildLibrary(release), TASKGATE_FULL_TESTS: '' };
  const preload = ['--preload', `${ROOT}test/support/foreign-sqlite.ts`];
  const limit = `--timeout=${TEST_LIMIT_MS}`;
  const tests = ['test', limit, ...preload, ...SUITES, '-t', 'sqlite|log|copy|thread|commit'];
  const child = Bun.spawn([process.execPath, ...tests], {
    ...{ cwd: ROOT, env, stdout: 'pipe', stderr: 'pipe' },
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const failed = `${out}\n${err}`.split('\n').filter((line) => /^\(fail\)|^panic/.test(line));
  expect([await child.exited, failed]).toEqual([0, []]);
  expect(`${out}${err}`).toContain(`SQLite ${version}.`);
});
