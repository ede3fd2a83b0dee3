import { Histogram, type HistogramConfiguration, type LabelValues } from 'prom-client';

/** The most observations that wait. */
const MAX_WAITING = 500;

/**
 * A histogram that takes its observations in together: when it is read, and when there are many.
 * The library takes 0.2 µs for one of many, and 5 for one alone, since its code and its memory have
 * left the processor's caches by then.
 */
export function createDeferredHistogram<Label extends string>(
  configuration: Omit<HistogramConfiguration<Label>, 'collect'>,
): { observe(labels: LabelValues<Label>, value: number): void } {
  const waiting: { labels: LabelValues<Label>; value: number }[] = [];
  const takeIn = (): void => {
    for (const { labels, value } of waiting.splice(0)) histogram.observe(labels, value);
  };
  const histogram = new Histogram({ ...configuration, collect: takeIn });
  return {
    observe(labels, value) {
      waiting.push({ labels, value });
      if (waiting.length >= MAX_WAITING) takeIn();
    },
  };
}
