import type { Job } from './pool-types.ts';

/** A call that takes less is quick: others may be sent with it or behind it. */
export const QUICK_MS = 5;
/**
 * After a call that took long its owner's calls of that plugin count as slow until their average is
 * below this.
 */
const SLOW_AVERAGE_MS = 50;
/** Weight of the newest call in the average. */
const NEWEST = 0.25;
/** Taken for a call of which nothing is known. */
const UNKNOWN_MS = 1;
const MAX_REMEMBERED = 100_000;

type Pair = Pick<Job, 'owner' | 'lane'>;

/**
 * How long calls take, by plugin and owner: one owner's slow calls do not make those of others
 * slow.
 */
export interface CallEstimates {
  record(pair: Pair, ms: number): void;
  /** Milliseconds; more than 0. */
  expectedMs(pair: Pair): number;
  /** Its last call was quick, and the ones before were not slow. */
  isQuick(pair: Pair): boolean;
  /** Its calls take long on average. */
  isSlow(pair: Pair): boolean;
  size(): number;
}

export function createCallEstimates(): CallEstimates {
  // The longest unused first.
  const known = new Map<string, { averageMs: number; lastMs: number }>();
  const keyOf = ({ owner, lane }: Pair): string => `${lane}\n${owner}`;
  return {
    record(pair, ms) {
      const key = keyOf(pair);
      const former = known.get(key)?.averageMs ?? ms;
      known.delete(key);
      known.set(key, { averageMs: former + NEWEST * (ms - former), lastMs: ms });
      if (known.size <= MAX_REMEMBERED) return;
      const [longestUnused] = known.keys();
      if (longestUnused !== undefined) known.delete(longestUnused);
    },
    expectedMs: (pair) => Math.max(0.01, known.get(keyOf(pair))?.averageMs ?? UNKNOWN_MS),
    isQuick(pair) {
      const found = known.get(keyOf(pair));
      return found !== undefined && found.lastMs < QUICK_MS && found.averageMs < SLOW_AVERAGE_MS;
    },
    isSlow: (pair) => (known.get(keyOf(pair))?.averageMs ?? 0) >= SLOW_AVERAGE_MS,
    size: () => known.size,
  };
}
