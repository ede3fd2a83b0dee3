import { expect, test } from 'bun:test';
import type { TFunction } from 'i18next';
import { nameUnit, type QuantityUnit, sayQuantity } from '../../src/panel/ui/form/quantity.ts';

/** Shows which text is chosen, and with what. */
const t = ((key: string, values?: { percent: string }) => `${key} ${values?.percent ?? ''}`.trim()) as TFunction;
const said = (unit: QuantityUnit, value: number, language = 'en') => sayQuantity(t, { unit, value, language });

test.each([
  ['second', 3600, ' seconds', '= 1 hour'],
  ['second', 5400, ' seconds', '= 1.5 hours'],
  ['second', 59, ' seconds', null],
  ['second', 1, ' second', null],
  ['minute', 5, ' minutes', null],
  ['minute', 1440, ' minutes', '= 1 day'],
  ['byte', 10 * 1024 ** 3, ' bytes', '= 10 GB'],
  ['megabyte', 256, ' megabytes', null],
  ['megabyte', 2048, ' megabytes', '= 2 GB'],
  ['hour', 4, ' hours', null],
  ['retention', 90, ' days', null],
  ['retention', 0, ' days', 'number.forever'],
  ['count', 999, '', null],
  ['count', 100_000, '', '= 100,000'],
  ['ratio', 1, '', 'number.listPrice'],
  ['ratio', 0.8, '', 'number.off 20%'],
  ['ratio', 1.25, '', 'number.above 25%'],
  ['ratio', 0, '', 'number.free'],
] as const)('%s %p is shown as people say it', (unit, value, name, sentence) => {
  expect([nameUnit(unit, value, 'en'), said(unit, value)]).toEqual([name, sentence]);
});

test('in the words of the language', () => {
  expect(nameUnit('second', 2, 'de')).toBe(' Sekunden');
  expect(said('count', 100_000, 'de')).toBe('= 100.000');
  expect(said('second', 3600, 'es')).toBe('= 1 hora');
});
