import { isObject } from '../../kernel/index.ts';
import type { FactRange, VendorInfo } from '../types.ts';

const MAX_RANGES = 100;
const MAX_MODELS = 500;
const MAX_VALUES = 50;
const MAX_CHOICE = 100;

/** Undefined for what tells nothing; a range that does not fit is left out. */
export function rangesOf(value: unknown): VendorInfo['ranges'] {
  if (!isObject(value)) return undefined;
  const ranges = Object.entries(value)
    .slice(0, MAX_RANGES)
    .flatMap(([name, range]) => {
      const all = rangeOf(range);
      if (all === undefined) return [];
      const byModel = isObject(range) && isObject(range.models) ? Object.entries(range.models) : [];
      const models = byModel.slice(0, MAX_MODELS).flatMap(([model, of]) => {
        const own = rangeOf(of);
        return own === undefined ? [] : [[model, own] as const];
      });
      return [[name, { all, models: Object.fromEntries(models) }] as const];
    });
  return ranges.length === 0 ? undefined : Object.fromEntries(ranges);
}

/** Undefined for what is no range. */
function rangeOf(value: unknown): FactRange | null | undefined {
  if (value === null) return null;
  if (!isObject(value)) return undefined;
  const { minimum, maximum, values, whole } = value;
  if (values !== undefined) {
    const isFit = Array.isArray(values) && values.length > 0 && values.length <= MAX_VALUES && values.every(isChoice);
    return isFit ? { kind: 'values', values: values as (number | string)[] } : undefined;
  }
  if (minimum === undefined && maximum === undefined) return { kind: 'any' };
  const isFit = typeof minimum === 'number' && typeof maximum === 'number' && 0 <= minimum && minimum <= maximum;
  return isFit ? { kind: 'numbers', minimum, maximum, whole: whole === true } : undefined;
}

const isChoice = (value: unknown): boolean =>
  typeof value === 'number'
    ? value >= 0
    : typeof value === 'string' && value.trim() !== '' && value.length <= MAX_CHOICE;
