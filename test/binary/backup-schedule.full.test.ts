/** Backups that the gateway makes by itself, and those that the owner asks for in the panel. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeBackupKey } from '../support/backup-key.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

type Report = {
  place: string;
  sealed: boolean;
  runs: { id: string; trigger: string; status: string; message: string }[];
};

const folder = temporaryFolder();
const place = join(folder, 'backups');
const env = { BACKUP_TO: place, BACKUP_RECIPIENTS: (await makeBackupKey()).recipient, LOG_LEVEL: 'info' };
let gateway: Gateway;
let admin: Administrator;

beforeAll(async () => {
  gateway = await startGateway({ env });
  admin = await setUp(gateway);
});
afterAll(() => gateway.kill());

/** Runs are in the order of the seconds in which they began. */
const passSecond = async (): Promise<void> => {
  const begun = Math.floor(Date.now() / 1000);
  await until('the second is over', () => Math.floor(Date.now() / 1000) > begun);
};
const report = () => admin.call<Report>('GET', '/api/backup');
const schedule = () => runCommand(['backup', 'create', '--schedule', '--json', '--data-dir', gateway.dataDir], { env });

test('a backup in the panel needs a proof, runs beside the gateway and is shown', async () => {
  const unproven = await ask(`${gateway.url}/api/backup`, { method: 'POST', token: admin.token });
  expect([unproven.status, unproven.body.code]).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
  expect(await admin.call('POST', '/api/backup')).toEqual({ started: true });
  const run = await until('it is made', async () => (await report()).runs.find(({ status }) => status !== 'running'));
  expect(run).toMatchObject({ trigger: 'manual', status: 'done', message: '' });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toMatch(/taskgate_backup_last_success_timestamp_seconds [1-9]/);
});

test('the backup of a day is made once', async () => {
  await passSecond();
  expect(JSON.parse((await schedule()).out)).toMatchObject({ ok: true, created: true });
  expect(JSON.parse((await schedule()).out)).toMatchObject({ ok: true, created: false });
  expect((await report()).runs.map(({ trigger }) => trigger)).toEqual(['schedule', 'manual']);
  expect(readdirSync(place).filter((name) => name.startsWith('2'))).toHaveLength(2);
});

test('a failed backup is shown, and named on the home page with its reason', async () => {
  rmSync(place, { recursive: true });
  writeFileSync(place, 'a file where the folder was');
  await passSecond();
  await admin.call('POST', '/api/backup');
  await gateway.logged('a backup failed');
  expect((await report()).runs[0]).toMatchObject({ status: 'failed', message: expect.stringContaining(place) });
  const attention = await admin.call<{ code: string; message: string }[]>('GET', '/api/attention');
  expect(attention.find(({ code }) => code === 'backup_failed')?.message).toContain(place);
  rmSync(place);
  mkdirSync(place);
  expect(existsSync(join(gateway.dataDir, 'taskgate.backup'))).toBe(false);
});
