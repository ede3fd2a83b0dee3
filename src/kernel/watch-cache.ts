/**
 * Registers a cache in memory, so that its number of entries becomes a metric. `cache` is its name
 * in the metric.
 */
export type WatchCache = (cache: string, size: () => number) => void;
