/** What a backup may not do to others, and what it may not say. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/app/config/config.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openBackupLocation, removeStaleWork } from '../../src/operations/backup/backup-location.ts';
import { restoreBackup } from '../../src/operations/backup/restore-backup.ts';
import { runBackup, runScheduledBackup } from '../../src/operations/backup/run-backup.ts';
import {
  sealForRecipients,
  sealWithPassphrase,
  unsealWithPassphrase,
} from '../../src/operations/backup/seal-secrets.ts';
import type { Manifest } from '../../src/operations/backup/types.ts';
import { checkBackups } from '../../src/operations/doctor/check-backups.ts';
import { generateSecrets, loadSecrets } from '../../src/operations/secrets/load-secrets.ts';
import { openStoreBesideGateway } from '../../src/operations/storage/open-store-beside-gateway.ts';
import type { StorageLocation } from '../../src/operations/storage/result-files.ts';
import type { OptionValues } from '../../src/settings/index.ts';
import { migrateStore } from '../../src/store/index.ts';
import { openRaw, runRaw } from '../contract/open-raw.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { SECRETS } from '../support/run-command.ts';
import { s3Error, startS3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a second process finds that a backup is under way, and leaves its files alone', async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const dataDir = temporaryFolder();
  const upload = join(dataDir, 'taskgate.backup', 'upload');
  mkdirSync(upload, { recursive: true });
  await runRaw(
    { databaseUrl, dataDir },
    `insert into backup_runs (id, trigger_kind, status, place, owner, lease_until, started_at)
     values ('other', 'manual', 'running', '/b', 'x', ${Date.now() + 600_000}, 5)`,
  );
  const reading = readConfig({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir, ...SECRETS });
  if (!reading.ok) throw new Error(reading.faults.join());
  const made = await runBackup({
    ...{
      config: reading.config,
      version: '1.2.3',
      to: { kind: 'folder', path: temporaryFolder() },
      trigger: 'manual',
      seal: undefined,
    },
    signal: new AbortController().signal,
  });
  expect(made).toBeUndefined();
  expect(existsSync(upload)).toBe(true);
});

test('leaked key: a secret key among the recipients is not repeated in the message', async () => {
  const secret = 'AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ';
  await expect(sealForRecipients(`${secret}`)).rejects.toThrow('1 of the recipients');
  await expect(sealForRecipients(`${secret}`)).rejects.not.toThrow('QQQQ');
});

test('what a killed verification has unpacked goes after a day', async () => {
  const dataDir = temporaryFolder();
  const now = Date.now() / 1000;
  const folders = { 'taskgate.backup.Aa345678': 2, 'taskgate.backup.Bb345678': 0, 'taskgate.backup.mine': 9 };
  for (const [name, days] of Object.entries(folders)) {
    mkdirSync(join(dataDir, name));
    writeFileSync(join(dataDir, name, 'taskgate.db'), 'x');
    utimesSync(join(dataDir, name), now - days * 86_400, now - days * 86_400);
  }
  await removeStaleWork(dataDir, now);
  expect(Object.keys(folders).filter((name) => existsSync(join(dataDir, name)))).toEqual([
    'taskgate.backup.Bb345678',
    'taskgate.backup.mine',
  ]);
});

test('a bucket that may not delete: the backup is recorded, and the old ones are a warning', async () => {
  const bucket = startS3StandIn('backups');
  bucket.fault = ({ method }) => (method === 'DELETE' ? s3Error(403, 'AccessDenied') : undefined);
  // What an interrupted one has left goes after two days.
  const object = { bytes: Buffer.from('x'), changedAt: 0, headers: new Headers() };
  bucket.objects.set('20200101T000000Z-AAAAAA/database.dump', object);
  try {
    const dataDir = temporaryFolder();
    await migrateStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger });
    const reading = readConfig({
      ...{ DATA_DIR: dataDir, BACKUP_TO: `s3://backups?endpoint=${bucket.url}`, ...SECRETS },
      ...{ BACKUP_S3_ACCESS_KEY_ID: 'id', BACKUP_S3_SECRET_ACCESS_KEY: 'secret' },
    });
    if (!reading.ok) throw new Error(reading.faults.join());
    const { config } = reading;
    const request = {
      config,
      version: '1.2.3',
      to: config.backupTo,
      seal: undefined,
      signal: new AbortController().signal,
    };
    const made = await runScheduledBackup(request);
    expect(made?.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/old ones could not be removed: .*AccessDenied/) }),
    );
    const store = await openStoreBesideGateway(config);
    const options = { flag: () => true, number: () => 3 } as unknown as OptionValues;
    const found = await checkBackups({ store, clock: systemClock, config, options });
    expect([await store.backups.latest(5), found]).toMatchObject([
      [{ status: 'done', backup: made?.manifest.id }],
      [{ level: 'warning', message: expect.stringMatching(/old ones could not be removed: .*AccessDenied/) }, {}],
    ]);
    await store.close();
    // It is not made again.
    expect(await runScheduledBackup(request)).toBeUndefined();
  } finally {
    await bucket.stop();
  }
});

/** `into`: environment variables of the gateway that it is restored into. */
type RestoreInto = { manifest: Manifest; into?: Record<string, string> };

