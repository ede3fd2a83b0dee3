/** What administrators are mailed about daily backups, by a real mail server. */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { latestDueBackup } from '../../src/operations/backup/due-backups.ts';
import { openBackdoor } from '../support/backdoor.ts';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { startMailServer } from '../support/smtp.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const gateways: Gateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.kill();
});

const unixNow = () => Math.floor(Date.now() / 1000);

/** A gateway that makes daily backups in `place`, and whose root has an address. */
async function startScheduled(place: string, statements: readonly string[] = []) {
  const mail = await startMailServer();
  const passphrase = join(temporaryFolder(), 'passphrase');
  writeFileSync(passphrase, 'a passphrase of a test\n');
  const gateway = await startGateway({ env: { BACKUP_TO: place, BACKUP_PASSPHRASE_FILE: passphrase } });
  gateways.push(gateway);
  const root = await setUp(gateway);
  const db = openBackdoor(gateway);
  for (const text of ["update users set email = 'root@example.org'", ...statements]) await db.run(text);
  await db.close();
  const options = {
    SMTPServer: '127.0.0.1',
    SMTPPort: String(mail.port),
    SMTPFrom: 'gate@example.org',
    'backup.daily': 'true',
  };
  await root.call('PUT', '/api/option', {
    options: Object.entries(options).map(([key, value]) => ({ key, value })),
  });
  return { gateway, mail };
}

test('that one has failed, with the reason', async () => {
  const place = join(temporaryFolder(), 'a file');
  writeFileSync(place, 'where the folder was');
  const { mail } = await startScheduled(place);
  const received = await mail.next();
  expect(received.recipients).toEqual(['root@example.org']);
  expect(received.subject).toMatch(/^Backup of .* failed$/);
  expect(received.text).toContain(place);
  await mail.stop();
});

test('that none was made for more than a day', async () => {
  const { id } = latestDueBackup(unixNow(), 3);
  const started = unixNow() - 60 * 3600;
  const { mail } = await startScheduled(temporaryFolder(), [
    `insert into backup_runs (id, trigger_kind, status, place, owner, lease_until, started_at, ended_at)
     values ('${id}', 'schedule', 'done', '/backups', 'x', 0, ${started}, ${started})`,
    `insert into options (key, value) values ('backup.daily_since', '${started}')`,
  ]);
  const received = await mail.next();
  expect(received.subject).toMatch(/^Backup of .* is overdue$/);
  expect(received.text).toContain('has not been backed up for 60 hours');
  await mail.stop();
});
