/** One measured quantity. Figures with the same `row` stand together in the table. */
export type Figure = {
  row: string;
  /** What was measured of it: `rate`, `p99`, `processor a request`. */
  name: string;
  value: number;
  unit: string;
  /** Which value is the better one; absent: for information, not compared. */
  better?: 'higher' | 'lower';
  /** The value to reach: at least where higher is better, else at most. */
  aim?: number;
};

/** A figure of one row without the row's name. */
export type Measured = Omit<Figure, 'row'>;

export const higher = (name: string, value: number, unit: string): Measured => ({
  name,
  value,
  unit,
  better: 'higher',
});
export const lower = (name: string, value: number, unit: string): Measured => ({ name, value, unit, better: 'lower' });
export const note = (name: string, value: number, unit: string): Measured => ({ name, value, unit });

/** The figures of one row, with the aims that some of them have, by name. */
export const row = (what: string, figures: Measured[], aims: Record<string, number> = {}): Figure[] =>
  figures.map((figure) => {
    const aim = aims[figure.name];
    return { row: what, ...figure, ...(aim === undefined ? {} : { aim }) };
  });

/** The value that `share` of `values` do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
