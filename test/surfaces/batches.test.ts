/** Batches: each request is sent once, on one node and on two, whatever dies in between. */
import { afterAll, expect, test } from 'bun:test';
import {
  AppError,
  createSecretBox,
  type Json,
  type JsonObject,
  randomBase64,
  silentLogger,
  systemClock,
} from '../../src/kernel/index.ts';
import { eraseUsersStep } from '../../src/operations/index.ts';
import { exportUser } from '../../src/reports/export-user.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { itemKey } from '../../src/surfaces/batches/batch-items.ts';
import { readBatch, readBatchLines } from '../../src/surfaces/batches/read-batch.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { addCaller, type Engine, HELD, jsonRequest, readBalance, startEngine, WAITING } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const countNothing = async () => async () => {};
const noFile = async (): Promise<string> => {
  throw new Error('no file is read');
};

const video = (prompt: string, change: object = {}) => ({
  plugin: 'demo',
  body: { model: 'demo-video', prompt: `${prompt} [duration=0.2]`, seconds: 5, ...change },
});

const isKeyed = (batch: object | Json): batch is { value: Json; idempotencyKey: string } =>
  typeof batch === 'object' && batch !== null && 'idempotencyKey' in batch;

type Caller = Awaited<ReturnType<typeof addCaller>>;

async function create(engine: Engine, caller: Caller, batch: Json | { value: Json; idempotencyKey: string }) {
  const { value, idempotencyKey } = isKeyed(batch) ? batch : { value: batch, idempotencyKey: null };
  const read = await readBatch(value, noFile);
  const request = { ...jsonRequest(value), path: '/v1/batches', idempotencyKey };
  return engine.batches.create(caller, { requestId: 'request', request, batch: read });
}

const read = (engine: Engine, caller: Caller, id: string) => engine.batches.read(caller.user.id, id);

const ended = (engine: Engine, caller: Caller, id: string) =>
  until(async () => {
    const batch = await read(engine, caller, id);
    return !['validating', 'in_progress', 'cancelling'].includes(batch.status) && batch;
  });