/** A migrated database with secrets in its folder, and what makes and restores its backups. */
async function gatewayFolder(env: Record<string, string> = {}) {
  const dataDir = temporaryFolder();
  await migrateStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger });
  const read = (folder: string, more: Record<string, string> = {}) => {
    const reading = readConfig({ DATA_DIR: folder, ...env, ...more }, {}, { needsSecrets: false });
    if (!reading.ok) throw new Error(reading.faults.join());
    return reading.config;
  };
  loadSecrets(read(dataDir), dataDir);
  const signal = new AbortController().signal;
  const common = { version: '1.2.3', clock: systemClock, logger: silentLogger, signal };
  const seal = sealWithPassphrase('a passphrase of tests');
  return {
    dataDir,
    config: read(dataDir),
    create: (to: StorageLocation) => runBackup({ ...common, config: read(dataDir), to, trigger: 'manual', seal }),
    restore(from: string, folder: string, { manifest, into = {} }: RestoreInto) {
      const config = read(folder, into);
      const location = openBackupLocation({ config, ...common }, { kind: 'folder', path: from });
      return restoreBackup({ ...common, config, location }, manifest, {
        unseal: unsealWithPassphrase('a passphrase of tests'),
      });
    },
  };
}

test('a place where backups would keep results among the results of the gateway is refused', async () => {
  const nas = temporaryFolder();
  const results = join(nas, 'results');
  mkdirSync(results);
  const link = join(temporaryFolder(), 'link');
  symlinkSync(nas, link);
  const { create } = await gatewayFolder({ RESULTS_URL: results });
  for (const path of [nas, link]) {
    const said = `the gateway has its kept results in ${join(path, 'results')}`;
    await expect(create({ kind: 'folder', path })).rejects.toThrow(said);
  }
  expect(await create({ kind: 'folder', path: join(nas, 'backups') })).toBeDefined();
  // The folder of the data has its results below, too.
  const own = await gatewayFolder();
  await expect(own.create({ kind: 'folder', path: own.dataDir })).rejects.toThrow(
    'the gateway has its kept results in',
  );
  const keys = { RESULTS_S3_ACCESS_KEY_ID: 'id', RESULTS_S3_SECRET_ACCESS_KEY: 'secret' };
  const query = 'endpoint=http://127.0.0.1:9';
  const bucket = await gatewayFolder({
    ...{ RESULTS_URL: `s3://bucket/a/results?${query}`, BACKUP_TO: `s3://bucket/a?${query}`, ...keys },
    ...{ BACKUP_S3_ACCESS_KEY_ID: 'id', BACKUP_S3_SECRET_ACCESS_KEY: 'secret' },
  });
  await expect(bucket.create(bucket.config.backupTo)).rejects.toThrow('kept results in s3://bucket/a/results');
});

test('former secrets come back in secrets.json, so that the restored gateway opens what they sealed', async () => {
  const place = temporaryFolder();
  const { config, dataDir, create, restore } = await gatewayFolder();
  const first = loadSecrets(config, dataDir);
  generateSecrets(config, dataDir);
  const made = await create({ kind: 'folder', path: place });
  const into = temporaryFolder();
  const { notes } = await restore(place, into, { manifest: made?.manifest as Manifest });
  expect(notes).toEqual([]);
  const { session, crypto } = loadSecrets(config, into);
  expect([session, crypto]).toEqual([loadSecrets(config, dataDir).session, loadSecrets(config, dataDir).crypto]);
  expect([session[1], crypto[1]]).toEqual([first.session[0], first.crypto[0]]);
});

test('a new disk with its lost+found is an empty place to restore into', async () => {
  const place = temporaryFolder();
  const { create, restore } = await gatewayFolder();
  const made = await create({ kind: 'folder', path: place });
  const into = temporaryFolder();
  mkdirSync(join(into, 'lost+found'));
  await restore(place, into, { manifest: made?.manifest as Manifest });
  expect(existsSync(join(into, 'taskgate.db'))).toBe(true);
});

test('SQLite into PostgreSQL: a restore that was killed before it removed its file is completed by the next run', async () => {
  const place = temporaryFolder();
  const databaseUrl = await testDatabaseUrl();
  const { create, restore } = await gatewayFolder();
  const made = await create({ kind: 'folder', path: place });
  const manifest = made?.manifest as Manifest;
  const into = temporaryFolder();
  await restore(place, into, { manifest, into: { DATABASE_URL: databaseUrl } });
  const raw = openRaw({ databaseUrl, dataDir: '' });
  const [row] = await raw.rows("select value from options where key = 'installation.id'");
  await raw.close();
  const left = join(into, `taskgate.across.${manifest.id}`);
  await migrateStore({
    databaseUrl: '',
    dataDir: left,
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  const put = (key: string, value: string) =>
    runRaw({ databaseUrl: '', dataDir: left }, `insert into options (key, value) values ('${key}', '${value}')`);
  await put('database.move', '{"state":"gone","at":1}');
  // The file of another gateway was moved elsewhere.
  await put('installation.id', 'another');
  const again = () => restore(place, into, { manifest, into: { DATABASE_URL: databaseUrl } });
  await expect(again()).rejects.toThrow('closed for good');
  const same = `update options set value = '${row?.value}' where key = 'installation.id'`;
  await runRaw({ databaseUrl: '', dataDir: left }, same);
  await again();
  expect(existsSync(left)).toBe(false);
});

test('where the secrets are lost, a backup without them can still be made', async () => {
  const dataDir = temporaryFolder();
  await migrateStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger });
  const reading = readConfig({ DATA_DIR: dataDir });
  if (!reading.ok) throw new Error(reading.faults.join());
  const { config } = reading;
  const signal = new AbortController().signal;
  const to = { kind: 'folder', path: temporaryFolder() } as const;
  const request = { config, version: '1.2.3', to, trigger: 'manual', signal } as const;
  const seal = sealWithPassphrase('a passphrase of tests');
  await expect(runBackup({ ...request, seal })).rejects.toThrow('secrets.json is missing');
  expect((await runBackup({ ...request, seal: undefined }))?.manifest.secrets).toBeNull();
});
