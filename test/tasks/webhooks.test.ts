/** Notices of tasks, from the transition to the receiver, on real parts. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSecretBox, randomBase64, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import type { ApiKeyRecord, Store } from '../../src/store/ports/index.ts';
import { type Caller, type ClientRequest, taskNotice } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { type Receiver, readSignatures, startReceiver, verified } from '../support/webhook-receiver.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

const secretBox = createSecretBox(['crypto-secret-of-the-tests']);
const newSecret = () => `whsec_${randomBase64(32)}`;

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeWebhooks = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  let receiver: Receiver;
  let caller: Caller;
  let secret: string;

  /** Creates a secret for the caller's key, as the panel does. */
  async function giveSecret(formerUntil = systemClock.unix() + 60): Promise<string> {
    const made = newSecret();
    const { key, user } = caller as Caller & { key: ApiKeyRecord };
    const { webhookSecretSealed: present, webhookFormers } = (await store.apiKeys.byId(key.id)) as ApiKeyRecord;
    const replaced = present === null ? [] : [{ sealed: present, until: formerUntil }];
    const rotation = { present, sealed: secretBox.seal(made), formers: [...replaced, ...webhookFormers] };
    const rotated = await store.apiKeys.rotateWebhookSecret(key.id, user.id, rotation);
    caller = { ...caller, key: rotated ?? null };
    return made;
  }
  const submit = (prompt: string, callbackUrl: string | null = receiver.url) => {
    const request: ClientRequest = { ...jsonRequest({ model: 'demo-video', prompt, seconds: 5 }), callbackUrl };
    return engine.surfaces.submitGeneric(caller, { requestId: 'req-1', pluginKey: 'demo', request });
  };
  const of = (taskId: string) => receiver.received.filter(({ payload }) => payload.data.task_id === taskId);
  const finished = (taskId: string) => until(() => of(taskId).some(({ payload }) => payload.type === 'task.finished'));

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    await engine.addChannel();
    await engine.webhooks.start();
    await engine.start();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await engine.webhooks.stop(1000);
    await engine.stop();
    await receiver.stop();
  });
  beforeEach(async () => {
    caller = await addCaller(store);
    secret = await giveSecret();
    receiver.answer((_, response) => void response.writeHead(204).end());
  });

  test('each change sends a signed notice; the last one has the task object that clients read', async () => {
    const { taskId } = await submit('a cat [duration=3600]');
    await until(() => of(taskId).length > 0);
    engine.finishJobs();
    const done = await ended(store, taskId);
    await finished(taskId);
    const notices = of(taskId);
    expect(notices.length).toBeGreaterThanOrEqual(2);
    const changes = notices.slice(0, -1).map(({ payload }) => payload);
    for (const { type, data } of changes) {
      expect([type, data.id]).toEqual(['task.updated', taskId]);
      expect(data.status).toMatch(/^(SUBMITTED|QUEUED|IN_PROGRESS)$/);
    }
    const last = notices.at(-1);
    expect(last?.payload).toEqual({
      type: 'task.finished',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: taskNotice(done),
      artifacts: [expect.objectContaining({ key: 'video', type: 'video', content_url: expect.any(String) })],
    });
    expect(done.status).toBe('SUCCESS');
    expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length);
    for (const one of notices) {
      expect(one.id).toMatch(/^msg_[A-Za-z0-9]{27}$/);
      expect(verified(one, secret)).toBe(1);
      expect(verified({ ...one, body: one.body.replace('task_', 'task-') }, secret)).toBe(0);
      expect(verified(one, newSecret())).toBe(0);
      expect(one.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'taskgate' });
    }
    // Private columns are not sent.
    for (const { payload } of notices)
      expect(JSON.stringify(payload.data)).not.toMatch(/upstream|callback|token=|lease|channel/);
  });

  test('a task whose result is kept sends one more notice, with the digest of the file; another sends none', async () => {
    engine.keeping.keep = 'asked';
    const url = receiver.url;
    const request = { ...jsonRequest({ model: 'demo-video', prompt: 'a cat [duration=0]' }), callbackUrl: url };
    const keepResult = 'true';
    const { taskId } = await engine.surfaces.submitGeneric(caller, {
      ...{ requestId: 'req-1', pluginKey: 'demo', request: { ...request, keepResult } },
    });
    const other = await submit('a dog [duration=0]');
    engine.finishJobs();
    const keptFor = (id: string) => of(id).filter(({ payload }) => payload.type === 'task.artifacts_kept');
    const [notice] = await until('the notice arrives', () => keptFor(taskId).length > 0 && keptFor(taskId));
    engine.keeping.keep = 'off';
    if (!notice) return expect.unreachable();
    expect([verified(notice, secret), notice.id]).toEqual([1, expect.stringMatching(/^msg_[A-Za-z0-9]{27}$/)]);
    const { data, artifacts } = notice.payload;
    const task = await ended(store, taskId);
    expect(data).toEqual(taskNotice(task));
    const { artifacts: listed } = await engine.results.artifacts(task);
    expect(artifacts).toEqual(JSON.parse(JSON.stringify(listed)));
    const client = { method: 'GET' as const, headers: {}, signal: new AbortController().signal, requestId: 'r' };
    const { body } = await engine.results.content(task, { key: 'video' }, client);
    const bytes = await new Response(body as never).bytes();
    expect(artifacts).toMatchObject([{ kept: 'kept', bytes: bytes.length, sha256: sha256Hex(bytes) }]);
    await finished(other.taskId);
    expect([keptFor(taskId).length, keptFor(other.taskId).length]).toEqual([1, 0]);
    const { items } = await store.webhooks.listOfTask(taskId, { page: 1, pageSize: 10 });
    // Links are made at each attempt; what is stored has none.
    for (const { payload } of items) expect(JSON.stringify(payload)).not.toContain('access=');
  });

  test('a notice whose artifacts cannot be listed is sent without them', async () => {
    receiver.answer((_, response) => void response.writeHead(500).end());
    const { taskId } = await submit('a cat [duration=0]');
    await finished(taskId);
    expect(of(taskId).at(-1)?.payload.artifacts).toHaveLength(1);
    await store.tasks.hide(await ended(store, taskId));
    receiver.answer((_, response) => void response.writeHead(204).end());
    const notice = of(taskId).at(-1);
    await until('the attempt is noted', async () =>
      engine.webhooks.redeliver(taskId, null, notice?.id ?? '').then(
        () => true,
        () => false,
      ),
    );
    await until('it arrives again', () => of(taskId).filter(({ id }) => id === notice?.id).length > 1);
    expect(of(taskId).at(-1)?.payload).toEqual({
      ...{ type: 'task.finished', timestamp: notice?.payload.timestamp, data: notice?.payload.data },
    });
  });

  test('a failed task and a submission that the vendor refuses send task.finished', async () => {
    const { taskId } = await submit('a cat [fail] [duration=0]');
    await finished(taskId);
    expect(of(taskId).at(-1)?.payload.data).toMatchObject({ status: 'FAILURE', progress: '100%' });

    await expect(submit('a cat [submit=400]')).rejects.toMatchObject({ kind: 'invalid' });
    const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 });
    await finished(items[0]?.taskId ?? '');
    expect(of(items[0]?.taskId ?? '').map(({ payload }) => payload.type)).toEqual(['task.finished']);
  });

  test('after rotations every secret verifies, until a former one expires', async () => {
    const second = await giveSecret();
    const { taskId } = await submit('a cat [duration=0]');
    await finished(taskId);
    for (const one of of(taskId)) {
      expect(readSignatures(one.headers)).toHaveLength(2);
      expect([verified(one, secret), verified(one, second)]).toEqual([1, 1]);
    }
    const third = await giveSecret(systemClock.unix() - 1);
    const later = await submit('a cat [duration=0]');
    await finished(later.taskId);
    for (const one of of(later.taskId)) {
      // The first one has its own expiry, which has not passed.
      expect(readSignatures(one.headers)).toHaveLength(2);
      expect([secret, second, third].map((known) => verified(one, known))).toEqual([1, 0, 1]);
    }
  });

  test("the key's own address is the default, and the header overrides it", async () => {
    const { key, user } = caller as Caller & { key: ApiKeyRecord };
    const webhookUrl = `${receiver.url}&default`;
    caller = { ...caller, key: (await store.apiKeys.update(key.id, user.id, { webhookUrl })) ?? null };
    expect((await submit('a cat [duration=0]', null)).callbackUrl).toBe(webhookUrl);
    expect((await submit('a cat [duration=0]')).callbackUrl).toBe(receiver.url);
  });

  test('without either no notice is written', async () => {
    const { taskId } = await submit('a cat [duration=0]', null);
    await ended(store, taskId);
    expect(await store.webhooks.listOfTask(taskId, { page: 1, pageSize: 10 })).toEqual({
      total: 0,
      hasMore: false,
      items: [],
    });
  });

  describe('refused before anything is sent or paid', () => {
    const refusedAs = async (url: string, code: string, message: RegExp) => {
      const before = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 });
      await expect(submit('a cat', url)).rejects.toMatchObject({
        code,
        kind: 'invalid',
        param: 'X-Callback-Url',
        message: expect.stringMatching(message),
      });
      expect(await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 })).toEqual(before);
    };

    test('an address that is not allowed', async () => {
      await refusedAs('https://192.168.0.1/', 'tasks.callback_url_invalid', /X-Callback-Url header.*private/);
      await refusedAs('http://hooks.example/', 'tasks.callback_url_invalid', /https/);
      await refusedAs('', 'tasks.callback_url_invalid', /absolute https URL/);
    });

    test('a key without a secret and one with an unreadable secret: the error says what to do', async () => {
      const fresh = await addCaller(store);
      caller = fresh;
      const route = new RegExp(`POST /api/token/${fresh.key.id}/webhook-secret`);
      await refusedAs(receiver.url, 'tasks.webhook_secret_required', route);
      const foreign = createSecretBox(['another-crypto-secret']).seal(newSecret());
      caller = { ...caller, key: { ...fresh.key, webhookSecretSealed: foreign } };
      await refusedAs(receiver.url, 'tasks.webhook_secret_required', /can no longer be decrypted/);
    });
  });

  test('a notice that the receiver refused is sent again on request, under the same id', async () => {
    receiver.answer((_, response) => void response.writeHead(410).end());
    const { taskId } = await submit('a cat [duration=0]');
    await ended(store, taskId);
    const page = { page: 1, pageSize: 10 };
    const list = (userId: number | null) => engine.webhooks.list(taskId, userId, page);
    await until(async () => {
      const [latest] = (await list(null)).items;
      return latest?.event === 'task.finished' && latest.status === 'failed';
    });
    const [notice] = (await list(caller.user.id)).items;
    expect(notice).toMatchObject({ event: 'task.finished', attempts: 1, deliveries: [{ httpStatus: 410, error: '' }] });
    const eventId = notice?.eventId ?? '';

    const stranger = caller.user.id + 1;
    await expect(list(stranger)).rejects.toMatchObject({ code: 'tasks.task_not_found' });
    const { redeliver } = engine.webhooks;
    await expect(redeliver(taskId, stranger, eventId)).rejects.toMatchObject({ code: 'tasks.task_not_found' });
    await expect(redeliver(taskId, null, 'msg_unknown')).rejects.toMatchObject({ code: 'tasks.webhook_not_found' });

    receiver.answer((_, response) => void response.writeHead(200).end('thanks'));
    await redeliver(taskId, caller.user.id, eventId);
    await until(async () => (await list(null)).items[0]?.status === 'delivered');
    const twice = receiver.received.filter(({ id }) => id === eventId);
    expect(twice).toHaveLength(2);
    expect(twice[0]?.body).toBe(twice[1]?.body ?? '');
    expect((await list(null)).items[0]?.deliveries.map(({ httpStatus }) => httpStatus)).toEqual([410, 200]);

    await store.apiKeys.delete(caller.key?.id ?? 0, caller.user.id);
    await expect(redeliver(taskId, null, eventId)).rejects.toMatchObject({ code: 'tasks.webhook_unsigned' });
  });
};

// A nested suite, so that the engine stops before its store is closed.
describeEachStore(
  'webhooks',
  (opened) => {
    describe('of tasks', () => describeWebhooks(opened));
  },
  { databases: RULE_DATABASES },
);