async function withEngines(stores: readonly Store[], work: (...engines: Engine[]) => Promise<void>): Promise<void> {
  const engines = await Promise.all(
    stores.map((store) => startEngine(store, sandbox, { waiting: () => WAITING, pollIntervalMs: 20 })),
  );
  try {
    for (const engine of engines) await engine.start();
    await work(...engines);
    const [store] = stores;
    expect(await store?.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    for (const engine of engines) await engine.batches.stop();
    for (const engine of engines) await engine.stop();
  }
}

describeEachStore('batches that run', (opened) => {
  test('all requests become tasks once, on two nodes, after one died while it was sending', async () => {
    const { store, openAnother } = opened();
    const stores = store.dialect === 'postgres' ? [store, await openAnother()] : [store];
    await withEngines(stores, async (first, second = first) => {
      await first.addChannel();
      const caller = await addCaller(store);
      const requests = [...Array.from({ length: 12 }, (_, i) => video(`cat ${i}`)), video('bad', { model: 'unknown' })];
      const { batch, replayed } = await create(first, caller, { value: { requests }, idempotencyKey: 'key' });
      expect([batch.status, batch.request_counts, replayed]).toEqual([
        'in_progress',
        { total: 13, completed: 0, failed: 0 },
        false,
      ]);
      const again = await create(first, caller, { value: { requests }, idempotencyKey: 'key' });
      expect([again.replayed, again.batch.id]).toEqual([true, batch.id]);

      // A node sent these and died before it noted what came of them.
      const unsent = await store.batches.unsent(batch.id, 3);
      for (const item of unsent) {
        await store.batches.begin(item, Math.floor(Date.now() / 1000));
        const options = { idempotencyKey: itemKey(item) };
        await first.surfaces.submitBody(caller, {
          requestId: 'r',
          pluginKey: 'demo',
          body: item.body as JsonObject,
          options,
        });
      }
      for (const engine of new Set([first, second])) engine.batches.start(countNothing);
      const end = await ended(first, caller, batch.id);
      expect([end.status, end.request_counts]).toEqual(['completed', { total: 13, completed: 12, failed: 1 }]);
      const tasks = end.items.map(({ task_id }) => task_id);
      expect(new Set(tasks).size).toBe(13);
      expect(end.items[12]).toMatchObject({ status: 'failed', task_id: null, error: { code: 'model_not_found' } });
      expect(
        (await first.vendorCounts()).creates + (second === first ? 0 : (await second.vendorCounts()).creates),
      ).toBe(12);
      // Nothing of the requests is left in the batch.
      expect(await store.batches.unsent(batch.id, 20)).toEqual([]);

      const lines = await Array.fromAsync(await first.batches.fileContent(caller.user.id, end.output_file_id ?? ''));
      expect(lines.map((line) => JSON.parse(line))).toHaveLength(12);
      const [failure] = await Array.fromAsync(await first.batches.fileContent(caller.user.id, end.error_file_id ?? ''));
      expect(JSON.parse(failure ?? '')).toMatchObject({ custom_id: 'request-13', response: null });
      const stranger = await addCaller(store);
      for (const foreign of [
        () => read(first, stranger, batch.id),
        () => first.batches.cancel(stranger.user.id, batch.id),
        () => first.batches.fileContent(stranger.user.id, end.output_file_id ?? ''),
      ])
        expect(await foreign().catch((error) => error.kind)).toBe('not_found');
    });
  });
});

describeEachStore(
  'batches that are held back',
  (opened) => {
    test('all or none: one request that would be refused, or too low a balance, and nothing is sent', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        engine.batches.start(countNothing);
        const caller = await addCaller(store);
        const bad = [video('a'), { url: '/v1/videos', body: { model: 'unknown', prompt: 'b' } }, video('c')];
        const { batch } = await create(engine, caller, { requests: bad, all_or_none: true });
        expect(batch.status).toBe('validating');
        const end = await ended(engine, caller, batch.id);
        expect([end.status, end.items.map(({ status }) => status)]).toEqual([
          'failed',
          ['cancelled', 'failed', 'cancelled'],
        ]);
        expect(end.errors?.data[0]?.code).toBe('batch_refused');

        const poor = await addCaller(store, 120_000);
        const dear = { requests: [video('a'), video('b'), video('c')], all_or_none: true };
        const { batch: refused } = await create(engine, poor, dear);
        expect((await ended(engine, poor, refused.id)).status).toBe('failed');
        expect((await engine.vendorCounts()).creates).toBe(0);
        expect(await readBalance(store, poor.user.id)).toBe(120_000);
        const { batch: paid } = await create(engine, caller, dear);
        expect((await ended(engine, caller, paid.id)).request_counts.completed).toBe(3);
      });
    });

    test('all or none: a budget that does not cover all requests, and nothing is sent', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        engine.batches.start(countNothing);
        const caller = await addCaller(store);
        const requests = [video('a'), video('b'), video('c')];
        const limit = (amount: number) =>
          store.apiKeys.update(caller.key.id, caller.user.id, { budget: { amount, period: 'day' } });
        await limit(120_000);
        const { batch: refused } = await create(engine, caller, { requests, all_or_none: true });
        const end = await ended(engine, caller, refused.id);
        expect([end.status, end.errors?.data[0]?.code]).toEqual(['failed', 'batch_refused']);
        expect((await engine.vendorCounts()).creates).toBe(0);
        await limit(500_000);
        const { batch: paid } = await create(engine, caller, { requests, all_or_none: true });
        expect((await ended(engine, caller, paid.id)).request_counts.completed).toBe(3);
      });
    });

    test('double charge: a batch that may be stored is answered, or advises no repeat', async () => {
      const { store } = opened();
      const trouble = { losesCommit: false, cannotCount: false };
      const fail = async (): Promise<never> => {
        throw new AppError('store.outcome_unknown', 'unavailable', { message: 'lost' });
      };
      const lossy = new Proxy(store, {
        get(target, name) {
          if (name === 'transaction' && trouble.losesCommit)
            return (work: Parameters<Store['transaction']>[0]) => target.transaction(work).then(fail);
          if (name === 'batches' && trouble.cannotCount) return { ...target.batches, counts: fail };
          return Reflect.get(target, name);
        },
      });
      await withEngines([lossy], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const order = { requests: [video('a')] };
        trouble.losesCommit = true;
        const { batch } = await create(engine, caller, order);
        trouble.losesCommit = false;
        expect((await read(engine, caller, batch.id)).request_counts.total).toBe(1);
        trouble.cannotCount = true;
        const failed = await create(engine, caller, order).catch((error) => error);
        trouble.cannotCount = false;
        expect(failed).toMatchObject({ code: 'store.outcome_unknown', shouldRetry: false });
        // Both batches are due: the runners of other tests would send them.
        await store.apiKeys.update(caller.key.id, caller.user.id, { expiresAt: 1 });
      });
    });

    test('all or none holds for a batch whose node died after it had refused one request', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const { batch } = await create(engine, caller, { requests: [video('a'), video('b')], all_or_none: true });
        const refusal = { status: 'failed' as const, taskId: null, error: { code: 'tasks.x', message: 'Refused.' } };
        await store.batches.endItem({ batchId: batch.id, position: 0 }, refusal as never);
        engine.batches.start(countNothing);
        const end = await ended(engine, caller, batch.id);
        expect([end.status, end.items.map(({ status }) => status)]).toEqual(['failed', ['failed', 'cancelled']]);
        expect((await engine.vendorCounts()).creates).toBe(0);
      });
    });

    test('a batch that is cancelled while it is being sent sends nothing more', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const requests = Array.from({ length: 12 }, (_, i) => video(`cat ${i}`));
        const { batch } = await create(engine, caller, { requests });
        let asked = 0;
        engine.batches.start(async () => {
          asked += 1;
          if (asked === 1) await engine.batches.cancel(caller.user.id, batch.id);
          return async () => {};
        });
        const end = await ended(engine, caller, batch.id);
        expect(end.status).toBe('cancelled');
        // Those beside the first may have been on their way.
        expect((await engine.vendorCounts()).creates).toBeLessThan(4);
      });
    });

    test('an API key that has expired since pays for nothing more of its batch', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const { batch } = await create(engine, caller, { requests: [video('a')] });
        const expiresAt = Math.floor(Date.now() / 1000) - 1;
        await store.apiKeys.update(caller.key.id, caller.user.id, { expiresAt });
        engine.batches.start(countNothing);
        const end = await ended(engine, caller, batch.id);
        expect([end.status, end.items[0]?.status, end.errors?.data[0]?.code]).toEqual([
          ...['failed', 'cancelled', 'caller_disabled'],
        ]);
        expect((await engine.vendorCounts()).creates).toBe(0);
      });
    });

    test('a request that is tried again has counted for the limits of its owner before', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const { batch } = await create(engine, caller, { requests: [video('a'), video('b')] });
        // It was counted, and then refused for now.
        await store.batches.begin({ batchId: batch.id, position: 0 }, Math.floor(Date.now() / 1000));
        const tries: boolean[] = [];
        engine.batches.start(async (_, isRepeat) => {
          tries.push(isRepeat);
          return async () => {};
        });
        await ended(engine, caller, batch.id);
        expect(tries.toSorted()).toEqual([false, true]);
      });
    });

    test('a batch waits politely, is cancelled with what waits, and ends when its key is disabled', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        engine.batches.start(countNothing);
        const caller = await addCaller(store);
        const slow = Array.from({ length: 30 }, (_, i) => video(`cat ${i}`, { prompt: `${i} ${HELD}` }));
        const { batch } = await create(engine, caller, { requests: slow });
        // One runs, and no more than twenty wait.
        await until(async () => (await store.batches.waitingTasks(batch.id)).length >= 20);
        const { items } = await read(engine, caller, batch.id);
        expect(items.filter(({ task_id }) => task_id !== null).length).toBeLessThanOrEqual(25);
        await engine.batches.cancel(caller.user.id, batch.id);
        await until(async () => (await store.batches.waitingTasks(batch.id)).length === 0);
        expect(await engine.batches.cancel(caller.user.id, batch.id).catch((error) => error.code)).toBe(
          'tasks.batch_ended',
        );
        engine.finishJobs();
        const end = await ended(engine, caller, batch.id);
        expect([end.status, end.request_counts.completed]).toEqual(['cancelled', 1]);

        const { batch: other } = await create(engine, caller, { requests: [video('a')] });
        await store.apiKeys.update(caller.key.id, caller.user.id, { status: 2 });
        expect(['failed', 'completed']).toContain((await ended(engine, caller, other.id)).status);
      });
    });
  },
  { databases: RULE_DATABASES },
);

