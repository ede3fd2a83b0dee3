import { expect, test } from 'bun:test';
import type { StoredSentence } from '../../src/kernel/index.ts';
import {
  CORRECTION_SECONDS,
  type Store,
  type UsageLogRecord,
  type UsageSum,
  type UsageSumFilter,
} from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const DAY = 86_400;

const add = (store: Store, userId: number, change: { createdAt: number } & Partial<UsageLogRecord>) =>
  store.logs.addUsage({
    userId,
    walletId: userId,
    apiKeyId: 7,
    taskId: 't',
    channelId: 1,
    pluginKey: 'demo',
    model: 'm',
    kind: 'settle',
    quota: 10,
    detail: {},
    ...change,
  });

async function addUp(store: Store, before: number, { limit = 2, keptFrom = 0 } = {}): Promise<void> {
  for (let rounds = 0; rounds < 60; rounds += 1) {
    if (!(await store.transaction((tx) => tx.usage.addUp({ before, keptFrom }, limit)))) return;
  }
  throw new Error('it goes on forever');
}

const readSum = (rows: readonly UsageSum[]) => ({
  succeeded: rows.reduce((sum, row) => sum + row.succeeded, 0),
  failed: rows.reduce((sum, row) => sum + row.failed, 0),
  spend: rows.reduce((sum, row) => sum + row.spend, 0),
});

