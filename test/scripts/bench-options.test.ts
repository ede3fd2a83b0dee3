import { expect, test } from 'bun:test';
import { readOptions, usage } from '../../bench/read-options.ts';

const PARTS = ['start', 'requests', 'polls'];
const read = (...args: string[]) => readOptions(args, PARTS);

test('without arguments every part runs once, on this build alone', () => {
  expect(read()).toMatchObject({ only: [], beside: undefined, repeat: 1, json: undefined, inFlight: 100_000 });
});

test('beside another build each part runs three times, unless it is told otherwise', () => {
  expect(read('--beside', '../before')).toMatchObject({ beside: '../before', repeat: 3 });
  expect(read('--repeat', '5', '--beside', '../before').repeat).toBe(5);
});

test('--only takes several parts, in one argument or in several', () => {
  expect(read('--only', 'start,polls').only).toEqual(['start', 'polls']);
  expect(read('--only', 'start', '--only', 'polls').only).toEqual(['start', 'polls']);
});

test('--peers is the part of other programs, and takes no value', () => {
  expect(readOptions(['--peers', '--seconds', '2'], ['start', 'peers'])).toMatchObject({ only: ['peers'], seconds: 2 });
});

test('sizes can be made smaller for a short run', () => {
  const sizes = { seconds: 2, inFlight: 1000, observers: 100, tasks: 5000 };
  expect(
    read('--seconds', '2', '--in-flight', '1000', '--observers', '100', '--tasks', '5000', '--json', 'out.json'),
  ).toMatchObject({ ...sizes, json: 'out.json' });
});

test.each([
  [['--fast', '1'], '--fast is not an option.'],
  [['--beside'], '--beside needs a value.'],
  [['--repeat', '0'], '--repeat takes a whole number from 1.'],
  [['--seconds', '1.5'], '--seconds takes a whole number from 1.'],
  [['--only', 'start,stop'], 'There is no part "stop".'],
])('%p is refused with a sentence', (args, sentence) => {
  expect(() => read(...args)).toThrow(sentence);
});

test('the usage names every part', () => {
  for (const part of PARTS) expect(usage(PARTS)).toContain(part);
});
