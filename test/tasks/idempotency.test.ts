/**
 * Idempotency-Key: a client repeats a submission after any failure and never buys it twice.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { AppError, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import type { Repositories, Store } from '../../src/store/ports/index.ts';
import { type Caller, type ClientRequest, runIdempotently } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore, readLease } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { changeSealedKey } from '../support/accounts.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  jsonRequest,
  newestTask,
  readBalance,
  startEngine,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const KEY = '4f3c2a10-order of today/1';
const BODY = { model: 'demo-video', prompt: 'a [duration=0.3]', seconds: 5 };

const request = (key: string | null, change: Partial<ClientRequest> = {}, body: object = BODY): ClientRequest => ({
  ...jsonRequest(body as never),
  idempotencyKey: key,
  ...change,
});

test('a key that is reported as released and is not ends in an error, not in an endless loop', async () => {
  let requestHash = '';
  const deps = {
    clock: systemClock,
    store: { idempotency: { find: async () => (requestHash ? { taskId: 'task_1', requestHash } : undefined) } },
  } as unknown as Parameters<typeof runIdempotently>[0];
  const run = (repeat: () => Promise<string | undefined>) =>
    runIdempotently(
      deps,
      { caller: { user: { id: 1 } } as Caller, request: request(KEY) },
      {
        repeat,
        async first(idempotency) {
          requestHash = idempotency?.requestHash ?? '';
          return 'first';
        },
      },
    );
  expect(await run(async () => undefined)).toBe('first');
  expect(run(async () => undefined)).rejects.toThrow('task_1');
});

const describeKeys = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  let vendor: ReturnType<typeof Bun.serve>;
  /** The vendor's answer to a submission; the demo vendor's own if it returns none. */
  let onOrder: (() => Promise<Response | undefined>) | undefined;
  let orders = 0;

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox, { tickMs: 50 });
    vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      async fetch(asked) {
        const url = new URL(asked.url);
        if (asked.method === 'POST') {
          orders += 1;
          const own = await onOrder?.();
          if (own) return own;
        }
        return fetch(`${engine.vendorUrl}${url.pathname}${url.search}`, {
          method: asked.method,
          headers: asked.headers,
          ...(asked.method === 'POST' ? { body: await asked.text() } : {}),
        });
      },
    });
    await engine.addChannel({ baseUrl: vendor.url.origin });
    await engine.start();
  });
  afterEach(() => {
    onOrder = undefined;
    orders = 0;
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop(true);
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const submit = (caller: Caller, client: ClientRequest, on = engine) =>
    on.surfaces.submitGeneric(caller, { requestId: 'request', pluginKey: 'demo', request: client });
  const refused = async (sent: Promise<unknown>): Promise<AppError> => {
    const error = await sent.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AppError)) throw new Error(`expected a refusal, got ${String(error)}`);
    return error;
  };

  test('the same key and body return the same task, at once and later', async () => {
    const caller = await addCaller(store);
    const first = await submit(caller, request(KEY));
    const again = await submit(caller, request(KEY));
    await ended(store, first.taskId);
    const late = await submit(caller, request(KEY));
    expect([first.replayed, again.replayed, late.replayed]).toEqual([false, true, true]);
    expect([again.taskId, late.taskId]).toEqual([first.taskId, first.taskId]);
    expect(late.status).toBe('SUCCESS');
    expect(orders).toBe(1);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
  });

  test('requests without a key, with another key or of another user are separate', async () => {
    const [caller, other] = [await addCaller(store), await addCaller(store)];
    const submissions = [
      await submit(caller, request(KEY)),
      await submit(caller, request(`${KEY}2`)),
      await submit(caller, request(null)),
      await submit(caller, jsonRequest(BODY)),
      await submit(other, request(KEY)),
    ];
    expect(new Set(submissions.map(({ taskId }) => taskId)).size).toBe(5);
    expect(submissions.some(({ replayed }) => replayed)).toBe(false);
  });

  const others: [what: string, change: Partial<ClientRequest>][] = [
    ['another body', { digests: { raw: sha256Hex('the same'), meaning: sha256Hex('another') } }],
    ['another path', { path: '/v1/videos' }],
    ['another method', { method: 'PUT' }],
    ['another query', { query: { Action: ['Submit'] } }],
    ['another kind of body', { body: { kind: 'form', fields: {} } }],
  ];
  test('a key that is reused for another request is refused', async () => {
    const caller = await addCaller(store);
    const { taskId } = await submit(caller, request(KEY));
    for (const [what, change] of others) {
      const error = await refused(submit(caller, request(KEY, change)));
      expect([what, error.code, error.kind]).toEqual([what, 'tasks.idempotency_key_reused', 'conflict']);
    }
    expect((await submit(caller, request(KEY))).taskId).toBe(taskId);
    expect(orders).toBe(1);
  });

  test('the bytes of a repeat may differ if it means the same', async () => {
    const caller = await addCaller(store);
    const [one, other] = [
      { a: ['1'], b: ['2', '3'] },
      { b: ['2', '3'], a: ['1'] },
    ];
    const { meaning = '' } = request(KEY).digests ?? {};
    const { taskId } = await submit(caller, request(KEY, { query: one }));
    const again = await submit(caller, request(KEY, { query: other, digests: { raw: 'other bytes', meaning } }));
    expect([again.taskId, again.replayed, orders]).toEqual([taskId, true, 1]);
  });

  test('a row of an earlier release answers the same bytes only', async () => {
    const caller = await addCaller(store);
    const { taskId } = await submit(caller, request(null));
    const { method, path, query, digests } = request(KEY);
    const requestHash = sha256Hex(JSON.stringify([method, path, query, digests?.raw]));
    const at = Math.floor(Date.now() / 1000);
    await store.idempotency.take({ userId: caller.user.id, key: KEY, requestHash, taskId, at, expiresAt: at + 60 });
    expect((await submit(caller, request(KEY))).taskId).toBe(taskId);
    const others = request(KEY, { digests: { raw: 'other bytes', meaning: digests?.meaning ?? '' } });
    const error = await refused(submit(caller, others));
    // A repeat cannot help: SDKs repeat a 409 otherwise.
    expect([error.code, error.shouldRetry, orders]).toEqual(['tasks.idempotency_key_reused', false, 1]);
  });

  test.each([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['letters beyond ASCII', 'clé'],
    ['a control character', 'a\tb'],
  ])('a key of %s is refused, and nothing submitted', async (_, key) => {
    const error = await refused(submit(await addCaller(store), request(key)));
    expect([error.code, error.kind]).toEqual(['tasks.invalid_idempotency_key', 'invalid']);
    expect(orders).toBe(0);
  });

  test('a key of 255 characters is accepted', async () => {
    const caller = await addCaller(store);
    const key = '~'.repeat(255);
    const { taskId } = await submit(caller, request(key));
    expect((await submit(caller, request(key))).taskId).toBe(taskId);
  });

  test('a request that is refused before its task exists leaves the key free', async () => {
    const caller = await addCaller(store, billFor(4));
    const unknown = { ...BODY, model: 'nobody-serves-this' };
    expect((await refused(submit(caller, request(KEY, {}, unknown)))).code).not.toContain('idempotency');
    expect((await refused(submit(caller, request(KEY)))).code).toBe('billing.insufficient_quota');
    expect(await store.idempotency.find(caller.user.id, KEY, 0)).toBeUndefined();
    const affordable = { ...BODY, seconds: 4 };
    expect((await submit(caller, request(KEY, {}, affordable))).replayed).toBe(false);
  });

  test('a repeat of a refused request gets the same error, and the vendor is asked once', async () => {
    const caller = await addCaller(store);
    onOrder = async () => Response.json({ error: { message: 'this prompt is not allowed' } }, { status: 422 });
    const first = await refused(submit(caller, request(KEY)));
    onOrder = undefined;
    const again = await refused(submit(caller, request(KEY)));
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again).toMatchObject({ code: first.code, kind: first.kind, message: first.message });
    expect(again.message).toContain('this prompt is not allowed');
    expect(orders).toBe(1);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
  });

  const busy: [what: string, answer: () => Response, code: string][] = [
    ['429', () => new Response('{}', { status: 429, headers: { 'retry-after': '1' } }), 'tasks.vendor_busy'],
    ['401', () => new Response('{}', { status: 401 }), 'tasks.vendor_failed'],
  ];
  test.each(busy)(
    'a request that the vendor did not process (%s) leaves the key free for a new attempt',
    async (_, answer, code) => {
      const caller = await addCaller(store);
      onOrder = async () => answer();
      const error = await refused(submit(caller, request(KEY)));
      expect([error.code, error.shouldRetry]).toEqual([code, undefined]);
      expect(await store.idempotency.find(caller.user.id, KEY, 0)).toBeUndefined();
      onOrder = undefined;
      const next = await submit(caller, request(KEY));
      expect([next.replayed, orders]).toEqual([false, 2]);
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
    },
  );

  test('an unknown outcome on one channel keeps the key, whatever a later channel answers', async () => {
    const caller = await addCaller(store);
    const [first, second] = [
      Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}', { status: 503 }) }),
      Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}', { status: 429 }) }),
    ];
    const added = [
      await engine.addChannel({ priority: 9, baseUrl: first.url.origin, settings: { retry_on_5xx: true } }),
      await engine.addChannel({ priority: 8, baseUrl: second.url.origin }),
    ];
    onOrder = async () => new Response('{}', { status: 429 });
    const busyNow = await refused(submit(caller, request(KEY)));
    expect([busyNow.code, busyNow.shouldRetry]).toEqual(['tasks.vendor_busy', false]);
    for (const id of added) await engine.channels.delete(id);
    onOrder = undefined;
    const again = await refused(submit(caller, request(KEY)));
    expect([again.code, again.replayed, orders]).toEqual(['tasks.vendor_busy', true, 1]);
    await Promise.all([first.stop(true), second.stop(true)]);
  });

  test('a channel whose key cannot be read is skipped', async () => {
    const caller = await addCaller(store);
    const lost = await engine.addChannel({ priority: 9 });
    await changeSealedKey(store, lost, 'sealed by a secret that is gone');
    // Reads it again.
    await engine.channels.update(lost, { name: 'lost' }, { mayMoveKey: true });
    expect((await submit(caller, request(KEY))).status).toBe('SUBMITTED');
    expect(orders).toBe(1);
    await engine.channels.delete(lost);
  });

  test('after a lost acknowledgement of the task’s insert the request continues and is sent once', async () => {
    const caller = await addCaller(store);
    let trouble: 'lost' | 'failed' | undefined;
    const unknown = () => new AppError('store.outcome_unknown', 'unavailable', { message: 'nobody knows' });
    const node = await startEngine(
      {
        ...store,
        async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
          const now = trouble;
          trouble = undefined;
          if (now === 'failed') throw unknown();
          const value = await store.transaction(work);
          if (now === 'lost') throw unknown();
          return value;
        },
      },
      sandbox,
    );
    trouble = 'lost';
    const first = await submit(caller, request(KEY), node);
    const again = await submit(caller, request(KEY), node);
    expect([first.replayed, again.replayed, again.taskId, orders]).toEqual([false, true, first.taskId, 1]);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
    // A commit that did not happen is not assumed.
    trouble = 'failed';
    expect((await refused(submit(caller, request('other'), node))).code).toBe('store.outcome_unknown');
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
    await node.stop();
  });

  test('a 2xx answer that cannot be parsed is not bought again', async () => {
    const caller = await addCaller(store);
    onOrder = async () => new Response('<html>');
    expect((await refused(submit(caller, request(KEY)))).shouldRetry).toBe(false);
    const again = await refused(submit(caller, request(KEY)));
    expect([again.shouldRetry, again.replayed, orders]).toEqual([false, true, 1]);
  });

  test('a repeat waits for the first request and gets its task', async () => {
    const caller = await addCaller(store);
    const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
    onOrder = () => answered;
    const first = submit(caller, request(KEY));
    await until('the vendor has the order', () => orders === 1);
    let waiting = true;
    const again = submit(caller, request(KEY)).finally(() => {
      waiting = false;
    });
    expect((await refused(submit(caller, request(KEY, { digests: { raw: '', meaning: 'another' } })))).code).toContain(
      'reused',
    );
    expect(waiting).toBe(true);
    answer(undefined);
    expect((await again).taskId).toBe((await first).taskId);
    expect(orders).toBe(1);
  });

  test('a repeat that waited as long as a submission may take is asked to retry', async () => {
    const caller = await addCaller(store);
    const patient = await startEngine(store, sandbox, { submitTimeoutMs: 100 });
    const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
    onOrder = () => answered;
    const first = submit(caller, request(KEY));
    await until('the vendor has the order', () => orders === 1);
    const error = await refused(submit(caller, request(KEY), patient));
    expect([error.code, error.kind]).toEqual(['tasks.idempotency_in_progress', 'conflict']);
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
    const leaving = new AbortController();
    const left = refused(submit(caller, request(KEY, { signal: leaving.signal })));
    leaving.abort();
    expect((await left).code).toBe('tasks.idempotency_in_progress');
    answer(undefined);
    await first;
    await patient.stop();
  });

  test('a submission whose process died is ended, and its repeats get that error', async () => {
    const caller = await addCaller(store);
    const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
    onOrder = () => answered;
    const first = refused(submit(caller, request(KEY)));
    await until('the vendor has the order', () => orders === 1);
    const open = await newestTask(store, caller.user.id);
    // This process lives, and would renew what the dead one has left.
    const dying = setInterval(() => void store.tasks.renew(readLease(open), -1), 200);
    const error = await refused(submit(caller, request(KEY)));
    clearInterval(dying);
    expect(error).toMatchObject({ code: 'tasks.submission_interrupted', shouldRetry: false, replayed: true });
    answer(undefined);
    expect((await first).code).toBe('tasks.submission_interrupted');
    expect(orders).toBe(1);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
  });

  test('after 24 hours the key is free again', async () => {
    const caller = await addCaller(store);
    const { taskId } = await submit(caller, request(KEY));
    const now = Math.floor(Date.now() / 1000);
    const day = 24 * 3600;
    const record = await store.idempotency.find(caller.user.id, KEY, now + day - 60);
    expect(record?.taskId).toBe(taskId);
    expect(await store.idempotency.find(caller.user.id, KEY, now + day + 60)).toBeUndefined();
    await store.idempotency.deleteExpired(now + day + 60, 1000);
    const next = await submit(caller, request(KEY));
    expect([next.replayed, next.taskId === taskId]).toEqual([false, false]);
  });

  test('50 concurrent requests on two nodes: one task, one bill, one submission', async () => {
    const caller = await addCaller(store);
    const other = await startEngine(await opened().openAnother(), sandbox, { tickMs: 50 });
    const sent = await Promise.all(
      Array.from({ length: 50 }, (_, i) => submit(caller, request(KEY), i % 2 === 0 ? engine : other)),
    );
    expect(new Set(sent.map(({ taskId }) => taskId)).size).toBe(1);
    expect(sent.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(orders).toBe(1);
    await ended(store, sent[0]?.taskId ?? '');
    expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(1);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
    await other.stop();
  });
};

describeEachStore(
  'Idempotency-Key',
  (opened) => {
    describe('submissions', () => describeKeys(opened));
  },
  { databases: RULE_DATABASES },
);
