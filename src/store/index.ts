/**
 * Owns: the database (schema, migrations, drivers for SQLite and PostgreSQL, one set of
 * repositories over both) and the shared counters, session cache and success lists in Redis. May
 * touch: the data directory, the database server, Redis. Never touches: what the rows mean to the
 * rooms above. What only Redis needs is entered through `redis.ts`.
 */
export { describeSqlite } from './checkpoint/count-log-pages.ts';
export { createFileOnce } from './drivers/create-file-once.ts';
export { createFolderFiles } from './drivers/folder-files.ts';
export { createFolderObjects } from './drivers/folder-objects.ts';
export { acceptBucket, guardBucket } from './drivers/guard-bucket.ts';
export { acceptFolder, guardFolder } from './drivers/guard-folder.ts';
export { lockBackups, lockDataDir } from './drivers/lock-data-dir.ts';
export { createMemoryCounters } from './drivers/memory-counters.ts';
export { createNoSessionCache } from './drivers/no-session-cache.ts';
export { completeAddress, libpqVariables } from './drivers/postgres-address.ts';
export { createMemorySuccessLists } from './drivers/redis-success-lists.ts';
export { type BucketMarker, createBucketMarker } from './drivers/s3/bucket-marker.ts';
export { bucketUrl } from './drivers/s3/call-bucket.ts';
export { createS3Files } from './drivers/s3/s3-files.ts';
export { createS3Objects } from './drivers/s3/s3-objects.ts';
export type { BucketPlace, SendToBucket } from './drivers/s3/types.ts';
export { LATEST_MIGRATION } from './migrate/plan.ts';
export { copyDatabase, databaseVersion, revertStore } from './migrate/revert.ts';
export { migrateStore, openStore, type StoreOptions } from './open-store.ts';
export { removeForeignSchema, requireOwnSchema } from './snapshot/own-schema.ts';
export { replaceSqlite } from './snapshot/replace-sqlite.ts';
export { beginSqliteRestore, endSqliteRestore } from './snapshot/sqlite-restore.ts';
export {
  checkSqliteDatabase,
  closeSqliteLog,
  copySqliteDatabase,
  sqliteBytes,
} from './snapshot/sqlite-snapshot.ts';
export { describeSourceError, openSource, readSourceAddress } from './sources/open-source.ts';
export { type SourceDatabase, type SourceRow, TOO_LONG } from './sources/types.ts';
