import { expect, test } from 'bun:test';
import type { TFunction } from 'i18next';
import { describeRange, describeRatio, fitStep, nameUnit } from '../../src/panel/ui/form/quantity.ts';

/** Shows which text is chosen, and with what. */
const t = ((key: string, values: Record<string, string> = {}) =>
  [key, ...Object.values(values)].join(' ')) as TFunction;

test.each([
  ['second', '3600', 'hour'],
  ['second', '5400', 'minute'],
  ['second', '59', 'second'],
  ['second', '172800', 'day'],
  ['minute', '5', 'minute'],
  ['minute', '1440', 'day'],
  ['byte', String(10 * 1024 ** 3), 'gigabyte'],
  ['byte', '1000', 'byte'],
  ['megabyte', '256', 'megabyte'],
  ['megabyte', '2048', 'gigabyte'],
  ['hour', '48', 'hour'],
  ['day', '90', 'day'],
] as const)('%s %p is written in whole numbers of a %s', (unit, value, name) => {
  expect(fitStep(unit, value).name).toBe(name);
});

test('no number is written in the unit of its default', () => {
  expect(fitStep('second', '0', '3600').name).toBe('hour');
  expect(fitStep('second', 'soon', '').name).toBe('second');
});

test('units are named in the language, and by the number before them', () => {
  expect(nameUnit('second', 1, 'en')).toBe('second');
  expect(nameUnit('second', 2, 'de')).toBe('Sekunden');
  expect(nameUnit('gigabyte', 2, 'en')).toBe('GB');
});

test('a range is said in the units that suit its ends', () => {
  const range = { low: 0, high: 43_200, language: 'en' };
  expect(describeRange(t, 'second', range)).toBe('number.range 0 seconds 12 hours');
  expect(describeRange(t, undefined, range)).toBe('number.between 0 43,200');
});

test.each([
  [1, 'number.yourPrice'],
  [0.8, 'number.off 20%'],
  [1.25, 'number.above 25%'],
  [0, 'number.free'],
])('a ratio of %p is shown as people say it', (ratio, sentence) => {
  expect(describeRatio(t, ratio, 'en')).toBe(sentence);
});
