/**
 * `undefined` when the differences of pairs in milliseconds are noise, else what they show. `least`
 * is what nobody could measure.
 */
export function summarizeDifferences(differences: number[], least = 0.1): string | undefined {
  const middle = median(differences);
  const spread = median(differences.map((difference) => Math.abs(difference - middle)));
  // The standard error of a median, of a spread that is told by the median of deviations.
  const error = (1.2533 * 1.4826 * spread) / Math.sqrt(differences.length);
  if (Math.abs(middle) < Math.max(3 * error, least)) return undefined;
  return `${middle.toFixed(3)} ms with an error of ${error.toFixed(3)} ms`;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
