/** Slots of tasks that ended while their vendors may still have run them. */
import { afterAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/kernel/index.ts';
import type { ChannelRecord, Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';
import { startSandbox } from '../plugins/support.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine, WAITING } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const LIMITS = { waiting: () => WAITING, pollMaxFailures: 2 };

type Caller = Awaited<ReturnType<typeof addCaller>>;
const submit = (engine: Engine, caller: Caller, prompt: string) =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
  });

const RUNS = 'a [duration=600]';
const FAILS_POLLS = 'a [500=always] [duration=600]';
// Not polled in the moment in which old tasks are looked for: a poll would hold it.
const OLD = 'submit_time = submit_time - 100000, next_poll_at = next_poll_at + 3000';
const LEFT = `status = 'NOT_START', upstream_task_id = '', lease_until = 0`;

describeEachStore(
  'abandoned slots',
  (opened) => {
    async function openFull(limits: Partial<Parameters<typeof startEngine>[2]> = {}) {
      const { store } = opened();
      const engine = await startEngine(store, sandbox, { ...LIMITS, ...limits });
      const channelId = await engine.addChannel({ limits: { maxRunning: 1 } });
      const channel = engine.channels.find(channelId) as ChannelRecord;
      return { store, engine, channel, caller: await addCaller(store) };
    }

    /**
     * The slot stays taken this long after the end of its task; the two are read from two clocks.
     */
    async function expectHeld(store: Store, taskId: string, seconds: number): Promise<void> {
      const { slotUntil, finishTime } = await ended(store, taskId);
      if (seconds === 0) return expect(slotUntil).toBe(0);
      expect(slotUntil).toBeGreaterThanOrEqual(finishTime + seconds);
      expect(slotUntil).toBeLessThanOrEqual(Math.floor((await store.clock.nowMs()) / 1000) + seconds);
    }

    test.each([
      ['was interrupted', RUNS, LEFT],
      ['had too many failed polls', FAILS_POLLS, ''],
      ['grew too old', RUNS, OLD],
    ])('a task that %s holds its slot, and the next waits', async (_, prompt, change) => {
      const { store, engine, caller } = await openFull();
      const { taskId } = await submit(engine, caller, prompt);
      if (change !== '') await runRaw(opened(), `update tasks set ${change} where task_id = '${taskId}'`);
      await engine.start();
      await expectHeld(store, taskId, 600);
      const next = await submit(engine, caller, 'a [instant]');
      expect(next.phase).toBe('waiting');
      expect((await engine.vendorCounts()).creates).toBe(1);
      await engine.stop();
    });

    test('a slot that is freed by hand goes to the task that waits for it', async () => {
      let laterMs = 0;
      const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
      const { store, engine, channel, caller } = await openFull({ clock });
      const { taskId } = await submit(engine, caller, RUNS);
      await runRaw(opened(), `update tasks set ${LEFT} where task_id = '${taskId}'`);
      await engine.start();
      await ended(store, taskId);
      // What was sent a moment ago is not counted in the database.
      laterMs = 10_000;
      const next = await submit(engine, caller, 'a [instant]');
      expect(next.phase).toBe('waiting');
      expect(await engine.capacity.clearAbandoned(channel)).toBe(1);
      expect((await ended(store, next.taskId)).status).toBe('SUCCESS');
      await engine.stop();
    });

    test('a task that its vendor ended or refused holds none', async () => {
      const { store, engine, caller } = await openFull();
      await engine.start();
      const failed = await submit(engine, caller, 'a [fail] [instant]');
      await expectHeld(store, failed.taskId, 0);
      await expect(submit(engine, caller, 'a [submit=400]')).rejects.toThrow();
      const next = await submit(engine, caller, 'a [instant]');
      expect(next.phase).toBe('sending');
      await expectHeld(store, next.taskId, 0);
      await engine.stop();
    });

    test.each([
      ['as long as 95 of 100 tasks of its model take', 1440, 20, 1900],
      ['at most as long as tasks may run', 25, 20, 1500],
      ['ten minutes where too few tasks have ended', 1440, 4, 600],
    ])('a slot stays taken %s', async (_, taskTimeoutMinutes, tasks, seconds) => {
      const { store, engine, caller } = await openFull({ taskTimeoutMinutes });
      for (let place = 1; place <= tasks; place++)
        await runRaw(
          opened(),
          `insert into usage_logs (task_id, user_id, kind, quota, plugin_key, model, channel_id, created_at, seconds, detail)
          values ('t${place}', ${caller.user.id}, 'settle', 0, 'demo', 'demo-video', 1, ${Math.floor(Date.now() / 1000)}, ${place * 100}, '{}')`,
        );
      const { taskId } = await submit(engine, caller, RUNS);
      await runRaw(opened(), `update tasks set ${LEFT} where task_id = '${taskId}'`);
      await engine.start();
      await expectHeld(store, taskId, seconds);
      await engine.stop();
    });
  },
  { fresh: 'test', databases: ['sqlite'] },
);
