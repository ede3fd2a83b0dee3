import type { SQL } from 'bun';
import { migrations } from '../../migrations/index.ts';
import { sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createDatabase, readDatabase } from './postgres.ts';

/**
 * The URL of a new database with all tables and no rows: half the work of migrating an empty one.
 * Rejects as `testDatabaseUrl`.
 */
export const migratedDatabaseUrl = (): Promise<string> => createDatabase(migratedTemplate);

/**
 * The server's database of these migrations, which the others are copies of: made once, by the
 * first process that asks.
 */
async function migratedTemplate(admin: SQL, server: URL): Promise<string> {
  const name = `taskgate_template_${sha256Hex(JSON.stringify(migrations)).slice(0, 16)}`;
  const exists = async () => (await admin`select 1 from pg_database where datname = ${name}`).length > 0;
  if (await exists()) return name;
  await admin`select pg_advisory_lock(hashtext(${name}))`;
  try {
    if (await exists()) return name;
    const making = `${name}_${process.pid}_${Date.now().toString(36)}`;
    await admin.unsafe(`create database ${making}`);
    // The others need not load it.
    const { migrateStore } = await import('../../src/store/index.ts');
    await migrateStore({
      databaseUrl: readDatabase(server, making),
      dataDir: '',
      synchronous: 'NORMAL',
      clock: systemClock,
      logger: silentLogger,
    });
    // It gets its name once it is whole.
    await admin.unsafe(`alter database ${making} rename to ${name}`);
    return name;
  } finally {
    await admin`select pg_advisory_unlock(hashtext(${name}))`;
  }
}
