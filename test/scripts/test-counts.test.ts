import { expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addCounts, formatCounts, readCounts, readFailures } from '../../scripts/test-counts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What the runner really reports for these test files. */
async function run(files: Record<string, string>) {
  const folder = temporaryFolder();
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const report = join(folder, 'report.xml');
    const names = Object.keys(files);
    const child = Bun.spawn(
      [
        ...[process.execPath, 'test', '--parallel', '--reporter=junit', `--reporter-outfile=${report}`],
        ...names.map((name) => `./${name}`),
      ],
      { cwd: folder, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
    );
    const code = await child.exited;
    const text = (await Bun.file(report).exists()) ? await Bun.file(report).text() : '';
    return { ...readCounts(text, names, code), failures: readFailures(text, names) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const good = "import { test } from 'bun:test'; test('a', () => {}); test('b <&>', () => {});";

test('passed, failed and skipped tests are counted', async () => {
  const mixed =
    "import { test } from 'bun:test'; test('a', () => { throw new Error('x'); }); test.skip('b', () => {});";
  expect(await run({ 'a.test.ts': good, 'b.test.ts': mixed })).toMatchObject({ passed: 2, failed: 1, skipped: 1 });
});

test('a file that cannot be loaded is a failure', async () => {
  expect(await run({ 'a.test.ts': good, 'b.test.ts': "throw new Error('boom');" })).toMatchObject({
    passed: 2,
    failed: 1,
    skipped: 0,
  });
});

test('a file without a single test is a failure', async () => {
  expect((await run({ 'a.test.ts': good, 'b.test.ts': 'export {};' })).failed).toBe(1);
});

test('a failure is named with its place and its message', async () => {
  const failing = `import { describe, expect, test } from 'bun:test';
describe('x & y', () => {
  test('a "<b>"', () => { expect('<1>').toBe('&2'); });
  test('never ends', () => new Promise(() => {}), 20);
});`;
  const { failures } = await run({ 'a.test.ts': good, 'b.test.ts': failing, 'c.test.ts': 'export {};' });
  expect(failures).toHaveLength(3);
  expect(failures[0]).toStartWith('b.test.ts:3 x & y > a "<b>"\n    AssertionError: ');
  expect(failures[0]).toContain('    Expected: "&2"\n    Received: "<1>"\n');
  expect(failures[1]).toBe('b.test.ts:4 x & y > never ends\n    test timed out');
  expect(failures[2]).toStartWith('c.test.ts\n');
});

test('a run that died without a report is a failure', () => {
  expect(readCounts('', ['a.test.ts'], 137).failed).toBe(1);
  expect(
    readCounts('<testsuites tests="1" failures="0" skipped="0"><testsuite file="a.test.ts">', ['a.test.ts'], 1).failed,
  ).toBe(1);
});

test('the last line names skipped tests only when there are any', () => {
  expect(formatCounts(addCounts({ passed: 3, failed: 0, skipped: 0 }, { passed: 2, failed: 1, skipped: 0 }))).toBe(
    '5 passed, 1 failed',
  );
  expect(formatCounts({ passed: 1, failed: 0, skipped: 2 })).toBe('1 passed, 0 failed, 2 skipped');
});
