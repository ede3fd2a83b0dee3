/**
 * `undefined` when the differences of pairs, in milliseconds, are noise; else a description.
 * Differences below `least` cannot be measured from outside.
 */
export function summarizeDifferences(differences: number[], least = 0.1): string | undefined {
  const middle = median(differences);
  const spread = median(differences.map((difference) => Math.abs(difference - middle)));
  // The standard error of a median, with the spread estimated by the median absolute deviation.
  const error = (1.2533 * 1.4826 * spread) / Math.sqrt(differences.length);
  if (Math.abs(middle) < Math.max(3 * error, least)) return undefined;
  return `${middle.toFixed(3)} ms with an error of ${error.toFixed(3)} ms`;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
