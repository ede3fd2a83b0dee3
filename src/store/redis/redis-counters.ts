import type { RateLimiterRes } from 'rate-limiter-flexible';
import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js';
import { createMemoryCounters, type MemoryCounters } from '../drivers/memory-counters.ts';
import type { Count, Counters } from '../ports/index.ts';
import type { Redis } from './connect-redis.ts';

/**
 * Counters shared through Redis; each addition is one atomic script. While the server is
 * unavailable or slow, counting continues in `own`, the counters of this process: then a limit
 * holds per node.
 */
export function createRedisCounters(redis: Redis, own: MemoryCounters = createMemoryCounters()): Counters {
  const limiter = new RateLimiterRedis({
    ...SETTINGS,
    keyPrefix: 'taskgate:count',
    customIncrTtlLuaScript: ADD,
    storeClient: redis,
    rejectIfRedisNotReady: true,
  });
  return {
    async add(key, amount, windowSeconds) {
      const options = { customDuration: windowSeconds };
      try {
        if (amount >= 0) return read(await limiter.penalty(key, amount, options));
        const left = await limiter.reward(key, -amount, options);
        return read(left.consumedPoints < 0 ? await limiter.penalty(key, -left.consumedPoints, options) : left);
      } catch {
        return own.add(key, amount, windowSeconds);
      }
    },
    async peek(key) {
      try {
        const result = await limiter.get(key);
        return result && result.msBeforeNext > 0 ? read(result) : undefined;
      } catch {
        return own.peek(key);
      }
    },
  };
}

/**
 * One addition. The first opens the window, and a key that has lost its expiry gets one. Giving
 * back after the window has ended takes nothing from the next.
 */
const ADD = `
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local count = redis.call('incrby', KEYS[1], ARGV[1])
if count < 0 then
  redis.call('incrby', KEYS[1], -count)
  count = 0
end
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 then
  redis.call('expire', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
return {count, ttl}
`;

/** The limiter only counts: limit and window length come with every addition. */
const SETTINGS = { points: Number.MAX_SAFE_INTEGER, duration: 1 };

const read = ({ consumedPoints, msBeforeNext }: RateLimiterRes): Count => ({
  count: Math.max(0, consumedPoints),
  resetsInSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
});
