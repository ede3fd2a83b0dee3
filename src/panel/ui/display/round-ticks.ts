/** The ticks of a chart's axis, in the unit of its values, and how each is written. */
export type Axis = { ticks: readonly number[]; label(value: number): string };

/** More would stand too close. */
const maxIntervals = 5;

/**
 * From zero to at least `peak`, in steps of 1, 2 or 5 times a power of ten of `unit`; `step` is in
 * units. The smallest step of whole numbers is one.
 */
export function roundTicks(
  peak: number,
  { unit = 1, whole = false }: { unit?: number; whole?: boolean } = {},
): { ticks: readonly number[]; step: number } {
  const most = peak > 0 ? peak / unit : 1;
  const power = 10 ** Math.floor(Math.log10(most / maxIntervals));
  const wanted = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step * maxIntervals >= most * 0.999_999);
  const step = Math.max(wanted ?? most, whole ? 1 : 0);
  const intervals = Math.ceil((most / step) * 0.999_999);
  return { ticks: Array.from({ length: intervals + 1 }, (_, index) => index * step * unit), step };
}

/** Returns the decimals needed to print every multiple of `step` exactly. */
export const decimalsOfStep = (step: number): number => Math.max(0, -Math.floor(Math.log10(step * 1.000_001)));
