/** What a backup may not do to others, and what it may not say. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeStaleWork } from '../../src/app/backup/open-place.ts';
import { runBackup } from '../../src/app/backup/run-backup.ts';
import { sealForRecipients } from '../../src/app/backup/seal-secrets.ts';
import { readConfig } from '../../src/app/config/config.ts';
import { runRaw } from '../contract/open-raw.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { SECRETS } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setDefaultTimeout(60_000);

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
    ...{ config: reading.config, to: temporaryFolder(), trigger: 'manual', seal: undefined },
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
