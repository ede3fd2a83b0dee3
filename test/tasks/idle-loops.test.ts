/** The loops that look for due work, while nothing is due. */
import { afterAll, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';
import { addCaller, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

describeEachStore('idle loops', (opened) => {
  test('the only node sleeps two seconds, and still polls a task that comes meanwhile when it is due', async () => {
    const { store } = opened();
    const sleeps: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        sleeps.push(ms);
        return systemClock.sleep(ms, signal);
      },
    };
    const engine = await startEngine(store, sandbox, { pollIntervalMs: 60_000, clock });
    await engine.addChannel();
    const caller = await addCaller(store);
    await engine.tasks.start();
    // Polls and notices. Of several nodes each looks every second.
    const loops = store.dialect === 'sqlite' ? 2 : 0;
    const countLong = () => sleeps.filter((ms) => ms > 1500 && ms <= 2500).length;
    await until(() => countLong() >= loops);
    const request = jsonRequest({ model: 'demo-video', prompt: 'a [duration=6000]', seconds: 5 });
    const { taskId } = await engine.tasks.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
    const dueAtMs = (await store.tasks.byTaskId(taskId))?.nextPollAtMs ?? Number.NaN;
    await until(async () => ((await store.tasks.byTaskId(taskId))?.polls ?? 0) > 0);
    expect(Date.now() - dueAtMs).toBeLessThan(1500);
    await engine.stop();
  });
});
