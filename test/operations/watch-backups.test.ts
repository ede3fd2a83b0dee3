/** What the home page says about backups, and whom a failed one reaches. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../src/app/config/config-variables.ts';
import { quoted, sentence, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createBackups } from '../../src/operations/backup/backup-schedule.ts';
import type { OptionValues } from '../../src/settings/index.ts';
import type { BackupRun, Repositories, Store } from '../../src/store/ports/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const HOUR = 3600;
const DUE_HOUR = 3;
const at = (day: number, hour: number) => Date.UTC(2026, 4, day, hour) / 1000;

type Case = {
  now: number;
  runs?: Partial<BackupRun>[];
  daily?: boolean;
  config?: Partial<Config>;
  program?: string[];
  reasons?: string[];
  overdue?: number[];
  /** What nodes have noted. */
  notes?: Map<string, string>;
};

/** The options that all nodes share. */
const optionsOn = (notes: Map<string, string>) => ({
  get: async (key: string) => notes.get(key),
  put: async (key: string, value: string) => void notes.set(key, value),
  putIfAbsent: async (key: string, value: string) => !notes.has(key) && notes.set(key, value) === notes,
  replace: async (key: string, before: string, value: string) =>
    notes.get(key) === before && notes.set(key, value) === notes,
});

const SINCE = 'backup.daily_since';

function openBackups(given: Case) {
  const { now, runs = [], daily = true, config = {}, program = ['true'], reasons = [], overdue = [] } = given;
  const backups = {
    latest: async () => runs as BackupRun[],
    latestDone: async () => runs.find(({ status }) => status === 'done') as BackupRun | undefined,
  } as unknown as Store['backups'];
  const ownNotes = new Map<string, string>();
  let first = true;
  return createBackups({
    store: { backups, options: optionsOn(given.notes ?? ownNotes) as unknown as Store['options'] },
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
      ...{
        dataDir: '/data',
        databaseUrl: '',
        backupRecipients: 'age1',
        backupPassphrase: '',
        backupPassphraseFile: '',
      },
      backupTo: { kind: 'folder', path: '/backups' },
      ...config,
    } as Config,
    options: { flag: () => daily, number: () => DUE_HOUR } as unknown as OptionValues,
    program,
    notices: {
      write: (work) =>
        work(
          { options: optionsOn(given.notes ?? ownNotes) } as unknown as Repositories,
          async ({ event, data, mail }) => {
            expect(mail).toBeDefined();
            if (event === 'backup.failed') reasons.push(String(data.reason));
            else overdue.push(Number(data.hours));
          },
        ),
    },
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
  [
    'that of yesterday, and one of a clock that was a year ahead',
    { now: at(10, 10), runs: [done(at(370, 3)), done(at(9, 3))] },
    ['backup_overdue'],
  ],
  [
    'a failed one, and one of a clock that was a year ahead',
    {
      now: at(10, 10),
      runs: [done(at(370, 3)), { ...done(at(10, 9)), status: 'failed' as const, message: 'x' }],
    },
    ['backup_failed'],
  ],
  ['none yet', { now: at(10, 10) }, []],
  [
    'none yet, a day after they were switched on',
    { now: at(11, 8), notes: new Map([[SINCE, String(at(10, 10))]]) },
    [],
  ],
  [
    'none yet, after the hour of the next day has had its time',
    { now: at(11, 10), notes: new Map([[SINCE, String(at(10, 10))]]) },
    ['backup_overdue'],
  ],
  [
    'an old one, where daily ones were switched on today',
    { now: at(10, 10), runs: [done(at(1, 3))], notes: new Map([[SINCE, String(at(10, 9))]]) },
    [],
  ],
  ['none made each day', { now: at(10, 10), runs: [done(at(1, 3))], daily: false }, []],
  ['daily ones without a place', { now: at(10, 10), config: unset }, ['backup_overdue']],
  ['no place', { now: at(10, 10), config: unset, daily: false }, ['backup_off']],
  [
    'no place, where PostgreSQL keeps the data',
    { now: at(10, 10), config: { ...unset, databaseUrl: 'postgres://db' }, daily: false },
    [],
  ],
  [
    'daily ones without secrets',
    { now: at(10, 12), runs: [done(at(10, 3))], config: { backupRecipients: '' } },
    ['backup_unsealed'],
  ],
  [
    'old ones that could not be removed',
    { now: at(10, 12), runs: [done(at(10, 3))], notes: new Map([['backup.not_pruned', 'AccessDenied']]) },
    ['backup_not_pruned'],
  ],
])('the home page about %s', async (_, given, codes) => {
  expect((await openBackups(given).attention()).map(({ code }) => code)).toEqual(codes as never);
});

