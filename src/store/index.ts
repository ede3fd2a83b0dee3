/**
 * Owns: the database (schema, migrations, drivers for SQLite and PostgreSQL, one set of
 * repositories over both) and the shared counters, session cache and success lists in Redis. May
 * touch: the data directory, the database server, Redis. Never touches: what the rows mean to the
 * rooms above.
 *
 * What is not always needed has entrances of its own, which are loaded then: `redis/index.ts`, and
 * `snapshot/postgres-snapshot.ts` for backups of PostgreSQL.
 *
 * - `ports/`: the interfaces and records that other rooms see.
 * - `repositories/`: the statements behind them, by concept; `money/` decides reservations and
 *   budgets. `schema/`: the tables.
 * - `drivers/`, `sqlite/`, `postgres/`, `redis/`: connections, transactions, leases, errors, and
 *   what stands in for Redis.
 * - `migrate/`: changes of the schema.
 * - `files/`: kept bytes in a folder or a bucket.
 * - `snapshot/`: copies and restores of a database, and what a move reads and writes.
 * - `move-database.ts`: the move itself. It stands above `snapshot/`, since it opens stores.
 * - `salvage/`: what is damaged in a database, and what can still be read of it.
 * - `sources/`: databases of other gateways, read for an import.
 */

export { createMemoryCounters } from './drivers/memory-counters.ts';
export { createNoSessionCache } from './drivers/no-session-cache.ts';
export { createFolderFiles } from './files/folder-files.ts';
export { createFolderObjects } from './files/folder-objects.ts';
export { acceptBucket, type BucketMarker, createBucketMarker, guardBucket } from './files/guard-bucket.ts';
export { acceptFolder, guardFolder } from './files/guard-folder.ts';
export { bucketUrl } from './files/s3/call-bucket.ts';
export { createS3Files } from './files/s3/s3-files.ts';
export { createS3Objects } from './files/s3/s3-objects.ts';
export type { BucketLocation, SendToBucket } from './files/s3/types.ts';
export { createFileOnce } from './files/write-file.ts';
export { LATEST_MIGRATION } from './migrate/pending-migrations.ts';
export { copyDatabase, databaseVersion, revertStore } from './migrate/revert.ts';
export { hasMoved, type MoveReport, moveDatabase } from './move-database.ts';
export { migrateStore, openStore, type StoreOptions } from './open-store.ts';
export { completeAddress, libpqVariables } from './postgres/postgres-address.ts';
export { createMemorySuccessLists } from './redis/success-lists.ts';
export { findDamage, type Rest } from './salvage/find-damage.ts';
export { salvagePostgres } from './salvage/salvage-postgres.ts';
export { salvageSqlite } from './salvage/salvage-sqlite.ts';
export type { SalvagedTable } from './salvage/salvage-target.ts';
export { removeForeignSchema, requireOwnSchema } from './snapshot/remove-foreign-schema.ts';
export { replaceSqlite } from './snapshot/replace-sqlite.ts';
export {
  beginSqliteRestore,
  checkSqliteDatabase,
  closeSqliteLog,
  copySqliteDatabase,
  endSqliteRestore,
  sqliteBytes,
} from './snapshot/sqlite-snapshot.ts';
export { describeSourceError, openSource, readSourceAddress } from './sources/open-source.ts';
export { type SourceDatabase, type SourceRow, TOO_LONG } from './sources/read-rows.ts';
export { describeSqlite } from './sqlite/count-log-pages.ts';
export { flushFolder } from './sqlite/flush.ts';
export { lockBackups, lockDataDir } from './sqlite/lock-data-dir.ts';
