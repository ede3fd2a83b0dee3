import type { Redis } from 'ioredis';

/** The milliseconds for which the session cache in `redis` remembers something at most. */
export async function longestEntry(redis: Redis): Promise<number> {
  const keys = await redis.keys('taskgate:session:*');
  const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
  // That of a key without an end is -1.
  return Math.max(0, ...lives.map((ms) => (ms === -1 ? Number.POSITIVE_INFINITY : ms)));
}
