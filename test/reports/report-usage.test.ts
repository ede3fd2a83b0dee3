import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createZoneClock, isTimeZone, readDate, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createChannelHistoryReader } from '../../src/reports/read-channel-health.ts';
import { createUsageAdder, createUsageReader, type UsageReport } from '../../src/reports/report-usage.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import type { Store, UsageLogRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const at = (iso: string): number => Date.parse(iso) / 1000;
const day = (iso: string): number => readDate(iso) ?? Number.NaN;
/** A Sunday on which clocks in Europe went back at 01:00 UTC: the day has 25 hours. */
const NOW = at('2026-10-25T23:30:00Z');
const clock = { ...systemClock, unix: () => NOW };

let store: Store;
let userId: number;
let otherId: number;
const CHANNEL = 9;
beforeAll(async () => {
  const options = { databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock } as const;
  await migrateStore({ ...options, logger: silentLogger });
  store = await openStore({ ...options, logger: silentLogger });
  userId = (await addUser(store)).id;
  otherId = (await addUser(store)).id;
  // Rows are added up once: all of them are there before the first read.
  // 18:30 in UTC is midnight in India.
  await add(at('2026-10-10T18:29:59Z'), { quota: 10 });
  await add(at('2026-10-10T18:30:00Z'), { quota: 100 });
  await add(at('2026-10-17T18:29:59Z'), { quota: 1000 });
  await add(at('2026-10-17T18:30:00Z'), { quota: 10_000 });
  await add(at('2026-10-25T22:59:59Z'), { quota: 5 });
  await add(at('2026-10-25T23:00:00Z'), { quota: 50 });
  await add(at('2026-09-01T00:00:00Z'), { quota: 7 });
  for (let i = 0; i < 103; i += 1) {
    await add(at('2026-10-03T12:00:00Z'), { userId: otherId, model: `m${i}`, quota: 1000 - i });
  }
  const ofChannel = { userId: otherId, channelId: CHANNEL };
  for (const seconds of [10, 10, 50]) await add(NOW - 7200, { ...ofChannel, seconds });
  await add(NOW - 3600, { ...ofChannel, kind: 'refund', detail: { reason: 'content' }, taskId: 'bad' });
  await add(NOW - 30 * 3600, { ...ofChannel, seconds: 5 });
});
afterAll(() => store.close());

const add = (createdAt: number, change: Partial<UsageLogRecord> = {}) =>
  store.logs.addUsage({
    ...{ userId, walletId: userId, apiKeyId: null, taskId: 't', channelId: 1, pluginKey: 'demo', model: 'm' },
    ...{ kind: 'settle' as const, quota: 1, detail: {}, createdAt },
    ...change,
  });
const read = ([from, to]: readonly [string, string], zone: string, user = userId) =>
  createUsageReader({ store, clock })({
    period: { fromDay: day(from), toDay: day(to), zone },
    by: 'model',
    only: { userId: user },
  });
const shape = ({ zone, unit, daysPerPoint, points, totals }: UsageReport) => ({
  ...{ zone, unit, daysPerPoint, points: points.length, spend: totals.spend },
  used: points.filter(({ spend }) => spend > 0).map((point) => [new Date(point.at * 1000).toISOString(), point.spend]),
});

test('zones that are not whole hours from UTC have their own days, and the sums are right', async () => {
  expect(shape(await read(['2026-10-11', '2026-10-17'], 'Asia/Kolkata'))).toEqual({
    ...{ zone: 'Asia/Kolkata', unit: 'day', daysPerPoint: 1, points: 7, spend: 1100 },
    used: [
      ['2026-10-10T18:30:00.000Z', 100],
      ['2026-10-16T18:30:00.000Z', 1000],
    ],
  });
  expect((await read(['2026-10-11', '2026-10-17'], 'UTC')).totals.spend).toBe(11_000);
  // 18:15 in UTC is midnight in Nepal.
  expect((await read(['2026-10-11', '2026-10-17'], 'Asia/Kathmandu')).totals.spend).toBe(110);
});

