/** Limits of people: what a key, a user or a group may run at once, on one node and on two. */
import { afterAll, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { WaitingRules } from '../../src/tasks/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  endedByTest,
  HELD,
  jsonRequest,
  readBalance,
  startEngine,
  WAITING,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

type Caller = Awaited<ReturnType<typeof addCaller>>;

const submit = (engine: Engine, caller: Caller, prompt = 'a [duration=0.2]') =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
  });

async function withEngines(
  stores: readonly Store[],
  rules: Partial<WaitingRules>,
  work: (...engines: Engine[]) => Promise<void>,
): Promise<void> {
  const waiting = () => ({ ...WAITING, ...rules });
  const engines = await Promise.all(stores.map((store) => startEngine(store, sandbox, { waiting })));
  try {
    for (const engine of engines) await engine.start();
    await work(...engines);
    for (const store of stores.slice(0, 1))
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

const addLimited = async (store: Store, maxRunning: number): Promise<Caller> => {
  const caller = await addCaller(store);
  const user = await store.users.update(caller.user.id, { maxRunning });
  if (typeof user !== 'object') throw new Error('the user is gone');
  return { ...caller, user };
};

const readParked = async (store: Store): Promise<number> =>
  (await store.waiting.classes()).reduce((sum, { parked }) => sum + parked, 0);

describeEachStore(
  'limits of people',
  (opened) => {
    test('two nodes that submit in parallel never run more tasks of a user than the limit, and run all', async () => {
      const { store, openAnother } = opened();
      const stores = store.dialect === 'postgres' ? [store, await openAnother()] : [store];
      await withEngines(stores, {}, async (...engines) => {
        const [engine] = engines as [Engine];
        await engine.addChannel();
        const [limited, free] = [await addLimited(store, 2), await addCaller(store)];
        const tasks = await Promise.all(
          Array.from({ length: 12 }, (_, index) =>
            submit(engines[index % engines.length] as Engine, limited, `a ${HELD}`),
          ),
        );
        expect(tasks.filter(({ phase }) => phase === 'waiting').length).toBe(10);
        // Nobody else waits for that.
        expect((await ended(store, (await submit(engine, free)).taskId)).status).toBe('SUCCESS');
        expect(await readParked(store)).toBe(10);
        for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
        expect((await engine.vendorCounts()).most_running).toBeLessThanOrEqual(3);
        expect(await readBalance(store, limited.user.id)).toBe(BALANCE - 12 * billFor(5));
        expect(await store.waiting.classes()).toEqual([]);
      });
    });
  },
  { fresh: 'test' },
);

describeEachStore(
  'limits of people, on one node',
  (opened) => {
    test('the strictest of key, user and group holds, and another key of the user goes on', () =>
      withEngines([opened().store], { maxRunning: 2 }, async (engine) => {
        const { store } = opened();
        await engine.addChannel();
        const caller = await addLimited(store, 5);
        const key = { ...caller.key, maxRunning: 1 };
        await store.apiKeys.update(key.id, caller.user.id, { maxRunning: 1 });
        const slow = 'a [duration=6000]';
        expect((await submit(engine, { ...caller, key }, slow)).phase).toBe('sending');
        expect((await submit(engine, { ...caller, key }, slow)).phase).toBe('waiting');
        expect((await submit(engine, { ...caller, key: null as never }, slow)).phase).toBe('sending');
        expect((await submit(engine, { ...caller, key: null as never }, slow)).phase).toBe('waiting');
        const parked = await store.waiting.parked([caller.user.id]);
        expect(parked.map(({ apiKeyId }) => apiKeyId).sort()).toEqual([key.id, null].sort());
      }));

    test('the end of a task releases the next one, and not all that its owner has parked', () =>
      withEngines([opened().store], {}, async (engine) => {
        const { store } = opened();
        await engine.addChannel();
        const caller = await addLimited(store, 1);
        const first = await submit(engine, caller, `a ${HELD}`);
        const others: string[] = [];
        for (let count = 0; count < 30; count++) others.push((await submit(engine, caller, `a ${HELD}`)).taskId);
        expect(await readParked(store)).toBe(30);
        engine.finishJobs();
        expect((await ended(store, first.taskId)).status).toBe('SUCCESS');
        await until(async () => (await engine.vendorCounts()).creates === 2);
        expect(await readParked(store)).toBeGreaterThanOrEqual(28);
      }));

    test('tasks of another key that wait for slots do not keep those of a limited key parked', () =>
      withEngines([opened().store], {}, async (engine) => {
        const { store } = opened();
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await store.apiKeys.update(caller.key.id, caller.user.id, { maxRunning: 1 });
        const limited = { ...caller, key: { ...caller.key, maxRunning: 1 } };
        const free = { ...caller, key: null as never };
        const first = await submit(engine, limited, `a ${HELD}`);
        await submit(engine, limited, `a ${HELD}`);
        for (let count = 0; count < 2; count++) await submit(engine, free, `a ${HELD}`);
        expect(await readParked(store)).toBe(1);
        engine.finishJobs();
        expect((await ended(store, first.taskId)).status).toBe('SUCCESS');
        await until('the second task of the key is released', async () => (await readParked(store)) === 0);
        await until('one of the three that wait is sent', async () => {
          const classes = await store.waiting.classes();
          return classes.length === 1 && classes[0]?.waiting === 2;
        });
      }));

    test('a limit that is raised or taken away lets the parked tasks go, after a restart too', async () => {
      const { store } = opened();
      const caller = await addLimited(store, 1);
      let ids: string[] = [];
      await withEngines([store], {}, async (engine) => {
        await engine.addChannel();
        const slow = await Promise.all(Array.from({ length: 4 }, () => submit(engine, caller, 'a [duration=6000]')));
        ids = slow.map(({ taskId }) => taskId);
        expect(await readParked(store)).toBe(3);
        await store.users.update(caller.user.id, { maxRunning: 2 });
        await until(async () => (await readParked(store)) === 2);
      });
      await store.users.update(caller.user.id, { maxRunning: null });
      // Its vendor is gone by now: what counts is that it was sent.
      const wasSent = async (id: string) => ((await store.tasks.byTaskId(id))?.leaseSeq ?? 0) > 0;
      await withEngines([store], {}, async () => {
        for (const id of ids) await until(() => wasSent(id));
      });
      expect(await readParked(store)).toBe(0);
    });

    test('where nothing waits the client is told, with the time to wait, and nothing is stored', () =>
      withEngines([opened().store], { maxWaitMs: 0 }, async (engine) => {
        const { store } = opened();
        await engine.addChannel();
        const caller = await addLimited(store, 1);
        await submit(engine, caller, 'a [duration=6000]');
        const error = await submit(engine, caller).catch((refused: unknown) => refused);
        expect(error).toBeInstanceOf(AppError);
        expect(error).toMatchObject({ code: 'tasks.concurrency_limit', retryAfterSeconds: 5 });
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect((await engine.vendorCounts()).creates).toBe(1);
      }));

    test('a parked task can be cancelled, and its wait ends by its bound with the limit as the reason', () =>
      withEngines([opened().store], { maxWaitMs: 1500 }, async (engine) => {
        const { store } = opened();
        await engine.addChannel();
        const caller = await addLimited(store, 1);
        await submit(engine, caller, 'a [duration=6000]');
        const [first, second] = [await submit(engine, caller), await submit(engine, caller)];
        expect((await engine.tasks.cancel(caller.user.id, first.taskId)).status).toBe('FAILURE');
        const over = await ended(store, second.taskId);
        expect(over.failReason).toContain('Your own limit');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect(await store.waiting.classes()).toEqual([]);
      }));
  },
  { fresh: 'test', databases: RULE_DATABASES },
);
