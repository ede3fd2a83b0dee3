/** What webhook notices carry of a task's artifacts, and when they go without. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  AppError,
  createSecretBox,
  type ErrorKind,
  randomBase64,
  silentLogger,
  systemClock,
} from '../../src/kernel/index.ts';
import { createAttachArtifacts } from '../../src/notifications/attach-artifacts.ts';
import type { ApiKeyRecord, Store, WebhookRecord } from '../../src/store/ports/index.ts';
import type { Caller } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';
import { addCaller, type Engine, jsonRequest, startEngine } from '../tasks/harness.ts';

const secretBox = createSecretBox(['crypto-secret-of-the-tests']);
const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeAttachments = (opened: () => OpenedStore) => {
  let engine: Engine;
  let receiver: Receiver;
  let caller: Caller;
  let address = 'http://gateway.example';
  /** Holds the lists of results until it is called. */
  let release: (() => void) | undefined;
  beforeAll(async () => {
    const { store } = opened();
    const slow: Store = {
      ...store,
      results: {
        ...store.results,
        async ofTasks(ids) {
          if (release) await new Promise<void>((resolve) => (release = resolve));
          return store.results.ofTasks(ids);
        },
      },
    };
    engine = await startEngine(slow, sandbox, { publicAddress: () => address });
    await engine.addChannel();
    await engine.webhooks.start();
    await engine.start();
    receiver = await startReceiver();
    const added = await addCaller(store);
    const sealed = secretBox.seal(`whsec_${randomBase64(32)}`);
    const rotation = { present: null, sealed, formers: [] };
    const { key, user } = added as Caller & { key: ApiKeyRecord };
    caller = { ...added, key: (await store.apiKeys.rotateWebhookSecret(key.id, user.id, rotation)) ?? null };
  });
  afterAll(async () => {
    release?.();
    await engine.webhooks.stop(1000);
    await engine.stop();
    await receiver.stop();
  });

  /** The notice of a task that has just succeeded, and how long after the success it came. */
  async function readNotice(): Promise<{ payload: Record<string, unknown>; ms: number; livedMs: number }> {
    const request = { ...jsonRequest({ model: 'demo-video', prompt: 'a [duration=0]', seconds: 5 }) };
    const asked = { requestId: 'r', pluginKey: 'demo', request: { ...request, callbackUrl: receiver.url } };
    const { taskId } = await engine.surfaces.submitGeneric(caller, asked);
    engine.finishJobs();
    const startedMs = performance.now();
    const lived = startLivedTime();
    const concerns = ({ payload }: (typeof receiver.received)[number]) =>
      payload.data.task_id === taskId && payload.type === 'task.finished';
    const notice = await until('the notice arrives', () => receiver.received.find(concerns));
    return { payload: notice.payload, ms: performance.now() - startedMs, livedMs: lived.stop() };
  }

  test('a list that takes longer than four seconds is left out, and the notice is not late for it', async () => {
    release = () => {};
    const { payload, ms, livedMs } = await readNotice();
    release();
    release = undefined;
    expect(payload.artifacts).toBeUndefined();
    expect(payload.data).toMatchObject({ status: 'SUCCESS' });
    expect(ms).toBeGreaterThan(3900);
    expect(livedMs).toBeLessThan(12_000);
  });

  test('a list of more than 128 KiB is left out; one below it is sent', async () => {
    // The links are the only part whose length is free.
    address = `http://gateway.example/${'a'.repeat(127 * 1024)}`;
    expect((await readNotice()).payload.artifacts).toHaveLength(1);
    address = `http://gateway.example/${'a'.repeat(128 * 1024)}`;
    const { payload } = await readNotice();
    expect(payload.artifacts).toBeUndefined();
    expect(payload.data).toMatchObject({ status: 'SUCCESS' });
    address = 'http://gateway.example';
  });
};
describeEachStore(
  'artifacts of notices',
  (opened) => {
    describe('of tasks', () => describeAttachments(opened));
  },
  { databases: ['sqlite'] },
);

test('a list that will not come later either is asked for once, and holds up no notice', async () => {
  const asked = async (kind: ErrorKind) => {
    let times = 0;
    const attach = createAttachArtifacts({
      ...{ store: { tasks: { byTaskId: async () => ({ status: 'SUCCESS', hiddenAt: 0 }) } } as unknown as Store },
      ...{ clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms > 1000 ? ms : 0, signal) } },
      logger: silentLogger,
      listArtifacts: async () => {
        times += 1;
        throw new AppError('tasks.artifact_url_error', kind, { message: 'No list.' });
      },
    });
    const notice = { event: 'task.finished', taskId: 'task_1', payload: { data: { status: 'SUCCESS' } } };
    expect(await attach(notice as unknown as WebhookRecord, new AbortController().signal)).toEqual({});
    return times;
  };
  expect(await asked('unavailable')).toBe(4);
  for (const kind of ['internal', 'gone', 'invalid'] as const) expect(await asked(kind)).toBe(1);
});
