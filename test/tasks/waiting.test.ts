/** Tasks that wait for a vendor with room: all of them run, and no client sees that it was full. */
import { afterAll, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { TaskLimits, WaitingRules } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, balanceOf, billFor, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const RULES: WaitingRules = {
  ...{ maxWaitMs: 3_600_000, maxWaiting: 100_000, maxWaitingPerUser: 1000, maxWaitingBytes: 1e9, priority: 0 },
};

type Setup = Partial<TaskLimits> & { vendorMaxRunning?: number; rules?: Partial<WaitingRules> };

async function withEngine(
  opened: OpenedStore,
  { rules = {}, ...limits }: Setup,
  work: (engine: Engine, store: Store) => Promise<void>,
): Promise<void> {
  const { store } = opened;
  const engine = await startEngine(store, sandbox, { waiting: () => ({ ...RULES, ...rules }), ...limits });
  try {
    await engine.start();
    await work(engine, store);
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    await engine.stop();
  }
}

const submit = (engine: Engine, caller: Awaited<ReturnType<typeof addCaller>>, prompt = 'a [duration=0.2]') =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
  });

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

describeEachStore(
  'waiting tasks',
  (opened) => {
    test('with a declared limit all tasks run, and the vendor sees no task beyond it', () =>
      withEngine(opened(), { vendorMaxRunning: 3 }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 3 } });
        const callers = await Promise.all(Array.from({ length: 4 }, () => addCaller(store)));
        const tasks = await Promise.all(
          Array.from({ length: 24 }, (_, index) => submit(engine, callers[index % 4] as never)),
        );
        expect(tasks.filter(({ phase }) => phase === 'waiting').length).toBeGreaterThan(15);
        for (const { taskId } of tasks) expect((await ended(store, taskId)).status).toBe('SUCCESS');
        expect(await engine.vendorCounts()).toMatchObject({ creates: 24, jobs: 24, full: 0, most_running: 3 });
        for (const { user } of callers) expect(await balanceOf(store, user.id)).toBe(BALANCE - 6 * billFor(5));
        expect(await store.waiting.classes()).toEqual([]);
      }));

    test('without a declared limit all tasks run too, and the vendor refuses few', () =>
      withEngine(opened(), { vendorMaxRunning: 3 }, async (engine, store) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const tasks = await Promise.all(Array.from({ length: 24 }, () => submit(engine, caller)));
        for (const { taskId } of tasks) expect((await ended(store, taskId)).status).toBe('SUCCESS');
        const counts = await engine.vendorCounts();
        expect(counts.jobs).toBe(24);
        expect(counts.full).toBeLessThan(8);
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE - 24 * billFor(5));
      }));

    test('a task that waits can be cancelled, and is refunded', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=60]');
        const { taskId, phase } = await submit(engine, caller);
        expect(phase).toBe('waiting');
        const cancelled = await engine.tasks.cancel(caller.user.id, taskId);
        expect(cancelled).toMatchObject({ status: 'FAILURE', failReason: 'cancelled by user' });
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect((await engine.counted({ taskId })).creates).toBe(0);
        expect(await store.waiting.classes()).toEqual([]);
      }));

    test('a wait that is over ends the task, with a refund and the reason', () =>
      withEngine(opened(), { rules: { maxWaitMs: 300 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=60]');
        const { taskId } = await submit(engine, caller);
        const task = await ended(store, taskId);
        expect(task).toMatchObject({ status: 'FAILURE', failReason: 'no capacity at the vendor within 1 minutes' });
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE - billFor(5));
      }));

    test('beyond the bounds nothing is stored and nothing reserved', () =>
      withEngine(opened(), { rules: { maxWaitingPerUser: 1 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=60]');
        await submit(engine, caller);
        expect(await code(submit(engine, caller))).toBe('tasks.queue_full');
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE - 2 * billFor(5));
        expect(await code(submit(engine, await addCaller(store)))).toBe('none');
      }));

    test('where nothing waits a declared limit answers 429', () =>
      withEngine(opened(), { rules: { maxWaitMs: 0 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=60]');
        expect(await code(submit(engine, caller))).toBe('tasks.queue_full');
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE - billFor(5));
      }));

    test('a key or user that is gone when the task would be sent ends it', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const first = await addCaller(store);
        const caller = await addCaller(store);
        await submit(engine, first, 'a [duration=0.5]');
        const { taskId } = await submit(engine, caller);
        await store.apiKeys.update(caller.user.id, caller.key.id, { status: 2 });
        const task = await ended(store, taskId);
        expect(task.execution.failure?.code).toBe('tasks.caller_disabled');
        expect(await balanceOf(store, caller.user.id)).toBe(BALANCE);
        expect((await engine.counted({ taskId })).creates).toBe(0);
      }));

    test('what waits when the process ends is sent by the next one', async () => {
      const { store } = opened();
      const before = await startEngine(store, sandbox, { waiting: () => RULES });
      await before.start();
      await before.addChannel({ limits: { maxRunning: 1 } });
      const caller = await addCaller(store);
      await submit(before, caller, 'a [duration=0.5]');
      const { taskId } = await submit(before, caller);
      await before.stopTasks(0);
      const after = await startEngine(store, sandbox, { waiting: () => RULES });
      await after.start();
      // Until its lease is over the first task keeps its slot, which the vendor of before has.
      await until('it is sent', async () => (await store.tasks.byTaskId(taskId))?.phase === 'sending', 40_000);
      await after.stop();
      await before.stop();
    });
  },
  { fresh: 'test' },
);
