/**
 * What nodes share through Redis. Apart from `index.ts`, so that a gateway without Redis does not
 * load its client.
 */
export { connectRedis } from './redis/connect-redis.ts';
export { createRedisCounters } from './redis/redis-counters.ts';
export { createRedisSessionCache } from './redis/session-cache.ts';
export { createRedisSuccessLists } from './redis/success-lists.ts';
