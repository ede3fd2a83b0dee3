import { expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { readVendorCsv, reconcileVendor } from '../../src/reports/index.ts';
import { openStore } from '../../src/store/index.ts';
import { newTask, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test("a vendor's export is read with any usual separator, quotes and signs of currencies", () => {
  const jobs = [
    { id: 'job,1', cost: 0.5 },
    { id: 'job2', cost: 1 },
  ];
  expect(readVendorCsv('\uFEFFCreated,Job_ID,Cost\r\n2026-11-01,"job,1",$0.50\r\n,job2,1\r\n\r\n', {})).toEqual(jobs);
  expect(readVendorCsv('when;Generation;Charge\nx;a "b";0\n', { id: 'generation' })).toEqual([
    { id: 'a "b"', cost: 0 },
  ]);
  expect(readVendorCsv('id\none\n', {})).toEqual([{ id: 'one', cost: undefined }]);
  expect(() => readVendorCsv('when,what\n1,2\n', {})).toThrow('--id-column; it has "when", "what"');
  expect(() => readVendorCsv('id,cost\none,"1,50"\n', {})).toThrow('line 2: the cost "1,50" is not a number');
});

test("states what the channel's cost prices say of the jobs, from the facts of their bills", async () => {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const user = await addUser(store, {});
  const channel = await store.channels.insert({
    ...{ name: 'films', type: 61, baseUrl: 'https://vendor.example', models: ['m'], groups: ['default'] },
    ...{ priority: 0, weight: 1, modelMapping: {}, taskPluginKey: 'demo', status: 1, createdAt: 1, updatedAt: 1 },
    settings: { cost_prices: { 'demo-1': 'u("seconds") * 0.02', '*': '0.5' } },
  });
  const add = async (upstreamTaskId: string, status: 'SUCCESS' | 'FAILURE', model = 'demo-1') => {
    const { billing, properties } = newTask();
    const task = await store.tasks.insert(
      newTask({
        ...{ userId: user.id, channelId: channel.id, quota: 500 },
        billing: { ...billing, facts: { seconds: 10 } },
        properties: { ...properties, originModelName: model, upstreamModelName: model },
      }),
    );
    await store.tasks.advance(readLease(task), { status, upstreamTaskId, submitTime: 200, finishTime: 300 }, null);
  };
  await add('seconds', 'SUCCESS');
  await add('flat', 'SUCCESS', 'another');
  await add('refunded', 'FAILURE');
  const jobs = ['seconds', 'flat', 'refunded'].map((id) => ({ id, cost: 0.4 }));
  const found = await reconcileVendor({ store }, { jobs, filter: { channelId: channel.id } });
  expect([found.expectedCost, found.vendorCost]).toEqual([expect.closeTo(0.7, 9), expect.closeTo(1.2, 9)]);
  await store.close();
});

test('names what the vendor bills and nobody paid, what it lists twice, and what it does not list', async () => {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const user = await addUser(store, {});
  const add = async (upstreamTaskId: string, status: 'SUCCESS' | 'FAILURE', channelId = 3) => {
    const task = await store.tasks.insert(newTask({ userId: user.id, channelId, quota: 500 }));
    await store.tasks.advance(readLease(task), { status, upstreamTaskId, submitTime: 200, finishTime: 300 }, null);
    return task.taskId;
  };
  await add('paid', 'SUCCESS');
  const refunded = await add('refunded', 'FAILURE');
  await add('failed-free', 'FAILURE');
  const missing = await add('missing', 'SUCCESS');
  await add('elsewhere', 'SUCCESS', 4);
  const jobs = [
    { id: 'paid', cost: 1 },
    { id: 'refunded', cost: 2 },
    { id: 'failed-free', cost: 0 },
    { id: 'bought', cost: 3 },
    { id: 'bought', cost: 3 },
  ];
  expect(await reconcileVendor({ store }, { jobs, filter: { channelId: 3 } })).toEqual({
    ...{ matched: 3, vendorCost: 9, charged: 1000, expectedCost: null },
    unknown: [{ id: 'bought', cost: 6 }],
    refunded: [{ id: 'refunded', cost: 2, task: refunded }],
    repeated: [{ id: 'bought', times: 2 }],
    missing: [{ id: 'missing', task: missing }],
  });
  await store.close();
});

test('a job at the edge of the days is found by its task, and a task that was sent outside of them is not missed', async () => {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const user = await addUser(store, {});
  const [since, until] = [1_800_000_000, 1_800_086_399];
  const add = async (upstreamTaskId: string, createdAt: number, submitTime: number) => {
    const task = await store.tasks.insert(newTask({ userId: user.id, channelId: 3, quota: 500, createdAt }));
    const done = { status: 'SUCCESS' as const, upstreamTaskId, submitTime, finishTime: submitTime };
    await store.tasks.advance(readLease(task), done, null);
    return task.taskId;
  };
  // It waited over midnight, and the vendor lists it for the day on which it was sent.
  await add('waited', since - 600, since + 600);
  // The vendor's clock is behind.
  await add('late', until + 5, until + 5);
  await add('sent before', since - 600, since - 600);
  await add('sent after', until - 600, until + 600);
  const missing = await add('missing', since - 600, since + 5);
  const jobs = ['waited', 'late'].map((id) => ({ id, cost: 1 }));
  const found = await reconcileVendor({ store }, { jobs, filter: { channelId: 3, since, until } });
  expect(found).toMatchObject({ matched: 2, unknown: [], missing: [{ id: 'missing', task: missing }] });
  expect(found.charged).toBe(1500);
  await store.close();
});

test('a channel that never was is refused: all its jobs would look as if nobody had been billed', async () => {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const jobs = [{ id: 'one', cost: 1 }];
  await expect(reconcileVendor({ store }, { jobs, filter: { channelId: 77 } })).rejects.toThrow(
    'there is no channel 77',
  );
  await store.close();
});

test('a channel that relays is refused: it has no tasks, and every job would be bought for nobody', async () => {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const { id: channelId } = await store.channels.insert({
    ...{ name: 'relay', type: 1, baseUrl: 'https://vendor.example', models: ['m'], groups: ['default'] },
    ...{ priority: 0, weight: 1, modelMapping: {}, taskPluginKey: null, status: 1, createdAt: 1, updatedAt: 1 },
    settings: {},
  });
  const reconciled = reconcileVendor({ store }, { jobs: [{ id: 'video_1', cost: 1 }], filter: { channelId } });
  await expect(reconciled).rejects.toThrow(`channel ${channelId} relays requests`);
  await store.close();
});
