import type { Redis } from 'ioredis';

/** The longest remaining lifetime of the session cache's entries in `redis`, in milliseconds. */
export async function longestEntry(redis: Redis): Promise<number> {
  const keys = await redis.keys('taskgate:session:*');
  const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
  // A key without expiry reports -1.
  return Math.max(0, ...lives.map((ms) => (ms === -1 ? Number.POSITIVE_INFINITY : ms)));
}