describeEachStore(
  'usage by quarter and day',
  (opened) => {
    test('sums are the same before, while and after rows are added up, by time and by each dimension', async () => {
      const { store } = opened();
      const anna = (await addUser(store)).id;
      const bert = (await addUser(store)).id;
      await add(store, anna, { createdAt: 5 * DAY });
      await add(store, anna, { createdAt: 5 * DAY + 899, apiKeyId: null, quota: 5 });
      await add(store, anna, { createdAt: 5 * DAY + 900, channelId: 2, model: 'n' });
      await add(store, anna, { createdAt: 5 * DAY + 901, kind: 'refund', quota: 99 });
      await add(store, bert, { createdAt: 6 * DAY - 1, quota: 40 });
      await add(store, bert, { createdAt: 6 * DAY, quota: 50 });
      await add(store, bert, { createdAt: 6 * DAY, quota: -10, seconds: CORRECTION_SECONDS });
      const all: UsageSumFilter = { unit: 'quarter', from: 5 * DAY, until: 7 * DAY };
      const read = async () => ({
        quarters: await store.usage.byTime(all),
        days: await store.usage.byTime({ ...all, unit: 'day' }),
        ofAnna: await store.usage.byTime({ ...all, userId: anna }),
        users: await store.usage.byDimension(all, 'user', 10),
        keys: await store.usage.byDimension({ ...all, userId: anna }, 'key', 10),
        channels: await store.usage.byDimension({ ...all, unit: 'day' }, 'channel', 10),
        models: await store.usage.byDimension(all, 'model', 1),
        ofKey: await store.usage.byTime({ ...all, apiKeyId: 0 }),
        ofModel: await store.usage.byTime({ ...all, channelId: 2, pluginKey: 'demo', model: 'n' }),
        hours: await store.usage.channelHours(1, 5 * DAY),
      });
      const before = await read();
      expect(before.quarters).toEqual([
        { start: 5 * DAY, succeeded: 2, failed: 0, spend: 15 },
        { start: 5 * DAY + 900, succeeded: 1, failed: 1, spend: 10 },
        { start: 6 * DAY - 900, succeeded: 1, failed: 0, spend: 40 },
        { start: 6 * DAY, succeeded: 1, failed: 0, spend: 40 },
      ]);
      expect(before.days.map(({ start, spend }) => [start, spend])).toEqual([
        [5 * DAY, 65],
        [6 * DAY, 40],
      ]);
      expect(before.users.shares.map(({ id, spend }) => [id, spend])).toEqual([
        [bert, 80],
        [anna, 25],
      ]);
      expect(before.keys.shares.map(({ id, succeeded, failed, spend }) => [id, succeeded, failed, spend])).toEqual([
        [7, 2, 1, 20],
        [0, 1, 0, 5],
      ]);
      expect(before.channels.shares.map(({ id, spend }) => [id, spend])).toEqual([
        [1, 95],
        [2, 10],
      ]);
      expect(before.models).toMatchObject({ total: 2, shares: [{ pluginKey: 'demo', model: 'm', spend: 95 }] });
      expect(readSum(before.ofKey)).toEqual({ succeeded: 1, failed: 0, spend: 5 });
      expect(readSum(before.ofModel)).toEqual({ succeeded: 1, failed: 0, spend: 10 });
      expect(before.hours.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(5);

      const sorted = (read: typeof before) => ({
        ...read,
        hours: read.hours.sort((a, b) => a.start - b.start || a.kind.localeCompare(b.kind)),
      });
      await addUp(store, 5 * DAY + 900);
      expect(sorted(await read())).toEqual(sorted(before));
      await addUp(store, 7 * DAY);
      expect(sorted(await read())).toEqual(sorted(before));
      // Later rows join the sums.
      await add(store, anna, { createdAt: 7 * DAY + 5 });
      await addUp(store, 8 * DAY);
      expect(readSum(await store.usage.byTime({ ...all, until: 8 * DAY })).spend).toBe(115);
    });

    test('nodes that add up concurrently, and one that dies half-way, count nothing twice', async () => {
      const { store, openAnother } = opened();
      const another = store.dialect === 'postgres' ? await openAnother() : store;
      const { id } = await addUser(store);
      await Promise.all(Array.from({ length: 30 }, (_, i) => add(store, id, { createdAt: 5 * DAY + i * 100 })));
      const dies = store.transaction(async (tx) => {
        await tx.usage.addUp({ before: 6 * DAY, keptFrom: 0 }, 7);
        throw new Error('the node died');
      });
      await expect(dies).rejects.toThrow('the node died');
      await Promise.all([store, another, store].map((each) => addUp(each, 6 * DAY, { limit: 3 })));
      for (const unit of ['quarter', 'day'] as const) {
        expect(readSum(await store.usage.byTime({ unit, from: 0, until: 9 * DAY })).succeeded).toBe(30);
      }
    });

    test('old quarters and hours go, days stay; quarters before those that are kept are not written', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      for (const day of [1, 2, 3, 4]) await add(store, id, { createdAt: day * DAY });
      await addUp(store, 5 * DAY, { keptFrom: 2 * DAY });
      const starts = async (unit: 'quarter' | 'day') =>
        (await store.usage.byTime({ unit, from: 0, until: 9 * DAY })).map(({ start }) => start / DAY);
      expect(await starts('quarter')).toEqual([2, 3, 4]);
      let rounds = 0;
      while ((await store.usage.deleteOld(4 * DAY)) > 0) rounds += 1;
      expect(rounds).toBe(2);
      expect(await starts('quarter')).toEqual([4]);
      expect(await starts('day')).toEqual([1, 2, 3, 4]);
      expect((await store.usage.channelHours(1, 0)).map(({ start }) => start / DAY)).toEqual([4]);
    });

    test('failures of a channel are counted by reason, among the latest', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      const fail = (createdAt: number, reason: string, reasonSentence: StoredSentence | null = null) =>
        add(store, id, { createdAt, kind: 'refund', taskId: `t${createdAt}`, detail: { reason }, reasonSentence });
      await fail(100, 'too old');
      for (const at of [200, 300]) await fail(at, 'content', { reason: 'plugin', params: {} });
      await fail(400, 'timeout');
      expect(await store.usage.channelFailures(1, 150, 10)).toEqual([
        {
          reason: 'content',
          reasonSentence: { reason: 'plugin', params: {} },
          tasks: 2,
          lastAt: 300,
          lastTask: 't300',
        },
        { reason: 'timeout', reasonSentence: null, tasks: 1, lastAt: 400, lastTask: 't400' },
      ]);
      expect(await store.usage.channelFailures(1, 0, 1)).toHaveLength(1);
      expect(await store.usage.channelFailures(2, 0, 10)).toEqual([]);
    });

    test('samples: one for each node and time, one writer of what is shared, sums of steps', async () => {
      const { samples } = opened().store;
      for (const [nodeId, start, polls, lagMs] of [
        ['a', 600, 5, 20],
        ['a', 600, 99, 99],
        ['b', 600, 7, 90],
        ['a', 900, 1, 10],
      ] as const) {
        await samples.addNode({ nodeId, start, polls, lagMs });
      }
      expect(await samples.nodes(0, 300)).toEqual([
        { start: 600, polls: 12, lagMs: 90 },
        { start: 900, polls: 1, lagMs: 10 },
      ]);
      expect(await samples.nodes(0, 3600)).toEqual([{ start: 0, polls: 13, lagMs: 90 }]);
      const shared = { start: 600, unfinished: 3, due: 1, latenessMs: 50, databaseBytes: 1000 };
      expect(await samples.isMissing(600)).toBeTrue();
      await samples.addGateway(shared);
      await samples.addGateway({ ...shared, unfinished: 99 });
      expect(await samples.isMissing(600)).toBeFalse();
      expect(await samples.gateway(600, 300)).toEqual([shared]);
      expect(await samples.deleteOld(900)).toBe(3);
      expect(await samples.deleteOld(900)).toBe(0);
      expect(await samples.nodes(0, 300)).toHaveLength(1);
    });
  },
  { fresh: 'test' },
);
