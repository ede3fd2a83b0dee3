import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/app/config/config.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { adviseOnDamage } from '../../src/operations/doctor/advise-on-damage.ts';
import { openStore } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What a start throws over a database whose bytes are noise. */
async function startOver(dataDir: string, backupTo = ''): Promise<string | undefined> {
  writeFileSync(join(dataDir, 'taskgate.db'), 'x'.repeat(8192));
  const options = {
    databaseUrl: '',
    dataDir,
    synchronous: 'NORMAL' as const,
    clock: systemClock,
    logger: silentLogger,
  };
  const error = await openStore(options).catch((thrown: unknown) => thrown);
  const reading = loadConfig({
    dataDir: { flag: '--data-dir', value: dataDir },
    ...(backupTo === '' ? {} : { backupTo: { flag: 'BACKUP_TO', value: backupTo } }),
  });
  if (!reading.ok) throw new Error(reading.faults.join());
  return adviseOnDamage(error, reading.config);
}

test('a start over a damaged database says which of backup, copy and salvage is right', async () => {
  const dataDir = temporaryFolder();
  const without = await startOver(dataDir);
  expect(without).toContain('BACKUP_TO is not set');
  expect(without).not.toContain('restore-copy');
  expect(without).toContain('taskgate salvage --to');

  const copy = join(dataDir, 'taskgate.db.before-0040_channel_network');
  writeFileSync(copy, 'the copy');
  const backups = temporaryFolder();
  const advice = await startOver(dataDir, backups);
  expect(advice).toContain(`"taskgate backup restore" from ${backups}`);
  expect(advice).toContain(`"taskgate restore-copy ${copy}"`);
});

test('other faults of a start are left as they are', () => {
  const reading = loadConfig({});
  expect(reading.ok && adviseOnDamage(new Error('SQLITE_CORRUPT'), reading.config)).toBeUndefined();
});
