import type { TFunction } from 'i18next';
import { groupThousands } from './decimal.ts';

/** What a stored number counts. */
export type QuantityUnit = 'second' | 'minute' | 'hour' | 'day' | 'byte' | 'megabyte';

/** A unit that one chooses, and how many of the stored one it is. */
export type UnitStep = { name: string; size: number };

const toSteps = (steps: readonly (readonly [string, number])[]): readonly UnitStep[] =>
  steps.map(([name, size]) => ({ name, size }));

/** The units in which people write such a number, the smallest first. */
export const unitSteps: Readonly<Record<QuantityUnit, readonly UnitStep[]>> = {
  second: toSteps([
    ['second', 1],
    ['minute', 60],
    ['hour', 3600],
    ['day', 86_400],
  ]),
  minute: toSteps([
    ['minute', 1],
    ['hour', 60],
    ['day', 1440],
  ]),
  hour: toSteps([['hour', 1]]),
  day: toSteps([['day', 1]]),
  byte: toSteps([
    ['byte', 1],
    ['kilobyte', 1024],
    ['megabyte', 1024 ** 2],
    ['gigabyte', 1024 ** 3],
    ['terabyte', 1024 ** 4],
  ]),
  megabyte: toSteps([
    ['megabyte', 1],
    ['gigabyte', 1024],
    ['terabyte', 1024 ** 2],
  ]),
};

/** The largest unit in which the number is whole; of no number, the one of its default. */
export function fitStep(unit: QuantityUnit, value: string, initial = ''): UnitStep {
  const [smallest = { name: unit, size: 1 }, ...larger] = unitSteps[unit];
  const amount = Number(/^\d+$/.test(value) && Number(value) > 0 ? value : initial);
  return larger.findLast(({ size }) => amount > 0 && amount % size === 0) ?? smallest;
}

const format = (name: string, language: string) =>
  new Intl.NumberFormat(language, {
    style: 'unit',
    unit: name,
    unitDisplay: name.endsWith('byte') ? 'short' : 'long',
    maximumFractionDigits: 2,
  });

/** The unit's name as it follows this number, as "seconds". */
export const nameUnit = (name: string, amount: number, language: string): string =>
  format(name, language)
    .formatToParts(amount)
    .filter(({ type }) => type === 'unit')
    .map(({ value }) => value)
    .join('');

/** A stored number in the unit that suits it, as "12 hours". */
function formatQuantity(unit: QuantityUnit, value: number, language: string): string {
  const { name, size } = fitStep(unit, String(value));
  return format(name, language).format(value / size);
}

type Range = { low: number; high: number; language: string };

/** What is said of a number out of its range, with the bounds as its field shows numbers. */
export function describeRange(t: TFunction, unit: QuantityUnit | undefined, { low, high, language }: Range): string {
  const formatBound = (bound: number): string =>
    unit === undefined ? groupThousands(String(bound), language) : formatQuantity(unit, bound, language);
  return t(unit === undefined ? 'number.between' : 'number.range', { low: formatBound(low), high: formatBound(high) });
}

/** What a ratio of the operator's price means. */
export function describeRatio(t: TFunction, ratio: number, language: string): string {
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  if (ratio === 0) return t('number.free');
  if (ratio === 1) return t('number.yourPrice');
  return ratio < 1
    ? t('number.off', { percent: percent.format(1 - ratio) })
    : t('number.above', { percent: percent.format(ratio - 1) });
}
