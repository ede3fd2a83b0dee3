/** A backup of PostgreSQL is restored into the schema that the target's search path leads to. */
import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { readConfig } from '../../src/app/config/config.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openBackupLocation } from '../../src/operations/backup/backup-location.ts';
import { restoreBackup } from '../../src/operations/backup/restore-backup.ts';
import { runBackup } from '../../src/operations/backup/run-backup.ts';
import { verifyBackup } from '../../src/operations/backup/verify-backup.ts';
import { checkBackups } from '../../src/operations/doctor/check-backups.ts';
import { openStoreBesideGateway } from '../../src/operations/storage/open-store-beside-gateway.ts';
import type { OptionValues } from '../../src/settings/index.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import { adoptRestoredSchema } from '../../src/store/snapshot/postgres-snapshot.ts';
import { anOldDatabase } from '../store/old-database.ts';
import { addUser } from '../support/add-user.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { SECRETS } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const signal = new AbortController().signal;
const version = '1.2.3';
const deps = { clock: systemClock, logger: silentLogger };

async function run(url: string, ...statements: string[]): Promise<void> {
  const sql = new SQL({ url, max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

/**
 * An empty database whose search path leads to this schema: by the role, or by an option of the
 * URL.
 */
async function databaseIn(schema: string, by: 'role' | 'url' = 'role'): Promise<string> {
  const url = new URL(await testDatabaseUrl());
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  await run(url.href, `create schema if not exists ${quoted}`);
  if (by === 'role') {
    await run(url.href, `alter role current_user in database ${url.pathname.slice(1)} set search_path = ${quoted}`);
  } else {
    url.searchParams.set('search_path', quoted);
  }
  return url.href;
}

function configFor(databaseUrl: string) {
  const reading = readConfig({ DATABASE_URL: databaseUrl, DATA_DIR: temporaryFolder(), ...SECRETS });
  if (!reading.ok) throw new Error(reading.faults.join());
  return reading.config;
}

const ODD = 'Odd. "na\'me';

test.each<[string, string, 'role' | 'url']>([
  [ODD, ODD, 'role'],
  ['public', 'app', 'url'],
  ...(IS_FULL_RUN
    ? ([
        ['app', 'public', 'role'],
        ['app', 'app', 'role'],
        ['public', ODD, 'role'],
        [ODD, 'Other', 'url'],
      ] as [string, string, 'role' | 'url'][])
    : []),
])('tables of the schema %s come back in %s', async (from, into, by) => {
  const databaseUrl = await databaseIn(from, by);
  const config = configFor(databaseUrl);
  await migrateStore({ ...deps, databaseUrl, dataDir: config.dataDir, synchronous: 'FULL' });
  const store = await openStoreBesideGateway(config);
  await addUser(store, { username: 'somebody', balance: 5 });
  await store.close();
  // Another program in the same database, with tables of the same names.
  await run(
    databaseUrl,
    'create schema other',
    'create table other.users (id int)',
    'insert into other.users values (1)',
  );
  const to = { kind: 'folder', path: temporaryFolder() } as const;
  const made = await runBackup({ config, version, to, trigger: 'manual', seal: undefined, signal });
  if (!made) throw new Error('no backup was made');
  const target = configFor(await databaseIn(into, by));
  const location = openBackupLocation({ ...deps, config: target }, to);
  const all = { ...deps, version, config: target, location, signal };
  expect(await verifyBackup(all, made.manifest, { unseal: undefined, readResults: false })).toMatchObject({
    results: 0,
  });
  await restoreBackup(all, made.manifest, { unseal: undefined });
  const restored = await openStore({
    ...{ databaseUrl: target.databaseUrl, dataDir: target.dataDir, synchronous: 'FULL', ...deps },
  });
  expect(await restored.users.byNameOrAddress('somebody')).toMatchObject({ quota: 5 });
  expect(await restored.backups.schemas()).toEqual([into]);
  await restored.close();
});

test.each(['public', 'app'])(
  'a database that has only extensions counts as empty: the dump of %s is restored into it',
  async (from) => {
    const config = configFor(await databaseIn(from));
    await migrateStore({ ...deps, databaseUrl: config.databaseUrl, dataDir: config.dataDir, synchronous: 'FULL' });
    const to = { kind: 'folder', path: temporaryFolder() } as const;
    const made = await runBackup({ config, version, to, trigger: 'manual', seal: undefined, signal });
    if (!made) throw new Error('no backup was made');
    const target = configFor(await databaseIn('public'));
    // The doctor asks for the first one, and providers install others with views of their own.
    await run(
      target.databaseUrl,
      ...['create extension amcheck', 'create extension pg_stat_statements'],
      ...(from === 'app' ? ['create schema app', 'create extension pgcrypto schema app'] : []),
    );
    const location = openBackupLocation({ ...deps, config: target }, to);
    await restoreBackup({ ...deps, version, config: target, location, signal }, made.manifest, { unseal: undefined });
    const restored = await openStore({
      ...{ databaseUrl: target.databaseUrl, dataDir: target.dataDir, synchronous: 'FULL', ...deps },
    });
    expect(await restored.backups.schemas()).toEqual(['public']);
    await restored.close();
    await run(target.databaseUrl, "select bt_index_check('users_pkey'::regclass, true)");
  },
);

test('an older backup keeps all triggers when a restore that was interrupted runs again', async () => {
  const databaseUrl = await testDatabaseUrl();
  const setup = { ...deps, databaseUrl, dataDir: '', synchronous: 'FULL' as const };
  // Triggers came with later migrations.
  await anOldDatabase(setup, 44, []);
  const adopt = () => adoptRestoredSchema(databaseUrl, { schema: 'public', migration: 44 });
  const readTriggers = async () => {
    const sql = new SQL({ url: databaseUrl, max: 1 });
    const rows = await sql`select tgname, proname, prosrc, pg_get_triggerdef(pg_trigger.oid) from pg_trigger
      join pg_proc on pg_proc.oid = tgfoid where not tgisinternal order by tgname`.values();
    await sql.close();
    return rows;
  };
  expect(await adopt()).toEqual([]);
  await migrateStore(setup);
  const triggers = await readTriggers();
  expect(await adopt()).toEqual([]);
  expect(await readTriggers()).toEqual(triggers);
});

test('tables in two schemas: the backup is refused when it is made, and by the doctor', async () => {
  const databaseUrl = await databaseIn('public');
  const config = configFor(databaseUrl);
  await migrateStore({ ...deps, databaseUrl, dataDir: config.dataDir, synchronous: 'FULL' });
  const { pathname } = new URL(databaseUrl);
  await run(
    databaseUrl,
    ...['create schema newer', 'alter table task_views set schema newer'],
    `alter role current_user in database ${pathname.slice(1)} set search_path = newer, public`,
  );
  const made = runBackup({
    config,
    version,
    to: { kind: 'folder', path: temporaryFolder() },
    trigger: 'manual',
    seal: undefined,
    signal,
  });
  await expect(made).rejects.toThrow('newer, public');
  const store = await openStoreBesideGateway(config);
  const options = { flag: () => true, number: () => 3 } as unknown as OptionValues;
  const found = await checkBackups({ store, clock: systemClock, config, options });
  expect(found).toContainEqual({ check: 'backups', level: 'error', message: expect.stringContaining('newer, public') });
  await store.close();
});

test('a database with tables where the dump is loaded first is refused and stays as it is', async () => {
  const config = configFor(await databaseIn('app'));
  await migrateStore({ ...deps, databaseUrl: config.databaseUrl, dataDir: config.dataDir, synchronous: 'FULL' });
  const to = { kind: 'folder', path: temporaryFolder() } as const;
  const made = await runBackup({ config, version, to, trigger: 'manual', seal: undefined, signal });
  const target = configFor(await databaseIn('public'));
  await run(target.databaseUrl, 'create schema app', 'create table app.mine (id int)');
  const location = openBackupLocation({ ...deps, config: target }, to);
  const all = { ...deps, version, config: target, location, signal };
  await expect(restoreBackup(all, made?.manifest as never, { unseal: undefined })).rejects.toThrow('schema app');
  await run(target.databaseUrl, 'drop table app.mine');
});

test('planted schema: what acts by itself in a backup is left out, and ours is recreated', async () => {
  const databaseUrl = await databaseIn('app');
  const config = configFor(databaseUrl);
  await migrateStore({ ...deps, databaseUrl, dataDir: config.dataDir, synchronous: 'FULL' });
  await run(
    databaseUrl,
    'create function promote() returns trigger language plpgsql as $$ begin new.role := 100; return new; end $$',
    'create trigger promote before insert on users for each row execute function promote()',
    'create or replace function keep_task_list() returns trigger language plpgsql as $$ begin return null; end $$',
    'create view planted as select * from users',
    'create rule silent as on delete to users do instead nothing',
    'alter table api_keys enable row level security',
  );
  const to = { kind: 'folder', path: temporaryFolder() } as const;
  const made = await runBackup({ config, version, to, trigger: 'manual', seal: undefined, signal });
  const target = configFor(await databaseIn('public'));
  const location = openBackupLocation({ ...deps, config: target }, to);
  const all = { ...deps, version, config: target, location, signal };
  const { notes } = await restoreBackup(all, made?.manifest as never, { unseal: undefined });
  for (const name of [
    'trigger promote',
    'function promote',
    'view planted',
    'rule silent',
    'row security of api_keys',
  ]) {
    expect(notes.join()).toContain(name);
  }
  expect(notes.join()).not.toContain('keep_task_list');
  const sql = new SQL({ url: target.databaseUrl, max: 1 });
  const acting = await sql`select proname from pg_proc where pronamespace = 'public'::regnamespace order by 1`.values();
  const [[body]] = await sql`select prosrc from pg_proc where proname = 'keep_task_list'`.values();
  const triggers = await sql`select count(*)::int from pg_trigger where not tgisinternal`.values();
  await sql.close();
  expect([acting.flat(), triggers.flat(), String(body).includes('insert into task_list')]).toEqual([
    ['keep_task_list', 'keep_task_list_model', 'task_list_model'],
    [4],
    true,
  ]);
});
