import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type ServerResponse } from 'node:http';
import type { ChannelInput } from '../../src/channels/index.ts';
import { type Clock, type JsonObject, systemClock } from '../../src/kernel/index.ts';
import { createAccountRequestLimits } from '../../src/relay/limit-account-requests.ts';
import type { RelayAnswer } from '../../src/relay/types.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { Caller } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  type Engine,
  jsonRequest,
  NO_WAITING,
  readBalance,
  startEngine,
} from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const WAIT_MS = 7_000_000;

const describePlaces = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  let relayed: Partial<ChannelInput> = {};
  /** The requests that the vendor holds open, by the text of the client. */
  const open = new Map<string, ServerResponse>();
  const arrived: string[] = [];
  let mostOpen = 0;
  /** Those who wait for a slot; each ends its wait. */
  const waits = new Set<() => void>();

  const clock: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      if (ms <= WAIT_MS - 60_000 || ms > WAIT_MS) return systemClock.sleep(ms, signal);
      await new Promise<void>((resolve) => {
        waits.add(resolve);
        signal?.addEventListener('abort', () => {
          waits.delete(resolve);
          resolve();
        });
      });
    },
  };

  const server = createServer(async (incoming, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const { user, stream } = JSON.parse(Buffer.concat(chunks).toString()) as { user: string; stream?: boolean };
    arrived.push(user);
    open.set(user, response);
    mostOpen = Math.max(mostOpen, open.size);
    response.on('close', () => open.delete(user));
    if (!stream) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
  });

  function answer(user: string, status = 200): void {
    const response = open.get(user);
    open.delete(user);
    response?.writeHead(status, { 'content-type': 'application/json' });
    response?.end('{"choices":[]}');
  }

  beforeAll(async () => {
    store = opened().store;
    const waiting = () => ({ ...NO_WAITING, maxWaitMs: 3_600_000 });
    const limits = { relayWaitMs: WAIT_MS, tickMs: 20, waiting };
    engine = await startEngine(store, sandbox, { ...limits, clock });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const channel = { type: 1, key: 'key', baseUrl: `http://127.0.0.1:${port}`, taskPluginKey: undefined };
    relayed = channel;
    await engine.addChannel({ ...channel, models: ['two'], limits: { maxRunning: 2 } });
    await engine.addChannel({ ...channel, models: ['one', 'pair'], priority: 9, limits: { maxRunning: 1 } });
    await engine.addChannel({ ...channel, models: ['pair'] });
    for (const model of ['two', 'one', 'pair', 'shared'])
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.04' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const create = (caller: Caller, value: { model: string; user: string; stream?: boolean }, signal?: AbortSignal) =>
    engine.relay.create(caller, {
      kind: 'chat',
      requestId: value.user,
      client: { ...jsonRequest({ messages: [], ...value } as JsonObject), ...(signal ? { signal } : {}) },
      headers: {},
    });
  const isSent = (user: string) => until(`${user} is at the vendor`, () => arrived.includes(user));
  const waiting = (count: number) => until(`${count} wait`, () => waits.size === count);
  const spent = async ({ user }: Caller) => BALANCE - (await readBalance(store, user.id));
  const refusal = (answered: Promise<RelayAnswer>) =>
    answered.then(
      () => undefined,
      ({ code, retryAfterSeconds }: { code: string; retryAfterSeconds?: number }) => ({ code, retryAfterSeconds }),
    );

  test('a third request waits, and users take turns', async () => {
    const [a, b] = [await addCaller(store), await addCaller(store)];
    const answers: Promise<RelayAnswer>[] = [];
    for (const user of ['a1', 'a2', 'a3', 'b1', 'b2']) {
      answers.push(create(user.startsWith('a') ? a : b, { model: 'two', user }));
      if (answers.length <= 2) await isSent(user);
      else await waiting(answers.length - 2);
    }
    expect(await spent(b)).toBe(0);
    const inTurn = ['a1', 'a2', 'b1', 'a3', 'b2'];
    for (const [index, user] of inTurn.entries()) {
      await isSent(user);
      const next = inTurn[index + 2];
      answer(user);
      if (next) await isSent(next);
    }
    await Promise.all(answers);
    expect(arrived).toEqual(inTurn);
    expect(mostOpen).toBe(2);
  });

  test('requests of a user wait for their own limit, and nobody else for them', async () => {
    const [caller, other] = [await addCaller(store), await addCaller(store)];
    const limited = { ...caller, user: { ...caller.user, maxRunning: 1 } };
    const first = create(limited, { model: 'two', user: 'm1' });
    await isSent('m1');
    const second = create(limited, { model: 'two', user: 'm2' });
    await waiting(1);
    const free = create(other, { model: 'two', user: 'm3' });
    await isSent('m3');
    expect(arrived).not.toContain('m2');
    answer('m1');
    await isSent('m2');
    const third = create(limited, { model: 'two', user: 'm4' });
    await waiting(1);
    for (const end of waits) end();
    waits.clear();
    expect(await refusal(third)).toEqual({ code: 'tasks.concurrency_limit', retryAfterSeconds: 5 });
    for (const user of ['m2', 'm3']) answer(user);
    await Promise.all([first, second, free]);
    expect(await spent(limited)).toBe(2 * 20_000);
    // All slots were given back.
    const last = create(limited, { model: 'two', user: 'm5' });
    await isSent('m5');
    answer('m5');
    expect((await last).status).toBe(200);
  });

  test('a stream holds its slot until it ends or its client leaves', async () => {
    const caller = await addCaller(store);
    const first = await create(caller, { model: 'one', user: 's1', stream: true });
    const second = create(caller, { model: 'one', user: 's2', stream: true });
    await waiting(1);
    expect(arrived).not.toContain('s2');
    open.get('s1')?.end('data: [DONE]\n\n');
    await new Response(first.body as ReadableStream<Uint8Array>).text();
    await isSent('s2');
    const third = create(caller, { model: 'one', user: 's3' });
    await waiting(1);
    await ((await second).body as ReadableStream<Uint8Array>).cancel();
    await isSent('s3');
    answer('s3');
    expect((await third).status).toBe(200);
  });

  for (const [name, end] of [
    ['the vendor refuses it', () => answer('f1', 400)],
    ['the connection breaks', () => open.get('f1')?.destroy()],
    ['the vendor is full itself', () => answer('f1', 429)],
  ] as const) {
    test(`a slot is free again when ${name}`, async () => {
      arrived.length = 0;
      const caller = await addCaller(store);
      const first = create(caller, { model: 'one', user: 'f1' }).catch(() => undefined);
      await isSent('f1');
      const second = create(caller, { model: 'one', user: 'f2' });
      await waiting(1);
      end();
      await first;
      await isSent('f2');
      answer('f2');
      expect((await second).status).toBe(200);
    });
  }

  test('tasks and relayed requests of one pool share what is declared', async () => {
    const caller = await addCaller(store);
    const task = () =>
      engine.surfaces.submitGeneric(caller, {
        ...{ requestId: 'task', pluginKey: 'demo' },
        request: jsonRequest({ model: 'demo-video', prompt: 'a [duration=600]', seconds: 5 }),
      });
    await engine.addChannel({ name: 'tasks', pool: 'shared', limits: { maxRunning: 2 } });
    await engine.addChannel({ ...relayed, models: ['shared'], pool: 'shared' });
    const running = await task();
    expect(running.phase).toBe('sending');
    const first = create(caller, { model: 'shared', user: 't1' });
    await isSent('t1');
    const second = create(caller, { model: 'shared', user: 't2' });
    await waiting(1);
    const line = await task();
    expect(line.phase).toBe('waiting');
    await engine.tasks.cancel(caller.user.id, line.taskId);
    answer('t1');
    await Promise.all([first, isSent('t2')]);
    const next = await task();
    expect(next.phase).toBe('waiting');
    answer('t2');
    await second;
    await until('the task that waited is sent', async () => {
      const { phase } = (await store.tasks.byTaskId(next.taskId)) ?? next;
      return phase === 'sending';
    });
  });

  test('a slot is free again when money is short', async () => {
    const poor = await addCaller(store, 1);
    for (const user of ['p1', 'p2'])
      expect((await refusal(create(poor, { model: 'one', user })))?.code).toContain('insufficient');
  });

  test('a request that waits too long gets 429, and one whose client leaves is dropped; nothing is billed', async () => {
    arrived.length = 0;
    const [holder, caller] = [await addCaller(store), await addCaller(store)];
    const held = create(holder, { model: 'one', user: 'h1' });
    await isSent('h1');
    const late = refusal(create(caller, { model: 'one', user: 'late' }));
    await waiting(1);
    for (const end of waits) end();
    waits.clear();
    expect(await late).toEqual({ code: 'tasks.queue_full', retryAfterSeconds: 5 });
    const client = new AbortController();
    const gone = refusal(create(caller, { model: 'one', user: 'gone' }, client.signal));
    await waiting(1);
    client.abort();
    expect((await gone)?.code).toBe('tasks.client_left');
    answer('h1');
    await held;
    expect(arrived).toEqual(['h1']);
    expect(await spent(caller)).toBe(0);
  });

  test('a channel of the model that has room serves before a better one that is full', async () => {
    const caller = await addCaller(store);
    const held = create(caller, { model: 'one', user: 'n1' });
    await isSent('n1');
    const other = create(caller, { model: 'pair', user: 'n2' });
    await isSent('n2');
    answer('n2');
    answer('n1');
    expect([(await other).status, (await held).status]).toEqual([200, 200]);
  });
};

describeEachStore(
  'relayed requests within a declared limit',
  (opened) => {
    // A nested suite, so that the engine stops before its store closes.
    describe('between clients and vendors', () => describePlaces(opened));
  },
  { databases: RULE_DATABASES },
);

test('a limit of one model holds nobody else back, and without a wait the answer comes at once', async () => {
  const limits: Record<string, number> = { '': 3, narrow: 1 };
  const held: string[] = [];
  const capacity: Parameters<typeof createAccountRequestLimits>[0]['capacity'] = {
    freeRelaySlots({ model }) {
      const own = held.filter((other) => other === model).length;
      return Math.min((limits[''] ?? 3) - held.length, (limits[model] ?? 3) - own);
    },
    beginRelay({ model }) {
      held.push(model);
      return () => void held.splice(held.indexOf(model), 1);
    },
    onSlotsFreed: () => () => {},
  };
  const slots = createAccountRequestLimits({ clock: systemClock, capacity });
  const enter = (model: string) =>
    slots.enter(
      { owner: 'user:1', scope: { channelId: 1, credentialId: 1, pool: 'p', model } },
      { waitMs: 0, signal: undefined },
    );
  const narrow = await enter('narrow');
  expect(await enter('narrow')).toBeUndefined();
  expect(await enter('wide')).toBeDefined();
  expect(await enter('wide')).toBeDefined();
  expect(await enter('wide')).toBeUndefined();
  narrow?.();
  // Twice given back is one slot.
  narrow?.();
  expect(await enter('wide')).toBeDefined();
  expect(await enter('wide')).toBeUndefined();
  limits[''] = 4;
  expect(await enter('narrow')).toBeDefined();
});
