/** Bills of the past under other prices: what changes, who pays, and what would be refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ReplayQuestion } from '../../src/reports/replay-bills.ts';
import { CORRECTION_SECONDS, type Store } from '../../src/store/ports/index.ts';
import { describeEachStore, newRelay, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { createMovableClock } from '../support/movable-clock.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeReplay = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  const clock = createMovableClock();
  let poor: Awaited<ReturnType<typeof addCaller>>;

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox, { clock });
    await engine.addChannel();
    await engine.start();
    poor = await addCaller(store, 100_000);
    const rich = await addCaller(store, 10_000_000);
    for (const [caller, seconds] of [
      [poor, 2],
      [rich, 3],
      [rich, 5],
    ] as const) {
      const request = jsonRequest({ model: 'demo-video', prompt: 'x', seconds });
      const task = await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
      engine.finishJobs();
      await ended(store, task.taskId);
    }
    const request = jsonRequest({ model: 'demo-video', prompt: 'x [fail]', seconds: 9 });
    const failed = await engine.surfaces.submitGeneric(rich, { requestId: 'r', pluginKey: 'demo', request });
    engine.finishJobs();
    await ended(store, failed.taskId);
  });
  afterAll(() => engine.stop());

  const replay = (change: Partial<ReplayQuestion>) =>
    engine.reports.replayBills({ prices: [], groupRatios: {}, days: 30, ...change });
  const price = (expression: string, pluginKey = 'demo', model = 'demo-video') => ({
    prices: [{ pluginKey, model, expression }],
  });

  test('a dearer price says what it brings, who pays it, and what they have left', async () => {
    const found = await replay(price('0.04 * u("seconds")'));
    expect(found).toMatchObject({ tasks: 3, before: 100_000, after: 200_000, refused: 0, next: null });
    expect(found.models).toEqual([
      { pluginKey: 'demo', model: 'demo-video', tasks: 3, before: 100_000, after: 200_000 },
    ]);
    expect(found.users.find(({ id }) => id === poor.user.id)).toMatchObject({ after: 40_000, balance: 80_000 });
  });

  test('the same price changes no amount, and the price of another model no bill', async () => {
    expect(await replay(price('0.02 * u("seconds")'))).toMatchObject({ tasks: 3, before: 100_000, after: 100_000 });
    expect(await replay(price('9', 'demo', 'other'))).toMatchObject({ tasks: 0, before: 0, after: 0 });
    expect(await replay(price('9', 'elsewhere'))).toMatchObject({ tasks: 0 });
  });

  test('the price for every plugin counts where it was the one that applied', async () => {
    expect(await replay(price('0.01 * u("seconds")', '*'))).toMatchObject({ tasks: 3, after: 50_000 });
  });

  test('a price that a bill has no fact for would have refused its request', async () => {
    const found = await replay(price('u("megapixels") * 0.1'));
    expect(found).toMatchObject({ tasks: 3, refused: 3, after: 0, refusal: { reason: 'prices.fact' } });
    expect((await replay(price('0.01 - u("seconds")'))).refusal?.reason).toBe('prices.negative');
  });

  test('the ratio of a group changes its bills, and of another none', async () => {
    expect(await replay({ groupRatios: { default: 1.5 } })).toMatchObject({ tasks: 3, after: 150_000 });
    expect(await replay({ groupRatios: { vip: 3 } })).toMatchObject({ tasks: 0 });
    expect(await replay({ ...price('0.04 * u("seconds")'), groupRatios: { default: 0.5 } })).toMatchObject({
      after: 100_000,
    });
  });

  test('nothing is written, and bills before the period are left out', async () => {
    const before = await store.users.byId(poor.user.id);
    await replay(price('5'));
    expect(await store.users.byId(poor.user.id)).toEqual(before);
    clock.pass(31 * 86_400_000);
    expect(await replay(price('5'))).toMatchObject({ read: 0, next: null });
  });

  test('a bill that was corrected later counts once, by its true usage', async () => {
    const { user, walletId } = await addCaller(store);
    const row = {
      ...{ userId: user.id, walletId, apiKeyId: null, taskId: 'late', channelId: 1, pluginKey: '*', model: 'late' },
      ...{ kind: 'settle' as const, createdAt: clock.unix() },
    };
    const bill = { group: 'default', group_ratio: 1, facts: { output_tokens: 4000 }, estimate: { usd: 0.04 } };
    await store.logs.addUsage({ ...row, quota: 20_000, detail: { ...bill, usd: null } });
    const detail = { ...bill, usd: 0.01, completion_facts: { output_tokens: 1000 } };
    await store.logs.addUsage({ ...row, quota: -15_000, detail, seconds: CORRECTION_SECONDS });
    expect(await replay(price('0.00002 * u("output_tokens")', '*', 'late'))).toMatchObject({
      ...{ read: 2, tasks: 1, before: 5000, after: 10_000, refused: 0 },
    });
  });

  test('a bill that stands as reserved is replayed by what was reserved, not by a report that was refused', async () => {
    const { user, walletId } = await addCaller(store);
    const bill = {
      ...{ group: 'kept', group_ratio: 1, facts: { output_tokens: 4000 }, estimate: { usd: 0.04 }, usd: null },
      ...{ completion_facts: { output_tokens: 9_000_000 }, kept_reservation: 'not believed' },
    };
    await store.logs.addUsage({
      ...{ userId: user.id, walletId, apiKeyId: null, taskId: 'kept', channelId: 1, pluginKey: '*', model: 'kept' },
      ...{ kind: 'settle' as const, createdAt: clock.unix(), quota: 20_000, detail: bill },
    });
    const same = { tasks: 1, before: 20_000, after: 20_000 };
    expect(await replay(price('0.00001 * u("output_tokens")', '*', 'kept'))).toMatchObject(same);
    expect(await replay({ groupRatios: { kept: 2 } })).toMatchObject({ ...same, after: 40_000 });
  });

  test('a price that reads the action reads the one of the bill, of relayed requests too', async () => {
    const { user, walletId } = await addCaller(store);
    const bill = { group: 'acted', group_ratio: 1, facts: {}, estimate: { usd: 0.02 }, usd: 0.02 };
    const row = {
      ...{ userId: user.id, walletId, apiKeyId: null, channelId: 1, pluginKey: '*', model: 'acted' },
      ...{ kind: 'settle' as const, createdAt: clock.unix(), quota: 10_000 },
    };
    // The request is deleted after a month, and its bill is not.
    await store.logs.addUsage({ ...row, taskId: 'gone', detail: { ...bill, action: 'speech' } });
    // One of a version that did not store the action.
    const { billing } = newRelay();
    const relay = await store.relays.open(
      newRelay({ userId: user.id, walletId, billing: { ...billing, action: 'speech' } }),
    );
    await store.logs.addUsage({ ...row, taskId: relay.relayId, detail: bill });
    expect(await replay(price('action == "speech" ? 0.04 : 9', '*', 'acted'))).toMatchObject({
      ...{ tasks: 2, before: 20_000, after: 40_000 },
    });
  });

  test('a bill that stayed at what was accepted for another model stays there', async () => {
    const { user, walletId } = await addCaller(store);
    const bill = { group: 'capped', group_ratio: 1, facts: { seconds: 5 }, estimate: { usd: 0.02 }, usd: 0.1 };
    await store.logs.addUsage({
      ...{ userId: user.id, walletId, apiKeyId: null, taskId: 'capped', channelId: 1, pluginKey: 'p', model: 'capped' },
      ...{ kind: 'settle' as const, createdAt: clock.unix(), quota: 10_000, detail: { ...bill, settled: 10_000 } },
    });
    const sums = { tasks: 1, before: 10_000 };
    expect(await replay({ groupRatios: { capped: 2 } })).toMatchObject({ ...sums, after: 20_000 });
    expect(await replay(price('0.03 * u("seconds")', 'p', 'capped'))).toMatchObject({ ...sums, after: 10_000 });
    expect(await replay(price('0.002 * u("seconds")', 'p', 'capped'))).toMatchObject({ ...sums, after: 5000 });
  });

  test('a place that no slice gave is refused', async () => {
    for (const after of ['x', '5', '5.0', '-1.2', '1.2.3'])
      await expect(replay({ after })).rejects.toMatchObject({ code: 'reports.replay_cursor' });
  });
};

describeEachStore('replayed bills', (opened) => describe('with the demo vendor', () => describeReplay(opened)), {
  databases: RULE_DATABASES,
});
