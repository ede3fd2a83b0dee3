/** Another model serves a task while every account of its own rests or is full for too long. */
import { afterAll, expect, test } from 'bun:test';
import { explainBill } from '../../src/billing/index.ts';
import type { Json } from '../../src/kernel/index.ts';
import type { Generation } from '../../src/plugins/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { videoObject } from '../../src/surfaces/videos/render-video.ts';
import type { ModelFallback } from '../../src/tasks/task-node.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { DATABASES } from '../support/databases.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { until } from '../support/until.ts';
import { addCaller, billFor, type Engine, ended, HELD, jsonRequest, NO_WAITING, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const BAD_KEY = 'bad-key-00000001';
const PRO = 'demo-video-pro';

type World = { engine: Engine; store: Store; caller: Awaited<ReturnType<typeof addCaller>> };
type Account = Parameters<Engine['addChannel']>[0];
type Setting = { fallback?: ModelFallback; price?: string; account?: Account; others?: readonly Account[] };

/** The model `demo-video` has one account, whose key the vendor refuses; the other model works. */
async function withRestingModel(
  { store }: OpenedStore,
  {
    fallback = { models: [PRO], afterMs: null },
    price = '0.01 * u("seconds")',
    account = { key: BAD_KEY },
    others = [{}],
  }: Setting,
  work: (world: World) => Promise<void>,
): Promise<void> {
  const rules = { ...NO_WAITING, maxWaitMs: 3_600_000, fallbacks: { 'demo-video': fallback } };
  const engine = await startEngine(store, sandbox, { waiting: () => rules });
  try {
    await engine.billing.prices.save({ pluginKey: '*', model: PRO, expression: price });
    await engine.addChannel(account);
    for (const other of others) await engine.addChannel({ models: [PRO], ...other });
    await engine.start();
    await work({ engine, store, caller: await addCaller(store) });
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    await engine.stop();
  }
}

type Asked = { body?: Record<string, Json>; header?: string };
const submit = ({ engine, caller }: World, { body = {}, header }: Asked = {}): Promise<TaskRecord> =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: {
      ...jsonRequest({ model: 'demo-video', prompt: 'a [duration=0.1]', seconds: 5, ...body }),
      ...(header === undefined ? {} : { allowFallback: header }),
    },
  });

/** Looked at by the dispatcher, and left with its model. */
async function staysWaiting({ store }: World, { taskId }: TaskRecord): Promise<void> {
  await until(async () => (await listMovable(store))[0]?.taskId !== taskId);
  const task = await store.tasks.byTaskId(taskId);
  expect(task).toMatchObject({ phase: 'waiting', properties: { originModelName: 'demo-video' } });
}

/** Tasks of the only line that another model may serve. */
async function listMovable(store: Store) {
  const [line] = await store.waiting.classes();
  return store.waiting.fallingBack({ class: line?.class ?? '', nodes: [''], waitedMs: 0, skip: 0, limit: 9 });
}

/** The only task has come back from this model as well, and may leave its line. */
async function waitsFor({ store }: World, model: string): Promise<void> {
  await until(async () => {
    const [line] = await store.waiting.classes();
    const [task] = await listMovable(store);
    return line?.model === model && task?.returns === 2;
  });
}

/** More tasks of one caller than are looked at together, and one of another caller behind them. */
async function fillPage(world: World): Promise<{ first: TaskRecord[]; last: TaskRecord }> {
  const caller = await addCaller(world.store);
  await submit({ ...world, caller }, { body: { model: PRO, prompt: `a ${HELD}` } });
  const first = [];
  for (let count = 0; count < 17; count += 1) first.push(await submit(world));
  return { first, last: await submit({ ...world, caller }) };
}

async function movesOn({ store }: World, { taskId }: TaskRecord): Promise<void> {
  await until('another model serves it', async () => {
    const task = await store.tasks.byTaskId(taskId);
    return task?.properties.originModelName === PRO;
  });
}

