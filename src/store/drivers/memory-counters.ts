import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../kernel/index.ts';
import type { Count, Counters } from '../ports/index.ts';

/** The most counters at once. Beyond it, the one whose last addition is oldest is evicted. */
export const MAX_COUNTERS = 100_000;

export type MemoryCounters = Counters & { size(): number };

type Window = { count: number; endsAt: number };

/**
 * Counters in this process. A key is stored as a digest under a seed of this process, so that long
 * keys cost no more memory than short ones. An evicted counter restarts at 0. To evict their own, a
 * client needs 100,000 other addresses within its window, each of which is counted and limited too.
 */
export function createMemoryCounters(clock: Clock = systemClock, max = MAX_COUNTERS): MemoryCounters {
  /** In the order of the last addition. */
  const windows = new Map<number, Window>();
  const seed = randomBytes(8).readBigUInt64LE();
  // A number of 53 bits takes much less memory than a bigint.
  const toDigest = (key: string): number => Number(BigInt.asUintN(53, Bun.hash.wyhash(key, seed)));

  const read = ({ count, endsAt }: Window, now: number): Count => ({
    count,
    // Sums of fractions are a little off: a whole second must not become one more.
    resetsInSeconds: Math.max(1, Math.ceil(Math.round(endsAt - now) / 1000)),
  });

  return {
    async add(key, amount, windowSeconds) {
      const now = clock.monotonicMs();
      const digest = toDigest(key);
      const known = windows.get(digest);
      const window = known && known.endsAt > now ? known : { count: 0, endsAt: now + windowSeconds * 1000 };
      window.count = Math.max(0, window.count + amount);
      windows.delete(digest);
      windows.set(digest, window);
      if (windows.size > max) windows.delete(windows.keys().next().value as number);
      return read(window, now);
    },
    async peek(key) {
      const now = clock.monotonicMs();
      const window = windows.get(toDigest(key));
      return window && window.endsAt > now ? read(window, now) : undefined;
    },
    size: () => windows.size,
  };
}
