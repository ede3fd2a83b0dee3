import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../kernel/index.ts';
import type { Count, Counters } from '../ports/counters.ts';

/** The most counters at once. Beyond it, the one whose last addition is oldest is evicted. */
export const MAX_COUNTERS = 100_000;
const FIRST_CAPACITY = 1024;
const NONE = -1;

export type MemoryCounters = Counters & { size(): number };

/**
 * Counters in this process, about 40 bytes each, so that made-up addresses cost little memory. A
 * key is stored as a 64-bit digest under a seed of this process. An evicted counter restarts at 0.
 * To evict their own, a client needs 100,000 other addresses within its window, each of which is
 * counted and limited too.
 */
export function createMemoryCounters(clock: Clock = systemClock, max = MAX_COUNTERS): MemoryCounters {
  const seed = randomBytes(8).readBigUInt64LE();
  let capacity = Math.min(FIRST_CAPACITY, max);
  let digests = new BigUint64Array(capacity);
  let counts = new Float64Array(capacity);
  let ends = new Float64Array(capacity);
  /** Doubly linked list in the order of the last addition. */
  let older = new Int32Array(capacity);
  let newer = new Int32Array(capacity);
  /** Hash index from digest to slot, with open addressing; twice as many buckets as slots. */
  let buckets = new Int32Array(capacity * 2).fill(NONE);
  let used = 0;
  let oldest = NONE;
  let newest = NONE;

  const digestOf = (key: string): bigint => Bun.hash.wyhash(key, seed);

  /** The bucket of a digest, or the free one where it belongs. */
  function bucketOf(digest: bigint): number {
    let bucket = Number(digest % BigInt(buckets.length));
    for (;;) {
      const slot = buckets[bucket] as number;
      if (slot === NONE || digests[slot] === digest) return bucket;
      bucket = (bucket + 1) % buckets.length;
    }
  }

  function index(): void {
    buckets = new Int32Array(capacity * 2).fill(NONE);
    for (let slot = 0; slot < used; slot += 1) buckets[bucketOf(digests[slot] as bigint)] = slot;
  }

  function grow(): void {
    capacity = Math.min(capacity * 2, max);
    const copy = <T extends BigUint64Array | Float64Array | Int32Array>(from: T, to: T): T => {
      to.set(from as never);
      return to;
    };
    digests = copy(digests, new BigUint64Array(capacity));
    counts = copy(counts, new Float64Array(capacity));
    ends = copy(ends, new Float64Array(capacity));
    older = copy(older, new Int32Array(capacity));
    newer = copy(newer, new Int32Array(capacity));
    index();
  }

  function unlink(slot: number): void {
    const [before, after] = [older[slot] as number, newer[slot] as number];
    if (before === NONE) oldest = after;
    else newer[before] = after;
    if (after === NONE) newest = before;
    else older[after] = before;
  }

  function linkNewest(slot: number): void {
    older[slot] = newest;
    newer[slot] = NONE;
    if (newest === NONE) oldest = slot;
    else newer[newest] = slot;
    newest = slot;
  }

  /**
   * Removes a digest from the index. Entries that follow it move up, so that probing still finds
   * them.
   */
  function removeDigest(digest: bigint): void {
    let gap = bucketOf(digest);
    buckets[gap] = NONE;
    for (let at = (gap + 1) % buckets.length; buckets[at] !== NONE; at = (at + 1) % buckets.length) {
      const slot = buckets[at] as number;
      const home = Number((digests[slot] as bigint) % BigInt(buckets.length));
      const isBetween = gap < at ? home > gap && home <= at : home > gap || home <= at;
      if (isBetween) continue;
      buckets[gap] = slot;
      buckets[at] = NONE;
      gap = at;
    }
  }

  /** A slot for a new digest: a free one, or that of the oldest. */
  function newSlot(digest: bigint): number {
    let slot = used;
    if (used < max) {
      if (used === capacity) grow();
      used += 1;
    } else {
      slot = oldest;
      unlink(slot);
      removeDigest(digests[slot] as bigint);
    }
    digests[slot] = digest;
    buckets[bucketOf(digest)] = slot;
    ends[slot] = 0;
    linkNewest(slot);
    return slot;
  }

  const read = (slot: number, now: number): Count => ({
    count: counts[slot] as number,
    // Sums of fractions are a little off: a whole second must not become one more.
    resetsInSeconds: Math.max(1, Math.ceil(Math.round((ends[slot] as number) - now) / 1000)),
  });

  return {
    async add(key, amount, windowSeconds) {
      const now = clock.monotonicMs();
      const digest = digestOf(key);
      const known = buckets[bucketOf(digest)] as number;
      const slot = known === NONE ? newSlot(digest) : known;
      if (known !== NONE) {
        unlink(slot);
        linkNewest(slot);
      }
      if ((ends[slot] as number) <= now) {
        counts[slot] = 0;
        ends[slot] = now + windowSeconds * 1000;
      }
      counts[slot] = Math.max(0, (counts[slot] as number) + amount);
      return read(slot, now);
    },
    async peek(key) {
      const now = clock.monotonicMs();
      const slot = buckets[bucketOf(digestOf(key))] as number;
      return slot === NONE || (ends[slot] as number) <= now ? undefined : read(slot, now);
    },
    size: () => used,
  };
}
