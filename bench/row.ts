/** One line of the table. */
export type Row = {
  what: string;
  measured: string;
  aim?: { text: string; met: boolean };
  /** The figures behind the line, by name with the unit. */
  figures: Record<string, number>;
};

export const atMost = (value: number, limit: number, unit: string): Row['aim'] => ({
  text: `≤ ${limit} ${unit}`,
  met: value <= limit,
});

export const atLeast = (value: number, limit: number, unit: string): Row['aim'] => ({
  text: `≥ ${limit} ${unit}`,
  met: value >= limit,
});

/** The value that `share` of `values` do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
