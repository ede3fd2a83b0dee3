/** What the home page says about back-ups, and whom a failed one reaches. */
import { expect, test } from 'bun:test';
import { createBackups } from '../../src/app/backup/backup-schedule.ts';
import type { Config } from '../../src/app/config/config-variables.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { OptionValues } from '../../src/settings/index.ts';
import type { BackupRun, Store } from '../../src/store/ports/index.ts';
import { until } from '../support/until.ts';

const HOUR = 3600;
const DUE_HOUR = 3;
const at = (day: number, hour: number) => Math.floor(new Date(2026, 4, day, hour).getTime() / 1000);

type Case = {
  now: number;
  runs?: Partial<BackupRun>[];
  daily?: boolean;
  config?: Partial<Config>;
  program?: string[];
  reasons?: string[];
};

function openBackups({ now, runs = [], daily = true, config = {}, program = [], reasons = [] }: Case) {
  const backups = {
    latest: async () => runs as BackupRun[],
    latestDone: async () => runs.find(({ status }) => status === 'done') as BackupRun | undefined,
  } as unknown as Store['backups'];
  let first = true;
  return createBackups({
    store: { backups },
    clock: {
      ...systemClock,
      unix: () => now,
      nowMs: () => now * 1000,
      // The first look is at once, the next one when the test has ended.
      sleep(ms, signal) {
        if (!first) return systemClock.sleep(ms, signal);
        first = false;
        return Promise.resolve();
      },
    },
    logger: silentLogger,
    config: {
      ...{ dataDir: '/data', backupRecipients: 'age1', backupPassphrase: '', backupPassphraseFile: '' },
      backupTo: { kind: 'folder', path: '/backups' },
      ...config,
    } as Config,
    options: { flag: () => daily, number: () => DUE_HOUR } as unknown as OptionValues,
    program,
    tellOfFailure: async (reason) => void reasons.push(reason),
  });
}

const done = (startedAt: number) => ({ id: 'x', status: 'done' as const, startedAt, endedAt: startedAt + 60 });
const unset = { backupTo: { kind: 'folder' as const, path: '' } };

test.each<[string, Case, string[]]>([
  ['one of today', { now: at(10, 12), runs: [done(at(10, 3))] }, []],
  ['that of yesterday, five hours after the hour', { now: at(10, 8), runs: [done(at(9, 3))] }, []],
  ['that of yesterday, seven hours after the hour', { now: at(10, 10), runs: [done(at(9, 3))] }, ['backup_overdue']],
  ['that of the day before, before the hour', { now: at(10, 1), runs: [done(at(8, 3))] }, ['backup_overdue']],
  [
    'one under way',
    { now: at(10, 10), runs: [{ ...done(at(10, 9)), status: 'running' as const }, done(at(9, 3))] },
    [],
  ],
  [
    'a failed one',
    { now: at(10, 10), runs: [{ ...done(at(10, 9)), status: 'failed' as const, message: 'x' }, done(at(8, 3))] },
    ['backup_failed'],
  ],
  ['none yet', { now: at(10, 10) }, []],
  ['none made each day', { now: at(10, 10), runs: [done(at(1, 3))], daily: false }, []],
  ['daily ones without a place', { now: at(10, 10), config: unset }, ['backup_overdue']],
  [
    'daily ones without secrets',
    { now: at(10, 12), runs: [done(at(10, 3))], config: { backupRecipients: '' } },
    ['backup_unsealed'],
  ],
])('the home page about %s', async (_, given, codes) => {
  expect((await openBackups(given).attention()).map(({ code }) => code)).toEqual(codes as never);
});

test('an overdue one is named with its age', async () => {
  const now = at(10, 10);
  const [item] = await openBackups({ now, runs: [done(now - 31 * HOUR)] }).attention();
  expect(item?.message).toBe('The latest back-up is 31 hours old.');
});

test('a daily back-up that fails is sent to administrators, with its reason', async () => {
  const reasons: string[] = [];
  const program = ['sh', '-c', 'echo \'{"error":"the disk is full"}\'; exit 1', 'sh'];
  const backups = openBackups({ now: at(10, 4), program, reasons });
  backups.start();
  await until('it is sent', () => reasons.length > 0);
  await backups.stop();
  expect(reasons).toEqual(['the disk is full']);
  // Even where it failed before it could record a run.
  expect(await backups.attention()).toEqual([
    { code: 'backup_failed', message: 'The latest back-up failed: the disk is full.' },
  ]);
});
