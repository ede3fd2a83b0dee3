import { expect, test } from 'bun:test';
import { quoted } from '../../src/kernel/index.ts';
import {
  CORRECTION_SECONDS,
  type EndedTasks,
  type NewChannel,
  type Store,
  type UsageLogRecord,
} from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addRunningTask, describeEachStore, newTask } from './each-store.ts';
import { runRaw } from './open-raw.ts';

const DAY = 86_400;

const order = (rows: EndedTasks[]) =>
  rows.sort((a, b) => JSON.stringify(Object.values(a)).localeCompare(JSON.stringify(Object.values(b))));

describeEachStore(
  'figures by day',
  (opened) => {
    const add = (store: Store, userId: number, change: { createdAt: number } & Partial<UsageLogRecord>) =>
      store.logs.addUsage({
        userId,
        walletId: userId,
        apiKeyId: null,
        taskId: 't',
        channelId: 1,
        pluginKey: 'demo',
        model: 'm',
        kind: 'settle',
        quota: 10,
        detail: {},
        ...change,
      });
    const addUp = async (store: Store, before: number, limit = 2) => {
      let rounds = 0;
      for (; rounds < 50; rounds += 1) {
        if (!(await store.transaction((tx) => tx.figures.addUpDays(before, limit)))) return rounds;
      }
      throw new Error('it goes on forever');
    };

    test.each([8 * 3600, 365 * DAY])(
      'count each row once, though the clock was %d s ahead for a while',
      async (ahead) => {
        const { store } = opened();
        const { id } = await addUser(store);
        const now = Math.floor((await store.clock.nowMs()) / 1000);
        const count = async () => {
          const rows = await store.figures.usageByDay({ sinceDay: 0, userId: id });
          return rows.reduce((sum, { tasks }) => sum + tasks, 0);
        };
        // What the wrong clock has written and added up.
        await add(store, id, { createdAt: now - 1000 });
        await addUp(store, now - 500);
        await runRaw(opened(), `update usage_logs set created_at = ${now + ahead}`);
        for (const progress of ['usage_progress', 'usage_sums_progress'])
          await runRaw(opened(), `update ${progress} set until = ${now + ahead + 1}`);

        await add(store, id, { createdAt: now - 300 });
        expect(await count()).toBe(2);
        for (let hour = 0; hour < 3; hour += 1) {
          await addUp(store, now - 120);
          expect(await count()).toBe(2);
        }
      },
    );

    test('are the same before, while and after rows are aggregated, each row once', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      const other = (await addUser(store)).id;
      for (const seconds of [0, 1, 2, 45, 46, 90_000, -1]) await add(store, id, { createdAt: 5 * DAY, seconds });
      await add(store, id, { createdAt: 5 * DAY + 50, kind: 'refund', quota: 7, seconds: 4 });
      await add(store, other, { createdAt: 6 * DAY - 1, model: 'n' });
      await add(store, other, { createdAt: 6 * DAY, model: 'n', quota: 15 });
      await add(store, other, { createdAt: 6 * DAY, model: 'n', quota: -5, seconds: CORRECTION_SECONDS });
      const all = () => store.figures.usageByDay({ sinceDay: 0 }).then(order);
      const before = await all();
      expect(
        before.map(({ day, model, kind, duration, tasks, quota }) => [day, model, kind, duration, tasks, quota]),
      ).toEqual(
        expect.arrayContaining([
          [5, 'm', 'settle', -1, 1, 10],
          [5, 'm', 'settle', 0, 2, 20],
          [5, 'm', 'settle', 1, 1, 10],
          [5, 'm', 'settle', 9, 1, 10],
          [5, 'm', 'settle', 10, 1, 10],
          [5, 'm', 'settle', 27, 1, 10],
          [5, 'm', 'refund', 3, 1, 7],
          [5, 'n', 'settle', -1, 1, 10],
          [6, 'n', 'settle', -1, 1, 10],
        ]),
      );
      expect(before).toHaveLength(9);
      const sums = async (by: 'day' | 'model') =>
        (await store.figures.usageByDay({ sinceDay: 0, by }))
          .map(({ day, model, kind, tasks, quota }) => `${day} ${model} ${kind} ${tasks} ${quota}`)
          .sort();
      expect(await sums('day')).toEqual(['5  refund 1 7', '5  settle 8 80', '6  settle 1 10']);
      expect(await sums('model')).toContain('0 n settle 2 20');
      await addUp(store, 5 * DAY + 10);
      expect(await all()).toEqual(before);
      await addUp(store, 7 * DAY);
      expect(await all()).toEqual(before);
      expect(await addUp(store, 7 * DAY)).toBe(0);
      expect(await all()).toEqual(before);

      expect((await store.figures.usageByDay({ sinceDay: 0, userId: other })).map(({ day }) => day).sort()).toEqual([
        5, 6,
      ]);
      expect(await store.figures.usageByDay({ sinceDay: 6 })).toHaveLength(1);
      // Later rows count at once, and join the sums when they are aggregated.
      await add(store, other, { createdAt: 8 * DAY, model: 'n' });
      await add(store, other, { createdAt: 8 * DAY, model: 'n' });
      const later = await all();
      expect(later).toContainEqual(expect.objectContaining({ day: 8, tasks: 2, quota: 20 }));
      await addUp(store, 9 * DAY, 1);
      expect(await all()).toEqual(later);
    });

    test('nodes that aggregate concurrently count nothing twice', async () => {
      const { store, openAnother } = opened();
      const stores = store.dialect === 'postgres' ? [store, await openAnother()] : [store, store];
      const { id } = await addUser(store);
      await Promise.all(Array.from({ length: 40 }, (_, i) => add(store, id, { createdAt: 5 * DAY + i })));
      await Promise.all([...stores, ...stores].map((each) => addUp(each, 6 * DAY, 3)));
      const sum = (await store.figures.usageByDay({ sinceDay: 0 })).reduce((total, { tasks }) => total + tasks, 0);
      expect(sum).toBe(40);
    });

    test('an aggregation that dies half-way counts nothing, and rows written in the meantime count once', async () => {
      const { store, openAnother } = opened();
      const another = store.dialect === 'postgres' ? await openAnother() : store;
      const { id } = await addUser(store);
      await Promise.all(Array.from({ length: 20 }, (_, i) => add(store, id, { createdAt: 5 * DAY + i })));
      const count = async () =>
        Promise.all(
          [{}, { userId: id }].map(async (whose) =>
            (await store.figures.usageByDay({ sinceDay: 0, ...whose })).reduce((total, { tasks }) => total + tasks, 0),
          ),
        );
      const dies = store.transaction(async (tx) => {
        await tx.figures.addUpDays(6 * DAY, 7);
        throw new Error('the node died');
      });
      await expect(dies).rejects.toThrow('the node died');
      expect(await count()).toEqual([20, 20]);
      const writing = Array.from({ length: 30 }, (_, i) => add(another, id, { createdAt: 6 * DAY + i }));
      const adding = [store, another].map((each) => addUp(each, 6 * DAY, 3));
      const [everybody = 0, own = 0] = await count();
      expect([everybody, own].every((seen) => seen >= 20 && seen <= 50)).toBeTrue();
      await Promise.all([...writing, ...adding]);
      expect(await count()).toEqual([50, 50]);
      await addUp(another, 7 * DAY);
      expect(await count()).toEqual([50, 50]);
    });

    test('channels show recently ended and running tasks and why the latest failed', async () => {
      const { store } = opened();
      const { id: userId } = await addUser(store);
      const fields: NewChannel = {
        ...{
          name: 'c',
          type: 61,
          baseUrl: '',
          models: [],
          groups: [],
          priority: 0,
          weight: 1,
        },
        ...{ modelMapping: {}, taskPluginKey: 'demo', settings: {}, status: 1, createdAt: 1, updatedAt: 1 },
      };
      const { id: channelId } = await store.channels.insert(fields);
      const idle = await store.channels.insert({ ...fields, name: 'idle' });
      const task = await addRunningTask(store, { channelId, userId });
      for (const at of [100, 200, 300]) await add(store, userId, { createdAt: at, channelId });
      await add(store, userId, { createdAt: 250, channelId, kind: 'refund', taskId: 'earlier' });
      await add(store, userId, { createdAt: 400, channelId, kind: 'refund', taskId: task.taskId });
      await add(store, userId, { createdAt: 400, channelId, quota: -5, seconds: CORRECTION_SECONDS });
      const [health, other] = await store.figures.channelHealth(200);
      expect(health).toEqual({
        ...{ channelId, succeeded: 2, failed: 2, inFlight: 1, lastSuccessAt: 300, lastFailureAt: 400 },
        hours: Array.from({ length: 24 }, (_, hour) => ({ succeeded: hour === 0 ? 2 : 0, failed: hour === 0 ? 2 : 0 })),
        ...{ lastFailedTask: task.taskId, lastFailureCode: '', lastFailureReason: '', lastFailureSentence: null },
        lastTest: undefined,
      });
      const [late] = await store.figures.channelHealth(300 - 5 * 3600);
      expect(late?.hours.slice(4, 6)).toEqual([
        { succeeded: 2, failed: 1 },
        { succeeded: 1, failed: 1 },
      ]);
      expect(other).toMatchObject({
        channelId: idle.id,
        succeeded: 0,
        hours: [],
        lastSuccessAt: 0,
        lastFailedTask: '',
      });
      await store.usage.recordTest({ channelId, testedAt: 500, failedStep: 'credential', said: quoted('refused') });
      const tested = {
        at: 500,
        failedStep: 'credential',
        message: 'refused',
        sentence: { reason: 'plugin', params: { text: 'refused' } },
      };
      expect((await store.figures.channelHealth(200))[0]?.lastTest).toEqual(tested);
      // A change makes the test void.
      await store.channels.update(channelId, { updatedAt: 501 });
      expect((await store.figures.channelHealth(200))[0]?.lastTest).toBeUndefined();
      expect([await store.figures.countOverdue(199), await store.figures.countOverdue(200)]).toEqual([0, 1]);
      expect((await store.figures.databaseSize()).bytes).toBeGreaterThan(10_000);
    });

    test('running tasks are counted by day and status', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await store.tasks.insert(newTask({ userId: id, createdAt: 3 * DAY }));
      for (const createdAt of [4 * DAY, 4 * DAY + 1]) await addRunningTask(store, { userId: id, createdAt });
      await addRunningTask(store, { userId: id + 1, createdAt: 4 * DAY });
      const rows = (await store.figures.openTasks({ userId: id })).sort((a, b) => a.day - b.day);
      expect(rows).toEqual([
        { day: 3, status: 'NOT_START', tasks: 1 },
        { day: 4, status: 'SUBMITTED', tasks: 2 },
      ]);
      expect((await store.figures.openTasks({})).reduce((sum, { tasks }) => sum + tasks, 0)).toBe(4);
    });
  },
  { fresh: 'test' },
);
