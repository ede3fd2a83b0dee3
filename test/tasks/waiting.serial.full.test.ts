/** A thousand submissions of twenty users at once, at a vendor that runs five jobs. */
import { afterAll, expect, test } from 'bun:test';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { startChatVendor } from '../support/chat-vendor.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  jsonRequest,
  readBalance,
  startEngine,
  WAITING,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const USERS = 20;
const OF_EACH = 50;

const start = (store: Store) => startEngine(store, sandbox, { waiting: () => WAITING, vendorMaxRunning: 5 });

type Caller = Awaited<ReturnType<typeof addCaller>>;
const submit = (engine: Engine, caller: Caller) =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt: 'a [duration=0.1]', seconds: 5 }),
  });

async function submitAll(store: Store, engines: readonly Engine[]) {
  const callers = await Promise.all(Array.from({ length: USERS }, () => addCaller(store)));
  const tasks = await Promise.all(
    callers.flatMap((caller, user) =>
      Array.from({ length: OF_EACH }, () => submit(engines[user % engines.length] as Engine, caller)),
    ),
  );
  return { callers, tasks };
}

async function expectAllDone(store: Store, { callers, tasks }: Awaited<ReturnType<typeof submitAll>>) {
  const done: TaskRecord[] = [];
  for (const { taskId } of tasks) done.push(await ended(store, taskId));
  expect(done.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
  for (const { user } of callers) expect(await readBalance(store, user.id)).toBe(BALANCE - OF_EACH * billFor(5));
  expect(await store.waiting.classes()).toEqual([]);
  expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  return done;
}

/** How far the users' counts of tasks sent after `sinceMs` lie apart while all still wait. */
function largestLead(tasks: readonly TaskRecord[], sinceMs: number): number {
  const sent = new Map<number, number>();
  let lead = 0;
  const waited = tasks.filter(({ waitingSince, dispatchedAtMs }) => waitingSince > 0 && dispatchedAtMs > sinceMs);
  const left = new Map<number, number>();
  for (const { userId } of waited) left.set(userId, (left.get(userId) ?? 0) + 1);
  for (const { userId } of waited.toSorted((a, b) => a.dispatchedAtMs - b.dispatchedAtMs)) {
    sent.set(userId, (sent.get(userId) ?? 0) + 1);
    left.set(userId, (left.get(userId) ?? 0) - 1);
    if ([...left.values()].some((count) => count === 0)) break;
    const counts = [...left.keys()].map((user) => sent.get(user) ?? 0);
    lead = Math.max(lead, Math.max(...counts) - Math.min(...counts));
  }
  return lead;
}

describeEachStore(
  'many tasks at a small account',
  (opened) => {
    test('declared: no refusal, never a sixth, and every user gets the same share', async () => {
      const { store } = opened();
      const engine = await start(store);
      try {
        await engine.start();
        await engine.addChannel({ limits: { maxRunning: 5 } });
        const submitted = await submitAll(store, [engine]);
        const sinceMs = await store.clock.nowMs();
        const done = await expectAllDone(store, submitted);
        expect(await engine.vendorCounts()).toMatchObject({ jobs: USERS * OF_EACH, full: 0, most_running: 5 });
        // Those of one transaction have one time, so that their order is not known.
        expect(largestLead(done, sinceMs)).toBeLessThanOrEqual(2);
      } finally {
        await engine.stop();
      }
    });

    test('undeclared: every task runs, and the vendor refuses fewer than thirty', async () => {
      const { store } = opened();
      const engine = await start(store);
      try {
        await engine.start();
        await engine.addChannel();
        await expectAllDone(store, await submitAll(store, [engine]));
        const { jobs, full } = await engine.vendorCounts();
        expect(jobs).toBe(USERS * OF_EACH);
        expect(full).toBeLessThan(30);
      } finally {
        await engine.stop();
      }
    });
  },
  { fresh: 'test' },
);

describeEachStore(
  'many tasks at a small account of two nodes',
  (opened) => {
    test('beside a live node that does not know of waiting a full account answers 429', async () => {
      const { store } = opened();
      const id = 'of-an-earlier-version';
      await store.nodes.heartbeat({ id, role: 'master', version: '0.1.0', startedAt: 1, fingerprints: [] });
      const engine = await start(store);
      try {
        await engine.start();
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller);
        await expect(submit(engine, caller)).rejects.toMatchObject({ code: 'tasks.queue_full' });
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
      } finally {
        await engine.stop();
      }
    });

    test('while such a node lives no other model serves, and a relayed image is awaited', async () => {
      const { store } = opened();
      const id = 'of-the-version-before';
      const features = ['waiting@1'];
      await store.nodes.heartbeat({ id, role: 'master', version: '0.1.0', startedAt: 1, fingerprints: [], features });
      const fallbacks = { 'demo-video': { models: ['demo-video-pro'], afterMs: null } };
      let looks = 0;
      const classes = () => {
        looks += 1;
        return store.waiting.classes();
      };
      const watched = { ...store, waiting: { ...store.waiting, classes } };
      const engine = await startEngine(watched, sandbox, { waiting: () => ({ ...WAITING, fallbacks }) });
      const vendor = await startChatVendor();
      try {
        await engine.start();
        await engine.addChannel({ key: 'bad-key-00000001' });
        await engine.addChannel({ models: ['demo-video-pro'] });
        const relayed = { type: 1, key: vendor.key, baseUrl: vendor.url, models: ['draw-x'], taskPluginKey: undefined };
        await engine.addChannel(relayed);
        for (const model of ['demo-video-pro', 'draw-x'])
          await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.01' });
        const caller = await addCaller(store);
        const { taskId } = await submit(engine, caller);
        const follow = { isPreferred: true, goesOn: () => {} };
        const client = { ...jsonRequest({ model: 'draw-x', prompt: 'a boat' }), path: '/v1/images/generations' };
        const draw = () => engine.relay.create(caller, { kind: 'image', requestId: 'r', client, headers: {}, follow });
        expect((await draw()).status).toBe(200);
        await until('another model may serve the task', async () => {
          const [line] = await store.waiting.classes();
          const wanted = { class: line?.class ?? '', nodes: [''], waitedMs: 0, skip: 0, limit: 1 };
          return (await store.waiting.fallingBack(wanted)).length === 1;
        });
        const looked = looks;
        await until('the dispatcher has looked twice', () => looks > looked + 1);
        expect(await store.tasks.byTaskId(taskId)).toMatchObject({ properties: { originModelName: 'demo-video' } });
        await store.nodes.remove(id);
        await until(async () => (await store.tasks.byTaskId(taskId))?.properties.originModelName === 'demo-video-pro');
        expect((await draw()).status).toBe(202);
      } finally {
        await engine.stop();
        await vendor.stop();
      }
    });

    test('one stops in the middle: the limit holds, and every task is sent once', async () => {
      const { store, openAnother } = opened();
      const near = await start(store);
      const far = await start(await openAnother());
      try {
        await Promise.all([near.start(), far.start()]);
        await near.addChannel({ limits: { maxRunning: 5 } });
        await Bun.sleep(500);
        const submitted = await submitAll(store, [near, far]);
        await Bun.sleep(1000);
        await far.stopTasks(0);
        await expectAllDone(store, submitted);
        // The channel is at the vendor of the first.
        expect(await near.vendorCounts()).toMatchObject({ creates: USERS * OF_EACH, full: 0 });
        expect((await near.vendorCounts()).most_running).toBeLessThanOrEqual(5);
      } finally {
        await Promise.all([near.stop(), far.stop()]);
      }
    });
  },
  { fresh: 'test', databases: ['postgres'] },
);
