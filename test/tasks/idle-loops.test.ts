/** The loops that look for due work, while nothing is due. */
import { afterAll, expect, test } from 'bun:test';
import { type Clock, createSecretBox, randomBase64, systemClock } from '../../src/kernel/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { FAR_MS } from '../support/far-limits.ts';
import { testInFullRun } from '../support/full-run.ts';
import { until } from '../support/until.ts';
import { startReceiver } from '../support/webhook-receiver.ts';
import { addCaller, ended, jsonRequest, startEngine } from './harness.ts';

const secretBox = createSecretBox(['crypto-secret-of-the-tests']);
const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** Records how long loops sleep. */
function countingClock() {
  const sleeps: number[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      sleeps.push(ms);
      return systemClock.sleep(ms, signal);
    },
  };
  return { clock, countLong: () => sleeps.filter((ms) => ms > 9000 && ms <= 15_100).length };
}

/** A busy machine is late too, but not for as long as a loop that sleeps on. */
const AWAKE_MS = 8000;

describeEachStore('idle loops', (opened) => {
  testInFullRun(
    'the only node sleeps for 15 seconds, and what it writes in the meantime is polled and told on time',
    async () => {
      const { store } = opened();
      const { clock, countLong } = countingClock();
      const engine = await startEngine(store, sandbox, { pollIntervalMs: 60_000, clock });
      await engine.addChannel();
      const receiver = await startReceiver();
      const caller = await addCaller(store);
      const key = await store.apiKeys.rotateWebhookSecret(caller.key.id, caller.user.id, {
        ...{ present: null, sealed: secretBox.seal(`whsec_${randomBase64(32)}`), formers: [] },
      });
      await engine.webhooks.start();
      await engine.start();
      // Polls, interrupted submissions and relayed requests, renewals, notices and results. With
      // several nodes, each looks every second.
      if (store.dialect === 'sqlite') await until(() => countLong() >= 5);
      const submission = jsonRequest({ model: 'demo-video', prompt: 'a [duration=6000]', seconds: 5 });
      const { taskId } = await engine.surfaces.submitGeneric(
        { ...caller, key: key ?? null },
        { requestId: 'r', pluginKey: 'demo', request: { ...submission, callbackUrl: receiver.url } },
      );
      const toldAtMs = performance.now();
      await until(() => receiver.received.length > 0);
      expect(performance.now() - toldAtMs).toBeLessThan(AWAKE_MS);
      const dueAtMs = (await store.tasks.byTaskId(taskId))?.nextPollAtMs ?? Number.NaN;
      await until(async () => ((await store.tasks.byTaskId(taskId))?.polls ?? 0) > 0);
      expect(Date.now() - dueAtMs).toBeLessThan(AWAKE_MS);
      await engine.webhooks.stop(1000);
      await engine.stop();
      await receiver.stop();
    },
  );

  test('a poll that failed is repeated when it is due, not when the sleep of the loop ends', async () => {
    const { store } = opened();
    // The only node's loop sleeps for 15 seconds, which never end here.
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => systemClock.sleep(ms > 9000 ? 10 * FAR_MS : ms, signal),
    };
    const engine = await startEngine(store, sandbox, { pollIntervalMs: 500, pollMaxFailures: 3, clock });
    await engine.addChannel();
    const caller = await addCaller(store);
    await engine.start();
    const request = jsonRequest({ model: 'demo-video', prompt: 'a [500=always] [delay=0.4]', seconds: 5 });
    const { taskId } = await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
    const { failReason } = await ended(store, taskId);
    expect(failReason).toStartWith('poll failed');
    await engine.stop();
  });
});