test('an overdue one is named with its age', async () => {
  const now = at(10, 10);
  const [item] = await openBackups({ now, runs: [done(now - 31 * HOUR)] }).attention();
  expect(item?.message).toBe('The latest backup is 31 hours old.');
});

test('a daily backup that fails is sent to administrators, with its reason', async () => {
  const reasons: string[] = [];
  const program = ['sh', '-c', 'echo \'{"error":"the disk is full"}\'; exit 1', 'sh'];
  const backups = openBackups({ now: at(10, 4), program, reasons });
  backups.start();
  await until('it is sent', () => reasons.length > 0);
  await backups.stop();
  expect(reasons).toEqual(['the disk is full']);
  // Even where it failed before it could record a run.
  expect(await backups.attention()).toEqual([
    { code: 'backup_failed', ...sentence('backup.latest_failed', { fault: quoted('the disk is full') }) },
  ]);
});

test('a failure is forgotten when another process has made a backup since', async () => {
  const runs = [done(at(10, 3))];
  const overdue: number[] = [];
  const backups = openBackups({ now: at(10, 12), runs, overdue, program: ['false'] });
  backups.begin();
  const codes = async () => (await backups.attention()).map(({ code }) => code);
  await until('it has failed', async () => (await codes()).includes('backup_failed'));
  runs.unshift({ ...done(at(10, 12)), id: 'by hand' });
  expect(await codes()).toEqual([]);
});

test('it is sent once for each day, however often it fails and wherever the clock goes', async () => {
  const reasons: string[] = [];
  const notes = new Map<string, string>();
  const program = ['sh', '-c', 'echo \'{"error":"no passphrase"}\'; exit 1', 'sh'];
  for (const now of [at(10, 4), at(10, 5), at(11, 4), at(10, 20), at(11, 5)]) {
    const backups = openBackups({ now, program, reasons, notes });
    backups.start();
    await until('it has failed', async () => (await backups.attention()).length > 0);
    await backups.stop();
  }
  expect(reasons).toHaveLength(2);
});

test('an overdue one is sent once for each day, by one of two nodes', async () => {
  const overdue: number[] = [];
  const notes = new Map([[SINCE, String(at(1, 3))]]);
  // By the rows, the backup of the day is done, and its process has told no failure.
  const runs = [{ ...done(at(8, 3)), id: 'daily 2026-05-10' }];
  const nodes = [1, 2].map(() => openBackups({ now: at(10, 10), runs, overdue, notes }));
  for (const node of nodes) node.start();
  await until('it is sent', () => overdue.length > 0);
  for (const node of nodes) await node.stop();
  expect(overdue).toEqual([55]);
});

test('the time when backups became daily is kept while they are, and forgotten when they are not', async () => {
  const notes = new Map<string, string>();
  const runs = [{ ...done(at(10, 3)), id: 'daily 2026-05-10' }];
  const pass = async (given: Partial<Case>) => {
    const backups = openBackups({ now: at(10, 4), runs, notes, ...given });
    const before = notes.get(SINCE);
    backups.start();
    await until('it has looked', () => notes.get(SINCE) !== before);
    await backups.stop();
    return notes.get(SINCE);
  };
  expect(await pass({})).toBe(String(at(10, 4)));
  expect(await pass({ daily: false })).toBe('');
  expect(await pass({ now: at(10, 7) })).toBe(String(at(10, 7)));
  // A clock that was ahead when it was noted would silence the warning of an overdue one.
  notes.set(SINCE, String(at(10, 7) + 365 * 24 * HOUR));
  expect(await pass({ now: at(10, 8) })).toBe(String(at(10, 8)));
});

test('a backup that does not stop when it is told to holds up no shutdown', async () => {
  const folder = temporaryFolder();
  const pidFile = join(folder, 'pid');
  // It says that it runs once it no longer heeds the signal.
  const script = `trap "" TERM; echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; while :; do sleep 0.1; done`;
  const backups = openBackups({ now: at(3, 12), program: ['sh', '-c', script] });
  backups.begin();
  const pid = await until('the backup runs', () => existsSync(pidFile) && Number(readFileSync(pidFile, 'utf8')));
  await backups.stop();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