describeEachStore(
  'another model',
  (opened) => {
    test('serves while all accounts of a model rest, at its own price, and the task says so', () =>
      withRestingModel(opened(), {}, async (world) => {
        const { taskId } = await submit(world);
        const task = await ended(world.store, taskId);
        expect(task).toMatchObject({
          status: 'SUCCESS',
          quota: billFor(5) / 2,
          properties: { originModelName: PRO, upstreamModelName: PRO, requestedModelName: 'demo-video' },
          billing: { model: PRO },
          execution: { request: { model: PRO, body: { model: PRO, seconds: 5 } } },
        });
        const events = await world.store.tasks.events(taskId);
        expect(events.filter(({ kind }) => kind === 'fell_back').map(({ detail }) => detail)).toEqual([
          'Ran on demo-video-pro instead of demo-video.',
        ]);
        const listed = await world.store.tasks.list({ model: PRO }, { page: 1, pageSize: 5 });
        expect(listed.items.map((one) => one.taskId)).toContain(taskId);
      }));

    test('serves once a task has waited too long beside full accounts, and not before', () =>
      withRestingModel(
        opened(),
        { account: { limits: { maxRunning: 1 } }, fallback: { models: [PRO], afterMs: 1000 } },
        async (world) => {
          const first = await submit(world, { body: { prompt: 'a [duration=600]' } });
          const begunMs = performance.now();
          const second = await ended(world.store, (await submit(world)).taskId);
          expect(performance.now() - begunMs).toBeGreaterThan(900);
          expect(second.properties).toMatchObject({ originModelName: PRO, requestedModelName: 'demo-video' });
          expect(first.properties.originModelName).toBe('demo-video');
        },
      ));

    test('serves a video, whose object names both', () =>
      withRestingModel(opened(), {}, async (world) => {
        const { engine, caller, store } = world;
        const request = { ...jsonRequest({ model: 'demo-video', prompt: 'a', seconds: 5 }), path: '/v1/videos' };
        const { taskId } = await engine.surfaces.submitVideo(caller, 'request', request);
        const task = await until(async () => {
          const found = await store.tasks.byTaskId(taskId);
          return found?.phase === 'sending' && found;
        });
        expect(videoObject({ task, link: undefined })).toMatchObject({ model: PRO, requested_model: 'demo-video' });
      }));

    test('never serves at a dearer price than was accepted', () =>
      withRestingModel(opened(), { price: '0.03 * u("seconds")' }, async (world) => {
        await staysWaiting(world, await submit(world));
      }));

    test.each([
      ['for what was accepted, though it has become dearer', '0.05'],
      ...(IS_FULL_RUN ? [['for what it costs', '0.02']] : []),
    ])('goes back to the dearer one that was asked for once that has room, %s', (_, price) =>
      withRestingModel(opened(), { others: [{ key: BAD_KEY }] }, async (world) => {
        const { engine, store } = world;
        const { taskId } = await submit(world);
        await waitsFor(world, PRO);
        const expression = `${price} * u("seconds")`;
        await engine.billing.prices.save({ pluginKey: '*', model: 'demo-video', expression });
        await engine.addChannel();
        const task = await ended(store, taskId);
        expect(task).toMatchObject({
          ...{ status: 'SUCCESS', quota: billFor(5), properties: { originModelName: 'demo-video' } },
          billing: { model: 'demo-video', expression, accepted: { quota: billFor(5) } },
        });
        expect(videoObject({ task, link: undefined })).not.toHaveProperty('requested_model');
      }),
    );

    testInFullRun('stays with the cheaper one where the wallet has not what the one that was asked for costs', () =>
      withRestingModel(opened(), { others: [{ key: BAD_KEY }] }, async (world) => {
        const { engine, store, caller } = world;
        const { taskId } = await submit(world);
        await waitsFor(world, PRO);
        const { walletId } = caller;
        await store.ledger.setBalance({ walletId, key: 'poor', to: 0, at: 1 });
        await engine.addChannel();
        await until(async () => (await listMovable(store)).length === 0);
        const task = await store.tasks.byTaskId(taskId);
        expect(task).toMatchObject({ quota: billFor(5) / 2, phase: 'waiting', properties: { originModelName: PRO } });
      }),
    );

    test('costs no more than was accepted by an account that calls it otherwise at the vendor', () =>
      withRestingModel(
        opened(),
        { others: [{ key: BAD_KEY, priority: 9 }, { modelMapping: { [PRO]: 'demo-video' } }] },
        async (world) => {
          const task = await ended(world.store, (await submit(world)).taskId);
          expect(task).toMatchObject({
            ...{ status: 'SUCCESS', properties: { originModelName: PRO, upstreamModelName: 'demo-video' } },
            billing: { accepted: { model: 'demo-video', quota: billFor(5) } },
          });
        },
      ));

    test('costs no more than was accepted where the vendor made more than was ordered', () => {
      // 0.08 USD for the 4 s of the order (0.08 by the other), and 0.64 USD for 8 s (0.16).
      const price = '0.00125 * u("seconds") * u("seconds") * u("seconds")';
      return withRestingModel(opened(), { price }, async (world) => {
        const { taskId } = await submit(world, { body: { prompt: 'a [duration=0.1] [seconds=8]', seconds: 4 } });
        const task = await ended(world.store, taskId);
        expect(task).toMatchObject({
          ...{ status: 'SUCCESS', quota: billFor(8), properties: { originModelName: PRO } },
          billing: { expression: price, outcome: { settled: billFor(8), usd: 0.64, capped: true } },
        });
        expect(explainBill(task).summary).toContain('more than was accepted for the model that was asked for');
      });
    });

    test('does not serve where the accepted price reserves nothing before it knows its facts', () =>
      withRestingModel(opened(), { price: '0' }, async (world) => {
        await world.engine.billing.prices.save({ pluginKey: '*', model: 'demo-video', expression: '0 * u("seconds")' });
        await staysWaiting(world, await submit(world));
      }));

    test.each([
      ['X-Allow-Fallback', { header: 'false' }],
      ['metadata.allow_fallback', { body: { metadata: { allow_fallback: false } } }],
    ])('does not serve where %s declines', (_, asked) =>
      withRestingModel(opened(), {}, async (world) => {
        await staysWaiting(world, await submit(world, asked));
      }),
    );

    test('is refused a word that is neither true nor false', () =>
      withRestingModel(opened(), {}, async (world) => {
        await expect(submit(world, { header: 'maybe' })).rejects.toMatchObject({
          code: 'tasks.allow_fallback_invalid',
          param: 'X-Allow-Fallback',
        });
      }));

    test('serves a task behind those whose user was moved to another group, which end', () =>
      withRestingModel(opened(), { others: [{ limits: { maxRunning: 1 } }] }, async (world) => {
        const { engine, store } = world;
        const { first, last } = await fillPage(world);
        await store.users.update(world.caller.user.id, { group: 'another' });
        for (const { taskId } of first)
          expect((await ended(store, taskId)).execution.failure?.code).toBe('tasks.model_not_allowed');
        engine.finishJobs();
        await movesOn(world, last);
      }));

    test('serves a task behind those whose plugin cannot be loaded just now', () =>
      withRestingModel(opened(), { others: [{ limits: { maxRunning: 1 } }] }, async (world) => {
        const { engine } = world;
        const { first, last } = await fillPage(world);
        const { generation, release } = engine.plugins.pin();
        release();
        const loaded = generation as { -readonly [Name in keyof Generation]: Generation[Name] };
        const { findPlugin } = loaded;
        loaded.findPlugin = async (task) =>
          first.some(({ taskId }) => taskId === (task as TaskRecord).taskId) ? undefined : findPlugin(task);
        engine.finishJobs();
        await movesOn(world, last);
      }));

    test('does not serve a key that may not use it', () =>
      withRestingModel(opened(), {}, async (world) => {
        const { caller, store } = world;
        await store.apiKeys.update(caller.key.id, caller.user.id, { models: ['demo-video'] });
        const key = { ...caller.key, models: ['demo-video'] };
        await staysWaiting(world, await submit({ ...world, caller: { ...caller, key } }));
      }));
  },
  { fresh: 'test', databases: IS_FULL_RUN ? DATABASES : ['sqlite'] },
);