describeEachStore(
  'what a batch leaves',
  (opened) => {
    test('one webhook and none of its tasks; a key that stores nothing leaves no file; an account leaves nothing', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        engine.batches.start(countNothing);
        const plain = await addCaller(store);
        const address = { webhookUrl: 'https://hooks.example/all', storeRequests: false };
        await store.apiKeys.update(plain.key.id, plain.user.id, address);
        const sealed = createSecretBox(['crypto-secret-of-the-tests']).seal(`whsec_${randomBase64(32)}`);
        const secret = { present: null, sealed, formers: [] };
        const key = (await store.apiKeys.rotateWebhookSecret(plain.key.id, plain.user.id, secret)) ?? plain.key;
        const caller = { ...plain, key };
        const line = JSON.stringify({ custom_id: 'a', url: '/v1/videos', body: video('a').body });
        const file = await engine.batches.addFile(caller.user.id, { filename: 'a.jsonl', content: `${line}\n` });
        const value = { input_file_id: file.id, endpoint: '/v1/videos' };
        const input = await readBatch(value, (id) => engine.batches.inputText(caller.user.id, id));
        const { batch } = await engine.batches.create(caller, {
          requestId: 'r',
          request: jsonRequest(value),
          batch: input,
        });
        const end = await ended(engine, caller, batch.id);
        const page = { page: 1, pageSize: 5 };
        const notices = (await store.webhooks.listOfTask(batch.id, page)).items;
        expect(notices.map(({ event, payload }) => [event, (payload.data as JsonObject).status])).toEqual([
          ['batch.finished', 'completed'],
        ]);
        expect((await store.webhooks.listOfTask(end.items[0]?.task_id ?? '', page)).items).toEqual([]);
        expect(await store.batches.files(caller.user.id)).toEqual([]);

        const said = (await Array.fromAsync(exportUser({ store }, caller.user.id, 1))).join('');
        expect(said).toContain(batch.id);
        const erase = eraseUsersStep({ store, clock: systemClock, logger: silentLogger }, caller.user.id);
        while ((await erase.run(10)).walked > 0);
        expect(await store.batches.byId(batch.id)).toBeUndefined();
        expect((await store.webhooks.listOfTask(batch.id, page)).items).toEqual([]);
      });
    });

    test('a file whose time is over is not found, also before the clean-up deletes it', async () => {
      const { store } = opened();
      await withEngines([store], async ({ batches }) => {
        const userId = (await addCaller(store)).user.id;
        const [fileId, expiresAt] = ['file-over', systemClock.unix()];
        const file = { fileId, userId, filename: 'a.jsonl', bytes: 2, content: '{}', createdAt: 1, expiresAt };
        expect(await store.batches.addFile(file, { files: 9, bytes: 99 })).toBe(true);
        const gone = { code: 'tasks.batch_file_not_found' };
        for (const ask of [batches.file, batches.fileContent, batches.inputText])
          await expect(ask(userId, fileId)).rejects.toMatchObject(gone);
        expect((await batches.files(userId, { limit: 10, order: 'desc' })).data).toEqual([]);
      });
    });

    test('a database that is put back from a copy sends nothing more of a batch', async () => {
      const { store } = opened();
      await withEngines([store], async (engine) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const { batch } = await create(engine, caller, { requests: [video('a'), video('b')] });
        await store.batches.begin({ batchId: batch.id, position: 0 }, Math.floor(Date.now() / 1000));
        await store.backups.invalidateState(Math.floor(Date.now() / 1000));
        engine.batches.start(countNothing);
        const end = await ended(engine, caller, batch.id);
        expect(end.items.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
        expect((await engine.vendorCounts()).creates).toBe(0);
      });
    });
  },
  { databases: RULE_DATABASES },
);