test('a day on which clocks go back has 25 hours, and a short period is shown by hour', async () => {
  const berlin = await read(['2026-10-25', '2026-10-25'], 'Europe/Berlin');
  expect(shape(berlin)).toEqual({
    ...{ zone: 'Europe/Berlin', unit: 'hour', daysPerPoint: 0, points: 25, spend: 5 },
    used: [['2026-10-25T22:00:00.000Z', 5]],
  });
  expect(berlin.until - berlin.from).toBe(25 * 3600);
});

test('a period that begins before the kept quarters is counted in days of UTC, and says so', async () => {
  const long = await read(['2026-09-01', '2026-10-11'], 'Asia/Kolkata');
  expect(shape(long)).toEqual({
    ...{ zone: 'UTC', unit: 'day', daysPerPoint: 1, points: 41, spend: 117 },
    used: [
      ['2026-09-01T00:00:00.000Z', 7],
      ['2026-10-10T00:00:00.000Z', 110],
    ],
  });
  const years = await read(['2020-01-01', '2026-10-25'], 'Asia/Kolkata');
  expect(years.points.length).toBeLessThanOrEqual(200);
  expect(years.totals.spend).toBe(years.points.reduce((sum, { spend }) => sum + spend, 0));
  expect(years.totals.spend).toBe(11_172);
});

test('at most 100 shares are listed, and the rest is summed up', async () => {
  const { shares, others, totals } = await read(['2026-10-03', '2026-10-03'], 'UTC', otherId);
  expect([shares.length, shares[0]?.model, shares[99]?.model]).toEqual([100, 'm0', 'm99']);
  expect(others).toEqual({ shares: 3, succeeded: 3, failed: 0, spend: 900 + 899 + 898 });
  expect(totals.succeeded).toBe(103);
});

test('the first shares have points of their own, where they are asked for', async () => {
  const question = {
    period: { fromDay: day('2026-10-11'), toDay: day('2026-10-17'), zone: 'Asia/Kolkata' },
    only: { userId },
  };
  const report = await createUsageReader({ store, clock })({ ...question, by: 'model', series: 1 });
  const spends = report.shares[0]?.points?.map(({ spend }) => spend);
  expect(spends).toEqual(report.points.map(({ spend }) => spend));
  expect(spends?.reduce((sum, spend) => sum + spend, 0)).toBe(report.totals.spend);
  const plain = await createUsageReader({ store, clock })({ ...question, by: 'model' });
  expect(plain.shares[0]?.points).toBeUndefined();
});

test('a channel shows each hour with its durations, and failures by reason', async () => {
  const history = createChannelHistoryReader({ store, clock }, createUsageAdder({ store, clock }));
  const day = await history(CHANNEL, 24);
  expect(day.points).toHaveLength(24);
  expect(day.points.at(-1)?.at).toBe(at('2026-10-25T23:00:00Z'));
  expect(day.points.at(-3)).toMatchObject({ succeeded: 3, failed: 0, p50Seconds: 9.5 });
  expect(day.points.at(-2)).toMatchObject({ succeeded: 0, failed: 1, p50Seconds: undefined });
  expect(day.failures).toEqual([
    { reason: 'content', reasonSentence: null, tasks: 1, lastAt: NOW - 3600, lastTask: 'bad' },
  ]);
  expect((await history(CHANNEL, 168)).totals).toMatchObject({ succeeded: 4, failed: 1 });
});

test('zones are names that the platform knows; dates are dates', () => {
  expect(['UTC', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires'].every(isTimeZone)).toBeTrue();
  expect(['', '+05:30', 'Mars/Olympus', 'x'.repeat(65), "UTC'; --"].some(isTimeZone)).toBeFalse();
  expect(['', '2026-02-30', '2026-2-3', '26-01-01', '2026-01-01T00:00'].map(readDate)).toEqual(
    Array.from({ length: 5 }, () => undefined),
  );
  // Clocks in Havana go forward at midnight: the day begins at one o'clock.
  const havana = createZoneClock('America/Havana');
  expect(havana.dayStart(day('2026-03-08'))).toBe(at('2026-03-08T05:00:00Z'));
  expect(havana.dayStart(day('2026-03-09'))).toBe(at('2026-03-09T04:00:00Z'));
});
