import type { TFunction } from 'i18next';

/** What a number counts. `retention`: days, 0 means forever. `ratio`: of the list price. */
export type QuantityUnit = 'second' | 'minute' | 'hour' | 'day' | 'byte' | 'megabyte' | 'retention' | 'count' | 'ratio';

type Step = readonly [unit: string, size: number];

const times: readonly Step[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const sizes: readonly Step[] = [
  ['terabyte', 1024 ** 4],
  ['gigabyte', 1024 ** 3],
  ['megabyte', 1024 ** 2],
  ['kilobyte', 1024],
];

/** How many of the smallest unit of `steps` one of this unit is. */
const scales: Partial<Record<QuantityUnit, { steps: readonly Step[]; size: number }>> = {
  second: { steps: times, size: 1 },
  minute: { steps: times, size: 60 },
  byte: { steps: sizes, size: 1 },
  megabyte: { steps: sizes, size: 1024 ** 2 },
};

/** The unit's name as it follows this number, as " seconds"; empty without a name. */
export function nameUnit(unit: QuantityUnit, value: number, language: string): string {
  if (unit === 'count' || unit === 'ratio') return '';
  const parts = new Intl.NumberFormat(language, {
    style: 'unit',
    unit: unit === 'retention' ? 'day' : unit,
    unitDisplay: 'long',
  }).formatToParts(value);
  const last = parts.findLastIndex(({ type }) => type === 'integer' || type === 'fraction');
  return parts
    .slice(last + 1)
    .map((part) => part.value)
    .join('');
}

/** The same quantity as people say it, as "= 1 hour"; null where the number itself says it. */
export function sayQuantity(
  t: TFunction,
  { unit, value, language }: { unit: QuantityUnit; value: number; language: string },
): string | null {
  if (unit === 'retention') return value === 0 ? t('number.forever') : null;
  if (unit === 'ratio') return sayRatio(t, value, language);
  if (unit === 'count') return value < 1000 ? null : `= ${new Intl.NumberFormat(language).format(value)}`;
  const { steps = [], size = 1 } = scales[unit] ?? {};
  const [name, step = 1] = steps.find(([larger, least]) => larger !== unit && value * size >= least) ?? [];
  if (name === undefined || step <= size) return null;
  const amount = new Intl.NumberFormat(language, {
    style: 'unit',
    unit: name,
    unitDisplay: steps === times ? 'long' : 'short',
    maximumFractionDigits: 2,
  });
  return `= ${amount.format((value * size) / step)}`;
}

function sayRatio(t: TFunction, ratio: number, language: string): string {
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  if (ratio === 0) return t('number.free');
  if (ratio === 1) return t('number.listPrice');
  return ratio < 1
    ? t('number.off', { percent: percent.format(1 - ratio) })
    : t('number.above', { percent: percent.format(ratio - 1) });
}
