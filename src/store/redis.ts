/**
 * What nodes share through Redis. Apart from `index.ts`, so that a gateway without Redis does not
 * load its client.
 */
export { connectRedis } from './drivers/redis.ts';
export { createRedisCounters } from './drivers/redis-counters.ts';
export { createRedisSessionCache } from './drivers/redis-session-cache.ts';
export { createRedisSuccessLists } from './drivers/redis-success-lists.ts';
