/**
 * Owns: the database (schema, migrations, drivers for SQLite and PostgreSQL, one set of
 * repositories over both) and the shared counters, session cache and success lists in Redis. May
 * touch: the data directory, the database server, Redis. Never touches: what the rows mean to the
 * rooms above.
 */
export { createMemoryCounters } from './drivers/memory-counters.ts';
export { createNoSessionCache } from './drivers/no-session-cache.ts';
export { connectRedis } from './drivers/redis.ts';
export { createRedisCounters } from './drivers/redis-counters.ts';
export { createRedisSessionCache } from './drivers/redis-session-cache.ts';
export { createMemorySuccessLists, createRedisSuccessLists } from './drivers/redis-success-lists.ts';
export { migrateStore, openStore, type StoreOptions } from './open-store.ts';
