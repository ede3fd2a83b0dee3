import { afterAll, expect, test } from 'bun:test';
import { migrations } from '../../migrations/index.ts';
import { openStore } from '../../src/store/index.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);

const DAY = 86_400;
const BEFORE = migrations.findIndex(({ name }) => name.endsWith('_usage_figures'));
const log = (createdAt: number, quota: number) =>
  `insert into usage_logs (user_id, api_key_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at)
   values (1, 5, 't', 2, 'demo', 'm', 'settle', ${quota}, '{}', ${createdAt})`;
const figures = (day: number, tasks: number, quota: number) =>
  [1, 0].map(
    (user) => `insert into usage_days (user_id, day, plugin_key, model, kind, duration, tasks, quota)
      values (${user}, ${day}, 'demo', 'm', 'settle', -1, ${tasks}, ${quota})`,
  );

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: usage from before the sums by key counts once, also where its rows were removed`, async () => {
    const upgrade = async (rows: string[]) => {
      const setup = await places.setUp(dialect);
      await anOldDatabase(setup, BEFORE, [addOldUser('anna', {}), ...rows]);
      const store = await openStore(setup);
      while (await store.transaction((tx) => tx.usage.addUp({ before: 99 * DAY, keptFrom: 0 }, 100)));
      const period = { from: 0, until: 99 * DAY };
      const days = await store.usage.byTime({ ...period, unit: 'day' });
      const keys = await store.usage.byDimension({ ...period, unit: 'day' }, 'key', 10);
      const from = await store.usage.quartersFrom();
      await store.close();
      return {
        days: days.map(({ start, succeeded, spend }) => [start / DAY, succeeded, spend]),
        keys: keys.shares.map(({ id, spend }) => [id, spend]),
        from: from / DAY,
      };
    };
    // All rows are there.
    expect(
      await upgrade([
        ...[log(10 * DAY, 3), log(11 * DAY, 4), ...figures(10, 1, 3)],
        `update usage_progress set until = ${11 * DAY} where id = 1`,
      ]),
    ).toEqual({
      days: [
        [10, 1, 3],
        [11, 1, 4],
      ],
      keys: [[5, 7]],
      from: 0,
    });
    // Those of the ninth and of some of the tenth day were removed.
    expect(
      await upgrade([
        ...[log(10 * DAY + 9, 3), log(11 * DAY, 4), ...figures(9, 2, 20), ...figures(10, 2, 30)],
        `update usage_progress set until = ${11 * DAY} where id = 1`,
      ]),
    ).toEqual({
      days: [
        [9, 2, 20],
        [10, 2, 30],
        [11, 1, 4],
      ],
      keys: [
        [-1, 50],
        [5, 4],
      ],
      from: 11,
    });
  });
}
