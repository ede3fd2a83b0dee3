import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Count, Counters } from '../ports/counters.ts';
import type { Redis } from './redis.ts';

/** Counters in this process. */
export function createMemoryCounters(): Counters {
  return countWith(new RateLimiterMemory(SETTINGS));
}

/**
 * Counters shared through Redis, each addition one atomic script. While the server is away or does not answer in time, counting
 * goes on in this process: a limit then holds per node.
 */
export function createRedisCounters(redis: Redis): Counters {
  return countWith(
    new RateLimiterRedis({
      ...SETTINGS,
      keyPrefix: 'taskgate:count',
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(SETTINGS),
    }),
  );
}

/** The limiter only counts: what is too much, and the length of each window, are said with every addition. */
const SETTINGS = { points: Number.MAX_SAFE_INTEGER, duration: 1 };

function countWith(limiter: RateLimiterMemory | RateLimiterRedis): Counters {
  return {
    async add(key, amount, windowSeconds) {
      const options = { customDuration: windowSeconds };
      return read(
        amount < 0 ? await limiter.reward(key, -amount, options) : await limiter.penalty(key, amount, options),
      );
    },
    async peek(key) {
      const result = await limiter.get(key);
      return result && result.msBeforeNext > 0 ? read(result) : undefined;
    },
  };
}

const read = ({ consumedPoints, msBeforeNext }: RateLimiterRes): Count => ({
  // What is given back after its window has ended would open the next one below zero.
  count: Math.max(0, consumedPoints),
  resetsInSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
});
