import { expect, test } from 'bun:test';
import { planRun } from '../../scripts/plan-test-run.ts';
import { reachTests } from '../../scripts/reach-tests.ts';
import { describeSlowest, readDurations, readTimings, toTimings } from '../../scripts/test-durations.ts';
import { temporaryTree } from '../support/temporary-folder.ts';

test('a change reaches the tests that import it, directly or by way of others', () => {
  const base = temporaryTree({
    'src/a.ts': 'export const a = 1;',
    'src/b.ts': "export { a } from './a.ts';",
    'test/a.test.ts': "import { a } from '../src/b.ts';",
    'test/c.test.ts': 'export {};',
    'test/support/run-command.ts': 'export {};',
    'test/binary/d.test.ts': "import '../support/run-command.ts';",
  });
  const tests = ['test/a.test.ts', 'test/c.test.ts', 'test/binary/d.test.ts'];
  expect(reachTests(['src/a.ts'], tests, base)).toEqual(['test/a.test.ts', 'test/binary/d.test.ts']);
  expect(reachTests(['test/c.test.ts'], tests, base)).toEqual(['test/c.test.ts']);
  expect(reachTests(['docs/api.md'], tests, base)).toEqual([]);
});

test('the slowest files are sums over their tests, the slowest first', () => {
  const durations = readDurations(
    '<testcase name="x" classname="" time="1.5" file="a.test.ts"/><testcase name="y" time="0.1" file="a.test.ts">' +
      '</testcase><testcase name="z" time="2" file="b.test.ts"/>',
  );
  expect(describeSlowest(durations, 2)).toContain('     2.0 s  b.test.ts\n     1.6 s  a.test.ts');
});

test('files that measure run one by one, beside light ones for as long; the longest start first', () => {
  const durations = {
    'test/auth/a.test.ts': 9,
    'test/auth/b.serial.test.ts': 3,
    'test/binary/c.test.ts': 20,
    'test/http/d.test.ts': 2,
    'test/http/f.test.ts': 4,
    'test/http/g.test.ts': 1,
    'test/http/h.test.ts': 5,
    'test/sandbox/e.serial.test.ts': 2,
    'test/stall/i.serial.full.test.ts': 0,
  };
  expect(planRun(Object.keys(durations), durations)).toEqual({
    parallel: [
      'test/binary/c.test.ts',
      'test/auth/a.test.ts',
      'test/http/f.test.ts',
      'test/http/d.test.ts',
      'test/http/g.test.ts',
    ],
    serial: ['test/sandbox/e.serial.test.ts', 'test/auth/b.serial.test.ts', 'test/stall/i.serial.full.test.ts'],
    besideSerial: ['test/http/h.test.ts'],
  });
  expect(planRun(['test/http/d.test.ts'], {})).toEqual({
    parallel: ['test/http/d.test.ts'],
    serial: [],
    besideSerial: [],
  });
});

test('the order of files and their measured durations pass through the timings of the runner', () => {
  expect(JSON.parse(toTimings(['b.test.ts', 'a.test.ts']))).toEqual({
    version: 1,
    files: { 'b.test.ts': 2, 'a.test.ts': 1 },
  });
  expect(readTimings('{ "version": 1, "files": { "a.test.ts": 1500 } }')).toEqual({ 'a.test.ts': 1.5 });
});