describeEachStore('batches of another day', (opened) => {
  test('what was not sent within a day never is, and so after a clock that was set back', async () => {
    const { store } = opened();
    await withEngines([store], async (engine) => {
      await engine.addChannel();
      const caller = await addCaller(store);
      const now = Math.floor(Date.now() / 1000);
      const requests = [video('a'), video('b')];
      const ids: string[] = [];
      for (const away of [-2 * 86_400, 2 * 86_400]) {
        const batchId = `batch_${away > 0 ? 'ahead' : 'behind'}${store.dialect}`;
        const read = await readBatch({ requests }, noFile);
        const { items, ...given } = read;
        const times = { createdAt: now + away, startedAt: now + away, expiresAt: now + away + 86_400 };
        const owner = { userId: caller.user.id, apiKeyId: caller.key.id, callbackUrl: null, requestId: 'r' };
        const batch = { ...given, ...owner, ...times, batchId, status: 'in_progress' as const, total: 2 };
        await store.batches.insert(batch, items, 20);
        // A process was sending it then, and nobody knows any more what came of it.
        await store.batches.begin({ batchId, position: 0 }, now + away);
        ids.push(batchId);
      }
      engine.batches.start(countNothing);
      for (const id of ids) {
        const end = await ended(engine, caller, id);
        expect([end.status, end.items.map(({ status }) => status)]).toEqual(['expired', ['expired', 'expired']]);
      }
      expect((await engine.vendorCounts()).creates).toBe(0);
    });
  });

  test('what a node sent before it was down for a day is found as the task that it became', async () => {
    const { store } = opened();
    await withEngines([store], async (engine) => {
      await engine.addChannel();
      const caller = await addCaller(store);
      const { plugin: pluginKey, body } = video('a');
      const { taskId } = await engine.surfaces.submitBody(caller, { requestId: 'r', pluginKey, body, options: {} });
      const begun = Math.floor(Date.now() / 1000) - 90_000;
      const batchId = `batch_down${store.dialect}`;
      const { items, ...given } = await readBatch({ requests: [video('a')] }, noFile);
      const times = { createdAt: begun, startedAt: begun, expiresAt: begun + 86_400 };
      const owner = { userId: caller.user.id, apiKeyId: caller.key.id, callbackUrl: null, requestId: 'r' };
      const status = 'in_progress' as const;
      await store.batches.insert({ ...given, ...owner, ...times, batchId, status, total: 1 }, items, 20);
      const item = { batchId, position: 0 };
      await store.batches.begin(item, begun);
      const taken = { userId: caller.user.id, key: itemKey(item), requestHash: 'v2.x', taskId };
      await store.idempotency.take({ ...taken, expiresAt: begun + 86_400, at: begun });
      engine.batches.start(countNothing);
      const end = await ended(engine, caller, batchId);
      expect([end.items[0]?.task_id, end.request_counts.completed]).toEqual([taskId, 1]);
    });
  });
});

