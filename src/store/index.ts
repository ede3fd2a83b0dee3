/**
 * Owns: the database (schema, migrations, drivers for SQLite and PostgreSQL, one set of
 * repositories over both) and the shared counters, session cache and success lists in Redis. May
 * touch: the data directory, the database server, Redis. Never touches: what the rows mean to the
 * rooms above. What only Redis needs is entered through `redis.ts`.
 */
export { createFileOnce } from './drivers/create-file-once.ts';
export { createFolderFiles } from './drivers/folder-files.ts';
export { acceptFolder, guardFolder } from './drivers/guard-folder.ts';
export { createMemoryCounters } from './drivers/memory-counters.ts';
export { createNoSessionCache } from './drivers/no-session-cache.ts';
export { createMemorySuccessLists } from './drivers/redis-success-lists.ts';
export { bucketUrl } from './drivers/s3/call-bucket.ts';
export { createS3Files } from './drivers/s3/s3-files.ts';
export type { BucketPlace, SendToBucket } from './drivers/s3/types.ts';
export { migrateStore, openStore, type StoreOptions } from './open-store.ts';
