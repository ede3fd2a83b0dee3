/** A call that takes less is quick: it may share a process or a message with others. */
export const QUICK_MS = 5;
/** A plugin's calls of one owner count as slow while their average is at least this. */
const SLOW_AVERAGE_MS = 50;
/** Weight of the newest call in the average. */
const NEWEST_WEIGHT = 0.25;
/** Estimate for a call of which nothing is known. */
const UNKNOWN_MS = 1;
const MAX_REMEMBERED = 100_000;

/** `callKey` names a plugin and an owner; `toCallKey` makes it once for each call. */
type CallKey = { callKey: string };

export const toCallKey = (plugin: string, owner: string): string => `${plugin}\n${owner}`;

/**
 * How long calls take, by plugin and owner: one owner's slow calls do not make those of others
 * slow.
 */
export interface CallEstimates {
  record(key: CallKey, ms: number): void;
  /** Milliseconds; more than 0. */
  expectedMs(key: CallKey): number;
  /** The last call was quick, and the ones before were not slow. */
  isQuick(key: CallKey): boolean;
  /** Calls take long on average. */
  isSlow(key: CallKey): boolean;
  size(): number;
}

/** Remembers at most `MAX_REMEMBERED` pairs; the longest unused is forgotten first. */
export function createCallEstimates(): CallEstimates {
  // In the order of their last record.
  const known = new Map<string, { averageMs: number; lastMs: number }>();
  return {
    record({ callKey }, ms) {
      const average = known.get(callKey)?.averageMs ?? ms;
      known.delete(callKey);
      known.set(callKey, { averageMs: average + NEWEST_WEIGHT * (ms - average), lastMs: ms });
      if (known.size <= MAX_REMEMBERED) return;
      const [longestUnused] = known.keys();
      if (longestUnused !== undefined) known.delete(longestUnused);
    },
    expectedMs: ({ callKey }) => Math.max(0.01, known.get(callKey)?.averageMs ?? UNKNOWN_MS),
    isQuick({ callKey }) {
      const found = known.get(callKey);
      return found !== undefined && found.lastMs < QUICK_MS && found.averageMs < SLOW_AVERAGE_MS;
    },
    isSlow: ({ callKey }) => (known.get(callKey)?.averageMs ?? 0) >= SLOW_AVERAGE_MS,
    size: () => known.size,
  };
}