test('a batch is read as a list, as lines and as OpenAI writes it; each fault names its place', async () => {
  const line = (change: object = {}) =>
    JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/videos', body: { model: 'm', prompt: 'p' }, ...change });
  const batch = await readBatch(
    { input_file_id: 'file-1', endpoint: '/v1/videos', completion_window: '24h', metadata: { a: 'b' } },
    async (id) => `${line()}\n\n${line({ custom_id: id })}\n`,
  );
  expect(batch).toMatchObject({
    endpoint: '/v1/videos',
    inputFileId: 'file-1',
    allOrNone: false,
    metadata: { a: 'b' },
  });
  expect(batch.items.map(({ customId, path }) => [customId, path])).toEqual([
    ['a', '/v1/videos'],
    ['file-1', '/v1/videos'],
  ]);
  expect(readBatchLines(JSON.stringify(video('x'))).items[0]?.path).toBe('/v1/tasks/demo');

  const refused: [Json, string][] = [
    [{}, 'requests'],
    [{ requests: [] }, 'at least one'],
    [{ requests: Array.from({ length: 1001 }, () => video('a')) }, '1,000'],
    [{ requests: [{ body: { model: 'm' } }] }, 'requests[0]'],
    [{ requests: [{ plugin: '../x', body: { model: 'm' } }] }, 'requests[0]'],
    [{ requests: [{ url: '/v1/chat/completions', body: { model: 'm' } }] }, 'requests[0]'],
    [{ requests: [{ plugin: 'demo', body: {} }] }, 'body.model'],
    [
      {
        requests: [
          { ...video('a'), custom_id: 'x' },
          { ...video('b'), custom_id: 'x' },
        ],
      },
      'requests[1]',
    ],
    [{ requests: [video('a')], metadata: { a: 1 } }, 'metadata'],
    [{ requests: [video('a')], all_or_none: 'yes' }, 'all_or_none'],
    [{ input_file_id: 'f' }, 'endpoint'],
    [{ input_file_id: 'f', endpoint: '/v1/responses' }, 'endpoint'],
    [{ requests: [video('a')], completion_window: '1h' }, 'completion_window'],
    // As large as one that comes alone may be, and no larger.
    [{ requests: [video('a', { list: Array.from({ length: 20_001 }, () => 0) })] }, '20,000'],
  ];
  for (const [value, word] of refused) {
    const said = await readBatch(value, async () => '').catch((error) => `${error.code} ${error.message}`);
    expect(String(said)).toStartWith('tasks.batch_invalid');
    expect(String(said)).toContain(word);
  }
  expect(() => readBatchLines(`${line()}\nnot json`)).toThrow('line 2');
  // A file of nothing but line feeds is refused before it is taken apart.
  expect(() => readBatchLines('\n'.repeat(3000))).toThrow('2,000');
});
