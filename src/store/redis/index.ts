/**
 * What nodes share through Redis. Apart from the room's `index.ts`, so that a gateway without Redis
 * does not load its client.
 */
export { connectRedis } from './connect-redis.ts';
export { createRedisCounters } from './redis-counters.ts';
export { createRedisSessionCache } from './session-cache.ts';
export { createRedisSuccessLists } from './success-lists.ts';
