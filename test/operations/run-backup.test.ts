/** What a backup may not do to others, and what it may not say. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/app/config/config.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { removeStaleWork } from '../../src/operations/backup/backup-location.ts';
import { runBackup, runScheduledBackup } from '../../src/operations/backup/run-backup.ts';
import { sealForRecipients } from '../../src/operations/backup/seal-secrets.ts';
import { checkBackups } from '../../src/operations/doctor/check-backups.ts';
import { openStoreBesideGateway } from '../../src/operations/storage/open-store-beside-gateway.ts';
import type { OptionValues } from '../../src/settings/index.ts';
import { migrateStore } from '../../src/store/index.ts';
import { runRaw } from '../contract/open-raw.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
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
