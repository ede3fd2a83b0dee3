/** A Prometheus histogram: how many values were at most `le`, in rising order of `le`. */
export type Histogram = { buckets: { le: number; count: number }[]; count: number };

/** The histogram `name` in the text of `/metrics`; it has no labels. */
export function readHistogram(text: string, name: string): Histogram {
  const lines = text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)`, 'gm'));
  const buckets = [...lines].map(([, le, count]) => ({
    le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
    count: Number(count),
  }));
  return { buckets, count: buckets.at(-1)?.count ?? 0 };
}

/** What was counted between two readings. */
export const subtract = (later: Histogram, earlier: Histogram): Histogram => ({
  buckets: later.buckets.map(({ le, count }, i) => ({ le, count: count - (earlier.buckets[i]?.count ?? 0) })),
  count: later.count - earlier.count,
});

/** The value that `share` of the counted do not exceed, within a bucket on a straight line. */
export function upperShare({ buckets, count }: Histogram, share: number): number {
  const wanted = count * share;
  let below = { le: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= wanted && bucket.count > below.count) {
      if (bucket.le === Number.POSITIVE_INFINITY) return bucket.le;
      return below.le + ((bucket.le - below.le) * (wanted - below.count)) / (bucket.count - below.count);
    }
    below = bucket;
  }
  return Number.NaN;
}
