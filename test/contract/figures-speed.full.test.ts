/** Figures of a gateway with 100,000 tasks of 1,000 users and 500 keys answer quickly. */
import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { systemClock } from '../../src/kernel/index.ts';
import { describeSystemHistory } from '../../src/operations/overview/describe-system.ts';
import { createChannelHistoryReader } from '../../src/reports/read-channel-health.ts';
import { createFigureReader } from '../../src/reports/read-figures.ts';
import { createUsageAdder, createUsageReader } from '../../src/reports/report-usage.ts';
import type { UsageDimension } from '../../src/store/ports/index.ts';
import { quietMs } from '../support/quiet-time.ts';
import { describeEachStore, type OpenedStore } from './each-store.ts';

const LIMIT_MS = 150;
const DAY = 86_400;
const now = systemClock.unix();

const filling = [
  `insert into usage_logs (user_id, api_key_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at, seconds)
   with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 100000)
   select 1 + i * 7919 % 1000, case when i % 9 = 0 then null else 1 + i * 104729 % 500 end, 'task_' || i, 1 + i % 12,
     'plugin' || i % 6, 'model' || i % 20, case when i % 11 = 0 then 'refund' else 'settle' end, 1000 + i % 900,
     '{"reason":"reason ' || i % 30 || '","expression":"0.05 * u(seconds) + 0.01 * u(images)"}',
     ${now} - i * 7919 % 100000 * 7776 / 100, 5 + i % 300 from n`,
  ...[1, 2, 3].map(
    (node) => `insert into node_samples (node_id, start, polls, lag_ms)
      with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 4032)
      select 'node-${node}', ${now - (now % 300)} - i * 300, i, i % 50 from n`,
  ),
  `insert into gateway_samples (start, unfinished, due, lateness_ms, database_bytes)
   with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 4032)
   select ${now - (now % 300)} - i * 300, i % 90, i % 9, i % 900, 1000000 + i from n`,
];

async function fill({ databaseUrl, dataDir }: OpenedStore): Promise<void> {
  if (databaseUrl === '') {
    const file = new SqliteFile(join(dataDir, 'taskgate.db'));
    for (const statement of filling) file.run(statement);
    return file.close();
  }
  const sql = new SQL({ url: databaseUrl, max: 1 });
  for (const statement of filling) await sql.unsafe(statement);
  await sql.unsafe('analyze');
  await sql.close();
}

describeEachStore('figures of 100,000 tasks in 90 days', (opened) => {
  test(`each answers within ${LIMIT_MS} ms, and the sums are the same by whatever they are split`, async () => {
    const { store } = opened();
    await fill(opened());
    const deps = { store, clock: systemClock };
    const addUp = createUsageAdder(deps);
    await addUp();
    const usage = createUsageReader(deps, addUp);
    const channel = createChannelHistoryReader(deps, addUp);
    const today = Math.floor(now / DAY);
    const ask = (by: UsageDimension, days: number, only: { userId?: number; apiKeyId?: number } = {}) =>
      usage({ period: { fromDay: today - days + 1, toDay: today, zone: 'Asia/Kolkata' }, by, only });
    const page = { page: 1, pageSize: 20 };
    const questions: Record<string, () => Promise<unknown>> = {
      'one user, 7 days': () => ask('model', 7, { userId: 5 }),
      'one user, 90 days': () => ask('key', 90, { userId: 5 }),
      'one key, 30 days': () => ask('model', 30, { apiKeyId: 9 }),
      'a channel, 24 hours': () => channel(3, 24),
      'a channel, 7 days': () => channel(3, 168),
      'health of channels': () => store.figures.channelHealth(now - DAY),
      'system, 24 hours': () => describeSystemHistory(deps, 24),
      'system, 14 days': () => describeSystemHistory(deps, 336),
      // A reader of its own each time: figures are cached.
      'home, 90 days': () => createFigureReader(deps)({ days: 90 }),
      'home of a user': () => createFigureReader(deps)({ days: 30, userId: 5 }),
      bills: () => store.logs.listUsage({ since: now - 30 * DAY, until: now }, page),
      'bills of a user': () => store.logs.listUsage({ userId: 5, since: now - 90 * DAY }, page),
      'bills of a model': () => store.logs.listUsage({ model: 'model3', since: now - 90 * DAY }, page),
    };
    for (const by of ['user', 'key', 'channel', 'model'] as const) {
      for (const days of [7, 30, 90]) questions[`everybody by ${by}, ${days} days`] = () => ask(by, days);
    }
    const times: Record<string, number> = {};
    for (const [name, question] of Object.entries(questions)) {
      times[name] = Math.round(await quietMs(question, { limitMs: LIMIT_MS }));
    }
    process.stderr.write(`${store.dialect} ${JSON.stringify(times)}\n`);
    const slow = Object.entries(times).filter(([, ms]) => ms >= LIMIT_MS);
    expect(slow).toEqual([]);

    const sums = await Promise.all(
      (['user', 'key', 'channel', 'model'] as const).map(async (by) => {
        const { totals, shares, others } = await ask(by, 30);
        return [totals.spend, shares.reduce((sum, { spend }) => sum + spend, others.spend)];
      }),
    );
    expect(new Set(sums.flat()).size).toBe(1);
  });
});
