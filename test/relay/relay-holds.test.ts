/**
 * Relayed requests whose reservation this node holds in memory: nothing of them is stored before
 * their end, and what one balance covers is never sold twice by one node.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../src/kernel/index.ts';
import type { RelayAnswer } from '../../src/relay/types.ts';
import { type ApiKeyRecord, type RelayKind, STATUS, type Store } from '../../src/store/ports/index.ts';
import type { Caller, ClientRequest } from '../../src/tasks/index.ts';
import { addKey, describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { type ChatVendor, startChatVendor } from '../support/chat-vendor.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** 0.04 USD for a chat of the model `flat`, whatever it uses. */
const BILL = 20_000;
const FAR_BOUND = 1000 * BILL;
const MESSAGES = [{ role: 'user', content: 'say something nice to me please' }];

const describeHolds = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  let vendor: ChatVendor;
  let bound = FAR_BOUND;
  const start = (on: Store) =>
    startEngine(on, sandbox, {
      mostHeld: () => bound,
      links: { days: 0, invalidPerMinute: 60, downloads: { node: 4096, address: 4096, artifact: 4096 } },
    });

  beforeAll(async () => {
    store = opened().store;
    engine = await start(store);
    vendor = await startChatVendor();
    const channel = { name: 'relay', type: 1, key: vendor.key, baseUrl: vendor.url, taskPluginKey: undefined };
    await engine.addChannel({ ...channel, models: ['flat', 'metered', 'free', 'embed'] });
    await engine.addChannel({ ...channel, models: ['lost'], priority: 9, baseUrl: 'http://127.0.0.1:1' });
    await engine.addChannel({ ...channel, models: ['lost'] });
    const prices = {
      ...{ flat: '0.04', lost: '0.04', free: '0', embed: '0.00002 * u("input_tokens")' },
      metered: '0.00002 * u("input_tokens") + 0.0002 * u("output_tokens")',
    };
    for (const [model, expression] of Object.entries(prices))
      await engine.billing.prices.save({ pluginKey: '*', model, expression });
  });
  beforeEach(() => {
    bound = FAR_BOUND;
    vendor.requests.length = 0;
  });
  afterEach(async () => {
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop();
  });

  type Sent = JsonObject & { kind?: RelayKind; key?: string };
  const create = (caller: Caller, { kind = 'chat', key, ...body }: Sent, on = engine): Promise<RelayAnswer> => {
    const value = { model: 'flat', messages: MESSAGES, ...body };
    const client: ClientRequest = { ...jsonRequest(value), ...(key ? { idempotencyKey: key } : {}) };
    return on.relay.create(caller, { kind, requestId: 'request', client, headers: {} });
  };
  /** Begins a stream that goes on at `release`, and returns what reads it to its end. */
  async function openStream(caller: Caller, body: Sent = {}, on = engine): Promise<() => Promise<string>> {
    const answer = await create(caller, { ...body, stream: true, user: 'slow' }, on);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let seen = '';
    while (!seen.includes('Grüße')) seen += decoder.decode((await reader.read()).value);
    return async () => {
      for (let step = await reader.read(); !step.done; step = await reader.read()) seen += decoder.decode(step.value);
      return seen;
    };
  }
  const balance = ({ user }: Pick<Caller, 'user'>) => readBalance(store, user.id);
  const spent = async (caller: Pick<Caller, 'user'>) => BALANCE - (await balance(caller));
  const usage = async ({ user }: Pick<Caller, 'user'>) =>
    (await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 100 })).items;
  /** Lines of requests, without the grant of the balance. */
  const lines = async ({ user }: Pick<Caller, 'user'>) =>
    (await store.ledger.list(user.id, { page: 1, pageSize: 100 })).items
      .filter(({ taskId }) => taskId !== null)
      .map(({ kind, amount }) => [kind, amount] as const)
      .reverse();
  const billed = (caller: Pick<Caller, 'user'>, count = 1) =>
    until('the bills are stored', async () => (await usage(caller)).length === count);

  for (const model of ['flat', 'metered']) {
    test(`a stream of a ${model} price is stored and billed at its end alone, by one reservation`, async () => {
      const caller = await addCaller(store);
      const readOn = await openStream(caller, { model });
      expect([await spent(caller), await lines(caller), await usage(caller)]).toEqual([0, [], []]);
      vendor.release();
      expect(await readOn()).toContain('[DONE]');
      await billed(caller);
      const [row, ...more] = await usage(caller);
      expect(more).toEqual([]);
      expect(row).toMatchObject({ kind: 'settle', model, pluginKey: '*' });
      const relay = await store.relays.byRelayId(row?.taskId ?? '');
      const quota = row?.quota ?? 0;
      expect(relay).toMatchObject({ status: 'BILLED', kind: 'chat', httpStatus: 200, quota, requestId: 'request' });
      expect(quota).toBeGreaterThan(0);
      expect(await spent(caller)).toBe(quota);
      const written = await lines(caller);
      expect(written.map(([kind]) => kind)).toEqual(model === 'flat' ? ['reserve'] : ['reserve', 'settle']);
      expect(await store.users.byId(caller.user.id)).toMatchObject({ usedQuota: quota, requestCount: 1 });
      expect(await store.relays.interrupted(10)).toEqual([]);
    });
  }

  test('whole answers and embeddings are billed once, and what is free is stored too', async () => {
    const caller = await addCaller(store);
    for (const sent of [
      {},
      { model: 'metered' },
      { model: 'free' },
      { kind: 'embedding', model: 'embed', input: 'a b' },
    ])
      expect((await create(caller, sent as Sent)).status).toBe(200);
    await billed(caller, 4);
    const rows = await usage(caller);
    expect(rows.map(({ model }) => model).sort()).toEqual(['embed', 'flat', 'free', 'metered']);
    expect(await spent(caller)).toBe(rows.reduce((sum, { quota }) => sum + quota, 0));
    for (const { taskId } of rows) expect((await store.relays.byRelayId(taskId))?.status).toBe('BILLED');
  });

  test('a request that failed leaves the trace that it leaves without a hold', async () => {
    const trace = async (most: number) => {
      bound = most;
      const caller = await addCaller(store);
      for (const user of ['500', '400']) await create(caller, { user });
      const rows = await usage(caller);
      expect(await spent(caller)).toBe(0);
      return {
        ledger: await lines(caller),
        usage: rows.map(({ kind, quota, model, detail }) => ({ kind, quota, model, detail })),
        relays: await Promise.all(
          rows.map(async ({ taskId }) => {
            const relay = await store.relays.byRelayId(taskId);
            return (
              relay && {
                status: relay.status,
                httpStatus: relay.httpStatus,
                quota: relay.quota,
                billing: relay.billing,
              }
            );
          }),
        ),
      };
    };
    const [held, stored] = [await trace(FAR_BOUND), await trace(0)];
    expect(held).toEqual(stored);
    expect(held.relays).toMatchObject([
      { status: 'REFUNDED', httpStatus: 400 },
      { status: 'REFUNDED', httpStatus: 500 },
    ]);
  });

  type Poor = { balance?: number; key?: Partial<ApiKeyRecord>; own?: boolean };
  const total = { amount: BILL, period: 'total' } as const;
  const covers: [requests: number, name: string, Poor][] = [
    [1000, 'a balance', { balance: BILL }],
    [100, 'the quota of a key', { key: { unlimitedQuota: false, quota: BILL } }],
    [100, 'the budget of a key', { key: { budget: total } }],
    [100, 'the budget of a user', { own: true }],
  ];
  async function addPoor({ balance: left = BALANCE, key = {}, own = false }: Poor): Promise<Caller> {
    const caller = await addCaller(store, left);
    if (own) await store.users.update(caller.user.id, { budget: total });
    return { ...caller, key: await addKey(store, caller.user.id, key) };
  }
  const readCode = (request: Promise<RelayAnswer>): Promise<string> =>
    request.then(
      ({ status }) => String(status),
      (error: { code?: string }) => error.code ?? String(error),
    );

  for (const [requests, name, poor] of covers) {
    test(`overdraft: a customer opens ${requests} requests at once on ${name} for one, and one reaches the vendor`, async () => {
      const caller = await addPoor(poor);
      const sent = Array.from({ length: requests }, () => readCode(create(caller, { user: 'hang' })));
      let open = requests;
      for (const one of sent)
        void one.then(() => {
          open -= 1;
        });
      await until('all others are refused', () => open === 1 && vendor.requests.length === 1);
      vendor.release();
      const codes = await Promise.all(sent);
      expect(codes.filter((code) => code === '200')).toHaveLength(1);
      expect(new Set(codes.filter((code) => code !== '200')).size).toBe(1);
      expect(codes.find((code) => code !== '200')).toStartWith('billing.');
      expect(vendor.requests).toHaveLength(1);
      await billed(caller);
      expect((await lines(caller)).reduce((sum, [, amount]) => sum + amount, 0)).toBe(-BILL);
    });
  }

  test('overdraft: bills are written while others open, held or not, and the balance never goes below zero', async () => {
    const caller = await addCaller(store, 7 * BILL);
    const sent = await Promise.all(
      Array.from({ length: 200 }, async (_, nth) => {
        for (let turn = 0; turn < nth % 10; turn += 1) await Bun.sleep(1);
        return readCode(create(caller, { ...(nth % 3 === 0 ? { key: `own ${nth}` } : {}) }));
      }),
    );
    const answered = sent.filter((code) => code === '200').length;
    await billed(caller, answered);
    expect(vendor.requests).toHaveLength(answered);
    expect(await balance(caller)).toBe((7 - answered) * BILL);
    expect(answered).toBeLessThanOrEqual(7);
    // What was refused beside bills that were on their way may be asked for again.
    while ((await balance(caller)) > 0) {
      const before = (await usage(caller)).length;
      expect((await create(caller, {})).status).toBe(200);
      await billed(caller, before + 1);
    }
    expect(await readCode(create(caller, {}))).toBe('billing.insufficient_quota');
  });

  test('a client sends one request after the other, and a balance for the first covers the next', async () => {
    const sent = { model: 'metered' };
    const rich = await addCaller(store);
    await create(rich, sent);
    await billed(rich);
    const [bill, reserved] = [await spent(rich), -((await lines(rich))[0]?.[1] ?? 0)];
    expect(reserved).toBeGreaterThan(10 * bill);
    // A bill may be counted twice while it is written.
    const caller = await addCaller(store, reserved + 6 * bill);
    for (const stream of [false, true, false]) {
      const { body } = await create(caller, { ...sent, stream });
      if (body instanceof ReadableStream) await new Response(body).text();
    }
    await billed(caller, 3);
    expect(await balance(caller)).toBe(reserved + 3 * bill);
  });

  test('beyond the bound of the node, and with an Idempotency-Key, the reservation is stored', async () => {
    bound = BILL;
    const [caller, other] = [await addCaller(store), await addCaller(store)];
    const first = await openStream(caller);
    const second = await openStream(other);
    expect([await lines(caller), await lines(other)]).toEqual([[], [['reserve', -BILL]]]);
    // What is held is billed although the bound is lower by then.
    bound = 0;
    const third = await openStream(caller);
    expect(await lines(caller)).toEqual([['reserve', -BILL]]);
    vendor.release();
    for (const readOn of [first, second, third]) await readOn();
    await billed(caller, 2);
    expect([await spent(caller), await spent(other)]).toEqual([2 * BILL, BILL]);
    bound = BILL;
    const again = create(caller, { user: 'hang', key: 'once' });
    await until('the vendor has it', () => vendor.requests.length === 4);
    expect(await lines(caller)).toHaveLength(3);
    vendor.release();
    expect((await again).status).toBe(200);
    expect(await spent(caller)).toBe(3 * BILL);
  });

  test('a request that moves to another account is stored then', async () => {
    const caller = await addCaller(store);
    const sent = create(caller, { model: 'lost', user: 'hang' });
    await until('it is stored', async () => (await lines(caller)).length > 0);
    expect(await lines(caller)).toEqual([['reserve', -BILL]]);
    await until('it has reached the second account', () => vendor.requests.length === 1);
    vendor.release();
    expect((await sent).status).toBe(200);
    expect([await spent(caller), (await usage(caller)).length]).toEqual([BILL, 1]);
  });

  test('a key, a price, a user and a balance that change during a stream change no bill', async () => {
    const caller = await addCaller(store, BILL);
    const readOn = await openStream(caller);
    await store.apiKeys.delete(caller.key.id, caller.user.id);
    await store.users.administer(caller.user.id, { status: STATUS.disabled }, 1);
    await engine.billing.prices.save({ pluginKey: '*', model: 'flat', expression: '9' });
    await store.ledger.setBalance({ walletId: caller.walletId, key: `spent ${caller.user.id}`, to: 5, at: 1 });
    try {
      vendor.release();
      await readOn();
      await billed(caller);
      expect((await usage(caller)).map(({ kind, quota }) => [kind, quota])).toEqual([['settle', BILL]]);
      expect(await balance(caller)).toBe(5 - BILL);
    } finally {
      await engine.billing.prices.save({ pluginKey: '*', model: 'flat', expression: '0.04' });
    }
  });

  test('two nodes may sell one balance twice, which then is below zero by no more than the bound of one', async () => {
    bound = BILL;
    const other = await start(await opened().openAnother());
    try {
      const caller = await addCaller(store, BILL);
      const streams = [await openStream(caller), await openStream(caller, {}, other)];
      for (const on of [engine, other])
        expect(await readCode(create(caller, {}, on))).toBe('billing.insufficient_quota');
      vendor.release();
      for (const readOn of streams) await readOn();
      await billed(caller, 2);
      expect(await balance(caller)).toBe(-BILL);
    } finally {
      await other.stop();
    }
  });

  test('a node that stops bills what it holds', async () => {
    const caller = await addCaller(store);
    const other = await start(await opened().openAnother());
    const readOn = await openStream(caller, {}, other);
    expect((await create(caller, {}, other)).status).toBe(200);
    vendor.release();
    await readOn();
    await other.stop();
    expect([await spent(caller), (await usage(caller)).length]).toEqual([2 * BILL, 2]);
  });
};

describeEachStore('relayed requests that are held in memory', (opened) => {
  // A nested suite, so that the engine stops before its store closes.
  describe('between clients and vendors', () => describeHolds(opened));
});
