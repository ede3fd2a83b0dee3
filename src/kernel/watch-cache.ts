/**
 * Tells of a cache in memory, so that its number of entries becomes a metric. `cache` is its name
 * there.
 */
export type WatchCache = (cache: string, size: () => number) => void;
