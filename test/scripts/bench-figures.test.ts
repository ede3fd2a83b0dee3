import { expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareOtherBuild } from '../../bench/builds.ts';
import { compareFigures, measureSpread, orderOfRuns } from '../../bench/compare-figures.ts';
import { type Figure, higher, lower, note, row } from '../../bench/figures.ts';
import { parseAnswer } from '../../bench/load/http-client.ts';
import { formatFigures, formatValue } from '../../bench/print-figures.ts';
import { runPart } from '../../bench/run-parts.ts';
import { formatMarkdown } from '../../bench/write-markdown.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const sizes = { seconds: 1, inFlight: 1, observers: 1, tasks: 1 };
const [own, former] = ['this', 'other'].map((name) => ({ binary: name, source: undefined, name }));
const builds = { this: own as NonNullable<typeof own>, other: former };

/** One comparison of a rate, of which more is better. */
function compareRates(ours: number[], theirs: number[], aim?: number) {
  const runs = (values: number[]): Figure[][] =>
    values.map((value) => row('reads', [higher('rate', value, '/s')], aim === undefined ? {} : { rate: aim }));
  const [compared] = compareFigures({ this: runs(ours), other: runs(theirs) });
  if (!compared) throw new Error('nothing was compared');
  return compared;
}

test('the builds alternate, and take turns in being first', () => {
  expect(orderOfRuns(3, true)).toEqual(['this', 'other', 'other', 'this', 'this', 'other']);
  expect(orderOfRuns(2, false)).toEqual(['this', 'this']);
});

test('the median of an even number of runs lies between the two in the middle', () => {
  expect(measureSpread([4, 1, 3, 2])).toMatchObject({ median: 2.5, min: 1, max: 4 });
  expect(measureSpread([9, 1, 5])).toMatchObject({ median: 5, min: 1, max: 9 });
  expect(measureSpread([])).toBeUndefined();
});

test('a gain above 1 means that this build is better, whichever way the figure goes', () => {
  expect(compareRates([300], [100]).gain).toBe(3);
  const times = (value: number) => [row('reads', [lower('p99', value, 'ms')])];
  expect(compareFigures({ this: times(5), other: times(10) })[0]?.gain).toBe(2);
});

test('a difference is within the noise when the ranges of both builds touch', () => {
  expect(compareRates([100, 110, 120], [115, 130, 140]).withinNoise).toBe(true);
  expect(compareRates([100, 110, 114], [115, 130, 140]).withinNoise).toBe(false);
  expect(compareRates([100], [200]).withinNoise).toBeUndefined();
});

test('an aim is checked against the median of this build', () => {
  expect(compareRates([90, 100, 200], [], 100).aimMet).toBe(true);
  expect(compareRates([90, 99, 200], [], 100).aimMet).toBe(false);
  const times = [row('reads', [lower('p99', 31, 'ms')], { p99: 30 })];
  expect(compareFigures({ this: times, other: [] })[0]?.aimMet).toBe(false);
});

test('what only the other build has stands in its row', () => {
  const figures = (names: string[]) => names.flatMap((name) => row(name, [lower('p50', 1, 'ms')]));
  const extra = row('reads', [lower('p99', 2, 'ms')]);
  const compared = compareFigures({
    this: [figures(['reads', 'writes'])],
    other: [[...figures(['reads', 'writes']), ...extra]],
  });
  expect(compared.map(({ row: name, name: figure }) => `${name} ${figure}`)).toEqual([
    'reads p50',
    'reads p99',
    'writes p50',
  ]);
  expect(compared[1]).toMatchObject({ this: undefined, gain: undefined });
});

test('what is for information has no ratio and no noise', () => {
  const loads = (value: number) => [row('reads', [note('load generator', value, 'cores')])];
  const [compared] = compareFigures({ this: loads(1), other: loads(2) });
  expect(compared).toMatchObject({ gain: undefined, withinNoise: undefined, aimMet: undefined });
});

test('a part that the other build cannot do is said so and measured on this build alone', async () => {
  const asked: string[] = [];
  const part = async ({ build }: { build: { name: string } }) => {
    asked.push(build.name);
    if (build.name === 'other') throw new Error('there is no such route');
    return row('reads', [higher('rate', 100, '/s')]);
  };
  const { figures, otherFailed } = await runPart(part, { builds, repeat: 2, sizes });
  expect(otherFailed).toBe('there is no such route');
  expect(asked).toEqual(['this', 'other', 'this']);
  expect(figures).toMatchObject([{ this: { values: [100, 100] }, other: undefined, gain: undefined }]);
});

test('a part that this build cannot do fails the bench', async () => {
  const part = async () => {
    throw new Error('the gateway ended with 1');
  };
  await expect(runPart(part, { builds, repeat: 1, sizes })).rejects.toThrow('the gateway ended with 1');
});

test('the table has a line for each figure below the name of its row', () => {
  const lines = formatFigures([compareRates([1000, 1100, 1200], [500, 550, 600], 2000)], true);
  expect(lines[0]).toBe('reads');
  expect(lines[1]).toContain('1,100 /s (1,000–1,200)');
  expect(lines[1]).toContain('550 /s (500–600)');
  expect(lines[1]).toContain('× 2.00');
  expect(lines[1]).not.toContain('noise');
  expect(lines[1]).toEndWith('≥ 2,000 /s MISSED');
});

test('the Markdown table has the earlier build before this one, and says what may be noise', () => {
  expect(formatMarkdown([compareRates([1000, 1100], [500, 1050])], true).split('\n')).toEqual([
    '| row | figure | before | after | better by | aim |',
    '|---|---|---|---|---|---|',
    '| reads | rate | 775 /s (500–1,050) | 1,050 /s (1,000–1,100) | × 1.35 (noise) |  |',
    '',
  ]);
});

test('the Markdown table of a budget has a column for each request', () => {
  const budget = (us: number) =>
    ['session read', 'poll'].flatMap((what) => row(`budget: ${what}`, [lower('SQLite', us, 'µs')]));
  const compared = compareFigures({ this: [budget(10)], other: [budget(40)] });
  expect(formatMarkdown(compared, true).split('\n')).toEqual([
    '| µs | session read | poll |',
    '|---|---|---|',
    '| SQLite | 40.0 → 10.0 | 40.0 → 10.0 |',
    '',
  ]);
});

test('values have three digits that count', () => {
  expect([1234.5, 12.34, 1.234, 0.0314, 0].map(formatValue)).toEqual(['1,235', '12.3', '1.23', '0.031', '0']);
});

test.each([
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello'],
  ['HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n2\r\n !\r\n0\r\n\r\n', 404, 'hello !'],
])('the load generator reads a whole answer and waits for the rest of a part', (text, status, body) => {
  const answer = parseAnswer(Buffer.from(text));
  expect([answer?.status, answer?.body.toString()]).toEqual([status, body]);
  for (let end = 0; end < text.length; end += 1) expect(parseAnswer(Buffer.from(text.slice(0, end)))).toBeUndefined();
});

test('only an executable or a checkout can be compared with', async () => {
  const folder = temporaryFolder();
  try {
    writeFileSync(join(folder, 'text'), '');
    await expect(prepareOtherBuild(join(folder, 'absent'))).rejects.toThrow('does not exist');
    await expect(prepareOtherBuild(join(folder, 'text'))).rejects.toThrow('is not executable');
    await expect(prepareOtherBuild(folder)).rejects.toThrow('has no package.json');
    writeFileSync(join(folder, 'program'), '#!/bin/sh\n', { mode: 0o755 });
    expect(await prepareOtherBuild(join(folder, 'program'))).toMatchObject({ source: undefined });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
