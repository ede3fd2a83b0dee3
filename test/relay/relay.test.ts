import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import {
  AppError,
  type Clock,
  type Json,
  type JsonObject,
  newTaskId,
  parseLongIds,
  systemClock,
} from '../../src/kernel/index.ts';
import { redactKey, refusalAnswer } from '../../src/relay/answers/filter-answer.ts';
import type { RelayAnswer, RelayCall } from '../../src/relay/types.ts';
import type { RelayKind, RelayObjectKind, RelayRecord, Repositories, Store } from '../../src/store/ports/index.ts';
import type { Caller, ClientRequest } from '../../src/tasks/index.ts';
import type { UpstreamResponse } from '../../src/upstream/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';
import { startSandbox } from '../plugins/support.ts';
import { changeSealedKey } from '../support/accounts.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { FAR_MS } from '../support/far-limits.ts';
import { EVENTS, type RelayVendor, startRelayVendor, VIDEO } from '../support/relay-vendor.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** 0.04 USD for a response, 0.1 USD a second for a video. */
const BILL = 20_000;
const SECOND = 50_000;

type Reply = { status: number; headers: Record<string, string>; body: JsonObject; text: string };

const describeRelay = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  let vendor: RelayVendor;
  let second: RelayVendor;
  /** The engine of all tests ends no interrupted requests. */
  let isAlone = false;

  beforeAll(async () => {
    store = opened().store;
    const links = { days: 0, invalidPerMinute: 60, downloads: { node: 128, address: 2, artifact: 16 } };
    const relays: Store['relays'] = {
      ...store.relays,
      interrupted: async (...given) => (isAlone ? [] : store.relays.interrupted(...given)),
    };
    engine = await startEngine({ ...store, relays }, sandbox, { tickMs: 20, links });
    vendor = await startRelayVendor();
    second = await startRelayVendor('w', { docile: true });
    const addRelay = (to: RelayVendor, fields: object) =>
      engine.addChannel({ name: 'relay', type: 1, key: to.key, baseUrl: to.url, taskPluginKey: undefined, ...fields });
    await addRelay(vendor, {
      models: ['gpt-x', 'gpt-tokens', 'vid-x', 'vid-many', 'vid-sized', 'free-x', 'moody-x'],
      modelMapping: { 'gpt-x': 'gpt-real' },
    });
    await addRelay(second, { models: ['gpt-y', 'vid-y'], baseUrl: `${second.url}/v1` });
    // Two channels; the first one is tried first.
    await addRelay(vendor, { models: ['gpt-two'], priority: 9 });
    await addRelay(second, { models: ['gpt-two'], modelMapping: { 'gpt-two': 'gpt-second' } });
    await addRelay(vendor, { models: ['gpt-brave'], priority: 9, settings: { retry_on_5xx: true } });
    await addRelay(second, { models: ['gpt-brave'] });
    await addRelay(vendor, { models: ['gpt-lost'], priority: 9, baseUrl: 'http://127.0.0.1:1' });
    await addRelay(second, { models: ['gpt-lost'] });
    // Its second vendor refuses the key.
    await addRelay(vendor, { models: ['gpt-bold'], priority: 9, settings: { retry_on_5xx: true } });
    await addRelay(second, { models: ['gpt-bold'], key: 'no key of the vendor' });
    for (const model of ['gpt-sealed', 'gpt-shut']) {
      const id = await addRelay(vendor, { models: [model], priority: 9 });
      await changeSealedKey(store, id, 'sealed by a secret that is gone');
    }
    await addRelay(second, { models: ['gpt-sealed'] });
    for (const model of ['gpt-x', 'gpt-y', 'gpt-two', 'gpt-brave', 'gpt-lost', 'gpt-bold', 'gpt-sealed', 'gpt-shut']) {
      await engine.billing.prices.save({
        pluginKey: '*',
        model,
        expression: model === 'gpt-sealed' ? '0' : '0.04',
      });
    }
    const expression = '0.000002 * u("input_tokens") + 0.000008 * u("output_tokens")';
    await engine.billing.prices.save({ pluginKey: '*', model: 'gpt-tokens', expression });
    for (const model of ['vid-x', 'vid-y']) {
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.1 * u("seconds")' });
    }
    const counted = '0.1 * u("seconds") * u("n")';
    await engine.billing.prices.save({ pluginKey: '*', model: 'vid-many', expression: counted });
    const sized = '0.1 * u("seconds") * (u("size") == "1280x720" || u("size") == "default" ? 1 : 3)';
    await engine.billing.prices.save({ pluginKey: '*', model: 'vid-sized', expression: sized });
    await engine.billing.prices.save({ pluginKey: '*', model: 'moody-x', expression: 'u("mood")' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop();
    await second.stop();
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });
  afterEach(() => {
    for (const { requests } of [vendor, second]) requests.length = 0;
  });

  const create = (
    caller: Caller,
    value: JsonObject,
    { kind = readKind(value), on = engine, ...change }: Partial<ClientRequest> & { kind?: RelayKind; on?: Engine } = {},
  ) =>
    on.relay.create(caller, {
      kind,
      requestId: 'request',
      client: { ...jsonRequest(value), path: `/v1/${kind}s`, ...change },
      headers: { 'openai-beta': 'beta=v1', 'openai-organization': 'org-of-a-client', cookie: 'a=b', 'x-api-key': 'k' },
    });
  const readKind = ({ model }: JsonObject): RelayObjectKind => (String(model).startsWith('vid') ? 'video' : 'response');
  const forward = (caller: Caller, kind: RelayObjectKind, { id, ...call }: { id: string } & Partial<RelayCall>) =>
    engine.relay.forward(
      { userId: caller.user.id, kind, id },
      {
        operation: 'retrieve',
        query: {},
        headers: {},
        signal: new AbortController().signal,
        ...call,
      },
    );
  const spent = async ({ user }: Caller) => BALANCE - (await readBalance(store, user.id));
  const usage = async ({ user }: Caller) =>
    (await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 50 })).items;
  /** What usage and the figures of the start page say that the caller has spent. */
  const spendInFigures = async ({ reports }: Engine, { user }: Caller): Promise<number[]> => {
    const day = Math.floor(Date.now() / 86_400_000);
    const period = { fromDay: day - 1, toDay: day, zone: 'UTC' };
    const { totals } = await reports.usage({ period, by: 'model', only: { userId: user.id } });
    const { days } = await reports.figures({ days: 2, userId: user.id });
    return [totals.spend, days.reduce((sum, { spend }) => sum + spend, 0)];
  };
  const readRelay = async (caller: Caller): Promise<RelayRecord> => {
    const [row] = await usage(caller);
    const relay = row && (await store.relays.byRelayId(row.taskId));
    if (!relay) throw new Error('nothing was relayed');
    return relay;
  };

  test('a response is relayed unchanged except for credential and model, and billed once', async () => {
    const caller = await addCaller(store);
    const body = {
      model: 'gpt-x',
      input: [{ role: 'user', content: 'Grüße 👋' }],
      temperature: 0.1,
      metadata: { a: null },
    };
    const reply = await read(await create(caller, body));
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ object: 'response', model: 'gpt-real', secret: body.input });
    expect(Object.keys(reply.headers)).toEqual(['content-type']);

    const [seen, ...more] = vendor.requests;
    expect(more).toEqual([]);
    expect(seen).toMatchObject({
      method: 'POST',
      path: '/v1/responses',
      query: '',
      body: { ...body, model: 'gpt-real' },
    });
    const { host, 'content-length': _, ...headers } = seen?.headers ?? {};
    expect(headers).toEqual({
      authorization: `Bearer ${vendor.key}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'openai-beta': 'beta=v1',
      'user-agent': 'taskgate',
      connection: 'keep-alive',
    });

    expect(await spent(caller)).toBe(BILL);
    const rows = await usage(caller);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ kind: 'settle', quota: BILL, model: 'gpt-x', pluginKey: '*' });
    expect(rows[0]?.detail).toMatchObject({ expression: '0.04', settled: BILL, price: '*::gpt-x' });
    const relay = await readRelay(caller);
    expect(relay).toMatchObject({ status: 'BILLED', quota: BILL, httpStatus: 200, kind: 'response', model: 'gpt-x' });
    expect(relay.relayId).toMatch(/^relay_\w{32}$/);
    expect((await store.ledger.byTask(relay.relayId)).map(({ kind, amount }) => [kind, amount])).toEqual([
      ['reserve', -BILL],
    ]);
    expect(await store.users.byId(caller.user.id)).toMatchObject({ usedQuota: BILL, requestCount: 1 });

    const again = await read(
      await forward(caller, 'response', { id: String(reply.body.id), query: { include: ['a'], evil: ['1'] } }),
    );
    expect(again.body).toMatchObject({ id: reply.body.id, progress: 100 });
    expect(vendor.requests[1]).toMatchObject({
      method: 'GET',
      path: `/v1/responses/${reply.body.id}`,
      query: '?include=a',
    });
    expect(vendor.requests[1]?.headers.authorization).toBe(`Bearer ${vendor.key}`);
  });

  const asSent = (text: string) => ({ body: { kind: 'json' as const, value: parseLongIds(text), text } });

  test('numbers, order and spaces of JSON stay as written; only the model changes', async () => {
    const caller = await addCaller(store);
    const text = (model: string) =>
      `{ "9":1, "seed":9223372036854775807,"model": "${model}","1":[1E400,-0.0,1.10],"x":{"id_of_a_seed":7615917337495251231}}`;
    expect((await create(caller, { model: 'gpt-x' }, asSent(text('gpt-x')))).status).toBe(200);
    expect(vendor.requests[0]?.text).toBe(text('gpt-real'));
  });

  const repeated: [name: string, text: string, param: string | undefined][] = [
    ['two models', '{"model":"gpt-y","model":"gpt-x"}', 'model'],
    ['a model by two spellings', '{"mod\\u0065l":"gpt-y","model":"gpt-x"}', 'model'],
    ['two streams', '{"model":"gpt-x","stream":true,"stream":false}', 'stream'],
    [
      'another user’s item before one’s own',
      '{"model":"gpt-x","input":[{"type":"message","content":"x","id":"theirs","id":"mine"}]}',
      undefined,
    ],
  ];
  for (const [name, text, param] of repeated) {
    test(`parser differential: JSON that names a member twice is refused: ${name}`, async () => {
      const caller = await addCaller(store);
      const error = await catchFailure(create(caller, { model: 'gpt-x' }, asSent(text)));
      expect(error).toMatchObject({ code: 'tasks.relay_request_invalid', message: expect.stringContaining('twice') });
      expect(error.param).toBe(param as string);
      expect(vendor.requests).toEqual([]);
    });
  }

  const respelled: [name: string, value: JsonObject, param: string][] = [
    ['a previous response', { model: 'gpt-x', Previous_Response_ID: 'resp_of_another' }, 'Previous_Response_ID'],
    ['a conversation', { model: 'gpt-x', Conversation: { id: 'conv_of_another' } }, 'Conversation'],
    ['a file at depth', { model: 'gpt-x', tools: [{ Vector_Store_IDs: ['vs_of_another'] }] }, 'tools'],
    ['a folded letter', { model: 'gpt-x', tools: [{ 'file_i\uff44': 'file_of_another' }] }, 'tools'],
    [
      'a whole item’s type',
      { model: 'gpt-x', input: [{ content: 'x', Type: 'item_reference', id: 'theirs' }] },
      'input',
    ],
    ['a video', { model: 'vid-x', seconds: 1, Remix_Video_Id: 'video_of_another' }, 'Remix_Video_Id'],
    ['a video as an object', { model: 'vid-x', seconds: 1, VIDEO: { id: 'video_of_another' } }, 'VIDEO'],
  ];
  for (const [name, value, param] of respelled) {
    test(`another user’s object in other letters is refused, since vendors may ignore case: ${name}`, async () => {
      const error = await catchFailure(create(await addCaller(store), value));
      expect(error).toMatchObject({ code: 'tasks.relay_request_invalid', param });
      expect(vendor.requests).toEqual([]);
    });
  }

  test('a form is relayed with its files, to a base URL that includes the version', async () => {
    const caller = await addCaller(store);
    const bytes = new Uint8Array(200_000).fill(7);
    const file = {
      ref: 'request_file:input_reference',
      field: 'input_reference',
      filename: 'a"b.png',
      mimeType: 'image/png',
    };
    const stream = async function* () {
      yield bytes;
    };
    const fields = { model: ['vid-y'], prompt: ['a cat'], seconds: ['4'], tag: ['x'] };
    const body = { kind: 'multipart', fields, files: [{ ...file, size: bytes.length, stream }] } as const;
    const reply = await read(await create(caller, { model: 'vid-y' }, { body: body as never }));
    expect(reply.body).toMatchObject({ object: 'video', model: 'vid-y', seconds: '4' });
    const [seen] = second.requests;
    expect(seen).toMatchObject({ path: '/v1/videos', headers: { authorization: `Bearer ${second.key}` } });
    expect(seen?.headers['content-type']).toStartWith('multipart/form-data; boundary=');
    expect(seen?.body).toMatchObject({ model: 'vid-y', prompt: 'a cat', seconds: '4', tag: 'x' });
    expect(seen?.body.input_reference).toContain(':image/png:200000');
    expect(await spent(caller)).toBe(4 * SECOND);
  });

  const refusals: [play: string, status: number, code: string, says: RegExp][] = [
    ['400', 400, 'bad_thing', /^no, says \[redacted\]|^no, says (?!.*sk-vendor)/],
    ['401', 0, 'tasks.vendor_failed', /rejected the channel's key/],
    ['429', 429, 'rate_limit_exceeded', /slow down/],
    ['500', 500, 'server_error', /oops/],
    ['html', 0, 'tasks.vendor_failed', /not this API/],
    ['redirect', 0, 'tasks.vendor_failed', /responded with HTTP 307/],
    ['broken', 0, 'tasks.vendor_unreachable', /connection/],
    ['hang', 0, 'tasks.vendor_timeout', /2000 ms/],
  ];
  for (const [play, status, code, says] of refusals) {
    test(`a vendor that answers "${play}": nothing is charged`, async () => {
      const caller = await addCaller(store);
      const on = play === 'hang' ? await startEngine(store, sandbox, { submitTimeoutMs: 2000 }) : engine;
      const sent = () =>
        create(caller, { model: 'gpt-x', user: play }, { idempotencyKey: 'k', on }).then(
          read,
          (error: unknown) => error,
        );
      const outcome = await sent();
      vendor.release();
      if (outcome instanceof AppError) {
        expect([status, outcome.code]).toEqual([0, code]);
        expect(outcome.message).toMatch(says);
        expect(outcome.shouldRetry).toBe(['html', 'broken', 'hang'].includes(play) ? false : undefined);
      } else {
        const reply = outcome as Reply;
        expect(reply.status).toBe(status);
        expect(reply.body.error).toMatchObject({ code, message: expect.stringMatching(says) });
        expect(reply.text).not.toContain('sk-vendor');
        expect(reply.headers['retry-after']).toBe(play === '429' ? '7' : (undefined as never));
        expect(reply.headers).not.toHaveProperty('set-cookie');
        expect(reply.headers).not.toHaveProperty('openai-organization');
      }
      expect(vendor.requests).toHaveLength(1);
      expect(await spent(caller)).toBe(0);
      const relay = await readRelay(caller);
      expect(relay).toMatchObject({ status: 'REFUNDED', quota: 0 });
      const lines = (await store.ledger.byTask(relay.relayId)).map(({ kind, amount }) => [kind, amount]);
      expect(lines).toEqual([
        ['reserve', -BILL],
        ['refund', BILL],
      ]);
      expect((await usage(caller))[0]).toMatchObject({ kind: 'refund', quota: BILL });

      // When the vendor may have done the work, a repeat would buy it twice.
      const isKnown = ['400', '401', '429', 'redirect'].includes(play);
      const unknown = { code: 'tasks.idempotency_outcome_unknown', kind: 'conflict', shouldRetry: false };
      if (isKnown) expect(await sent()).toEqual(outcome);
      else expect(await sent()).toMatchObject(unknown);
      expect(vendor.requests).toHaveLength(isKnown ? 2 : 1);
      if (on !== engine) await on.stop();
    });
  }

  test('an answer that the client sees as a failure of ours costs nothing, and the operator is told', async () => {
    for (const play of ['half', 'html']) {
      const caller = await addCaller(store);
      engine.warnings.length = 0;
      const error = await catchFailure(create(caller, { model: 'gpt-x', user: play }));
      expect(error).toMatchObject({ code: 'tasks.vendor_failed', shouldRetry: false });
      expect(await spent(caller)).toBe(0);
      const relay = await readRelay(caller);
      expect(relay).toMatchObject({ status: 'REFUNDED', httpStatus: 200 });
      const warned = engine.warnings.filter((line) => line.includes(relay.relayId)).join();
      expect(warned).toContain('the vendor may have done the work and bill it');
    }
  });

  const moves: [model: string, play: string, served: 'first' | 'second', firstAsked: number][] = [
    ['gpt-two', '429', 'second', 1],
    ['gpt-lost', '', 'second', 0],
    ['gpt-brave', '500', 'second', 1],
    ['gpt-brave', 'broken', 'second', 1],
    ['gpt-two', '500', 'first', 1],
    ['gpt-two', 'broken', 'first', 1],
    ['gpt-two', '400', 'first', 1],
  ];
  for (const [model, play, served, firstAsked] of moves) {
    test(`${model} when the first vendor plays "${play}": the ${served} answers`, async () => {
      const caller = await addCaller(store);
      const outcome = await create(caller, { model, user: play, input: 'x' }).then(read, (error: unknown) => error);
      expect(vendor.requests).toHaveLength(firstAsked);
      expect(second.requests).toHaveLength(served === 'second' ? 1 : 0);
      expect(await spent(caller)).toBe(served === 'second' ? BILL : 0);
      const url = served === 'second' ? second.url : vendor.url;
      expect((await readRelay(caller)).channelId).toBe(await readChannel(model, url));
      if (served === 'second') expect(outcome).toMatchObject({ status: 200, body: { secret: 'x' } });
    });
  }
  const readChannel = async (model: string, url: string) =>
    (await store.channels.all()).find(({ models, baseUrl }) => models.includes(model) && baseUrl === url)?.id ?? -1;

  test('a stream is relayed event by event, and its response can be retrieved', async () => {
    const caller = await addCaller(store);
    const answer = await create(caller, { model: 'gpt-x', stream: true, user: 'slow' });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    // Billed as soon as the vendor's answer begins.
    expect(await spent(caller)).toBe(BILL);
    const reader = readStream(answer).getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    expect(first).toStartWith('event: response.created\n');
    const id = /"id":"(resp_\w+)"/.exec(first)?.[1] ?? '';
    // It is stored as the user's before the client gets its id.
    expect((await read(await forward(caller, 'response', { id }))).body).toMatchObject({ id });
    vendor.release();
    let text = first;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += new TextDecoder().decode(next.value);
    }
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual([...EVENTS]);
    expect(text).toContain('Grüße');
    expect(vendor.requests[0]).toMatchObject({ headers: { accept: 'text/event-stream' }, body: { stream: true } });
    expect(await spent(caller)).toBe(BILL);
  });

  test('denial of service: a user has a limit of concurrent streams, and a refused one costs nothing', async () => {
    const caller = await addCaller(store);
    const clients = [new AbortController(), new AbortController()];
    const begin = (signal?: AbortSignal) =>
      create(caller, { model: 'gpt-x', stream: true, user: 'slow' }, { ...(signal ? { signal } : {}) });
    const streams = await Promise.all(clients.map(({ signal }) => begin(signal)));
    const id = String((await read(await create(caller, { model: 'gpt-x' }))).body.id);
    expect(await spent(caller)).toBe(3 * BILL);
    const asked = vendor.requests.length;
    const refused = {
      code: 'tasks.rate_limit_exceeded',
      kind: 'rate_limited',
      retryAfterSeconds: 5,
      message: expect.stringContaining('of your account'),
    };
    expect(await catchFailure(begin())).toMatchObject(refused);
    expect(await catchFailure(forward(caller, 'response', { id, query: { stream: ['true'] } }))).toMatchObject(refused);
    expect(vendor.requests).toHaveLength(asked);
    expect(await spent(caller)).toBe(3 * BILL);
    // Other requests need no slot, and other users have slots of their own.
    expect((await forward(caller, 'response', { id })).status).toBe(200);
    const neighbour = await create(await addCaller(store), { model: 'gpt-x', stream: true });
    expect(await new Response(readStream(neighbour)).text()).toContain('response.completed');
    clients[0]?.abort();
    clients.push(new AbortController());
    const next = await begin(clients.at(-1)?.signal);
    expect(next.status).toBe(200);
    // A stream that ends by itself and one that its vendor refuses release their slots.
    vendor.release();
    for (const answer of [next, ...streams.slice(1)]) await new Response(readStream(answer)).text();
    for (let i = 0; i < 6; i += 1) {
      const text = await new Response(readStream(await create(caller, { model: 'gpt-x', stream: true }))).text();
      expect(text).toContain('response.completed');
      expect((await create(caller, { model: 'gpt-x', stream: true, user: '400' })).status).toBe(400);
    }
  });

  test('a client that leaves ends its stream at the vendor, and pays for it', async () => {
    const caller = await addCaller(store);
    const { left } = vendor.streams;
    const client = new AbortController();
    const answer = await create(caller, { model: 'gpt-x', stream: true, user: 'slow' }, { signal: client.signal });
    await readStream(answer).getReader().read();
    client.abort();
    await until(() => vendor.streams.left === left + 1);
    expect(await spent(caller)).toBe(BILL);
  });

  test('a client that leaves before the answer does not cancel the request', async () => {
    const caller = await addCaller(store);
    const client = new AbortController();
    const sent = create(caller, { model: 'gpt-x', user: 'hang' }, { signal: client.signal });
    await until(() => vendor.requests.length === 1);
    client.abort();
    vendor.release();
    const { body } = await read(await sent);
    expect(await spent(caller)).toBe(BILL);
    expect((await read(await forward(caller, 'response', { id: String(body.id) }))).status).toBe(200);
  });

  test('a stream that breaks at the vendor breaks for the client too', async () => {
    const caller = await addCaller(store);
    const answer = await create(caller, { model: 'gpt-x', stream: true, user: 'broken-stream' });
    const all = new Response(readStream(answer)).text();
    expect(await all.catch(() => 'broke')).toBe('broke');
    expect(await spent(caller)).toBe(BILL);
  });

  test('content supports ranges, conditions and HEAD', async () => {
    const caller = await addCaller(store);
    const { body } = await read(await create(caller, { model: 'vid-x', prompt: 'a', seconds: 1 }));
    const id = String(body.id);
    const whole = await forward(caller, 'video', { id, operation: 'content', headers: { cookie: 'a=b' } });
    expect(whole.headers).toMatchObject({ 'content-type': 'video/mp4', etag: '"v1"', 'accept-ranges': 'bytes' });
    expect(new Uint8Array(await new Response(whole.body as never).arrayBuffer())).toEqual(VIDEO);
    expect(vendor.requests.at(-1)?.path).toBe(`/v1/videos/${id}/content`);
    expect(vendor.requests.at(-1)?.headers).not.toHaveProperty('cookie');
    const part = await forward(caller, 'video', { id, operation: 'content', headers: { range: 'bytes=10-19' } });
    expect(part).toMatchObject({ status: 206, headers: { 'content-range': 'bytes 10-19/3000' } });
    expect(new Uint8Array(await new Response(part.body as never).arrayBuffer())).toEqual(VIDEO.subarray(10, 20));
    const head = await forward(caller, 'video', { id, operation: 'content', headersOnly: true });
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': '3000' }, body: null });
    expect(vendor.requests.at(-1)?.method).toBe('HEAD');
    // Reading costs nothing.
    expect(await spent(caller)).toBe(SECOND);
    expect(await read(await forward(caller, 'video', { id, operation: 'delete' }))).toMatchObject({
      body: { deleted: true },
    });
    expect(await read(await forward(caller, 'video', { id }))).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  });

  test('a video has all members that clients check, whenever it is read and however it was made', async () => {
    const caller = await addCaller(store);
    const order = { model: 'vid-x', prompt: 'a', seconds: '4', size: '1280x720' };
    const form = Object.fromEntries(Object.entries(order).map(([name, value]) => [name, [value]]));
    const multipart = { kind: 'multipart', fields: form, files: [] } as never;
    const whole = { seconds: '4', size: '1280x720', completed_at: null, expires_at: null, error: null };
    for (const sent of [{}, { body: multipart }]) {
      const made = (await read(await create(caller, order, sent))).body;
      const id = String(made.id);
      expect(made).toMatchObject({ ...whole, status: 'queued', remixed_from_video_id: null });
      expect((await read(await forward(caller, 'video', { id }))).body).toMatchObject({
        ...whole,
        status: 'completed',
      });
      // It has a status alone, and no length.
      vendor.setStatus(id, 'in_progress', { chunked: true });
      const bare = (await read(await forward(caller, 'video', { id }))).body;
      expect(bare).toMatchObject({ ...whole, id, object: 'video', model: 'vid-x', status: 'in_progress', progress: 0 });
      const remix = await engine.relay.remixSource(caller.user.id, id);
      const body = { prompt: 'another' };
      const changed = { client: { ...jsonRequest(body), path: `/v1/videos/${id}/remix` }, remix };
      const again = await engine.relay.create(caller, { kind: 'video', requestId: 'r', headers: {}, ...changed });
      const other = (await read(again)).body;
      expect(other).toMatchObject({ ...whole, remixed_from_video_id: id });
      vendor.setStatus(String(other.id), 'in_progress', { chunked: true });
      expect((await read(await forward(caller, 'video', { id: String(other.id) }))).body).toMatchObject({
        ...{ ...whole, remixed_from_video_id: id },
      });
    }
  });

  test('no user can read, cancel, delete or continue another user’s object', async () => {
    const owner = await addCaller(store);
    const thief = await addCaller(store);
    const { body } = await read(await create(owner, { model: 'gpt-x', input: 'my secret' }));
    const id = String(body.id);
    vendor.requests.length = 0;
    const ids = [id, `${id}/../${id}`, `%2e%2e/${id}`, '', '.', '..', `${id}?x=1`, `${id}\0`, `${id}/input_items`];
    for (const guess of ids) {
      for (const operation of ['retrieve', 'cancel', 'delete', 'content'] as const) {
        const error = await catchFailure(forward(thief, 'response', { id: guess, operation }));
        expect(error.code).toBe('tasks.not_found');
        if (guess !== id)
          expect((await catchFailure(forward(owner, 'response', { id: guess, operation }))).code).toBe(
            'tasks.not_found',
          );
      }
    }
    // Not under another kind either.
    expect((await catchFailure(forward(owner, 'video', { id }))).code).toBe('tasks.not_found');
    const rows: [JsonObject, code: string, param: string][] = [
      [{ previous_response_id: id }, 'previous_response_not_found', 'previous_response_id'],
      [{ conversation: 'conv_1' }, 'relay_request_invalid', 'conversation'],
      [{ conversation: { id: 'conv_1' } }, 'relay_request_invalid', 'conversation'],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'relay_request_invalid', 'input'],
      [{ input: [{ id: 'msg_1' }] }, 'relay_request_invalid', 'input'],
      [{ input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 'relay_request_invalid', 'input'],
      [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'relay_request_invalid', 'tools'],
      ...shared,
    ];
    for (const [fields, code, param] of rows) {
      const error = await catchFailure(create(thief, { model: 'gpt-x', input: 'say it again', ...fields }));
      expect(error).toMatchObject({ code: `tasks.${code}`, param, kind: 'invalid' });
    }
    const sharedByVideos: [JsonObject, param: string][] = [
      [{ input_reference: { file_id: 'file-1' } }, 'input_reference'],
      [{ characters: [{ id: 'char_1' }] }, 'characters'],
      [{ video: { id: 'video_1', file_id: 'file-1' } }, 'video'],
      [{ video_id: ['video_1'] }, 'video_id'],
    ];
    for (const [fields, param] of sharedByVideos) {
      const error = await catchFailure(create(thief, { model: 'vid-x', seconds: 1, ...fields }));
      expect(error).toMatchObject({ code: 'tasks.relay_request_invalid', param });
    }
    const references: JsonObject[] = [{ remix_video_id: id }, { video: { id } }, { video_id: id }];
    for (const fields of references) {
      const error = await catchFailure(create(thief, { model: 'vid-x', seconds: 1, ...fields }));
      expect(error.code).toBe('tasks.referenced_video_not_found');
    }
    expect(vendor.requests).toEqual([]);
    expect(await spent(thief)).toBe(0);

    // An own object first does not allow another user's object after it.
    const own = (await read(await create(thief, { model: 'vid-x', seconds: 1 }))).body.id as string;
    const other = (await read(await create(owner, { model: 'vid-x', seconds: 1 }))).body.id as string;
    const paid = await spent(thief);
    vendor.requests.length = 0;
    const mixed: JsonObject[] = [
      { remix_video_id: own, video_id: other },
      { video: { id: other }, video_id: own },
    ];
    for (const fields of mixed) {
      const error = await catchFailure(create(thief, { model: 'vid-x', seconds: 1, ...fields }));
      expect(error.code).toBe('tasks.referenced_video_not_found');
    }
    expect(vendor.requests).toEqual([]);
    expect(await spent(thief)).toBe(paid);

    const next = { model: 'gpt-two', input: 'and?', previous_response_id: id };
    // On the channel of the first object, whatever other channels serve the model.
    expect((await catchFailure(create(owner, next))).code).toBe('tasks.no_available_channel');
    expect((await read(await create(owner, { ...next, model: 'gpt-x' }))).status).toBe(200);
    expect(vendor.requests[0]?.body.previous_response_id).toBe(id);
    expect((await read(await forward(owner, 'response', { id, operation: 'cancel' }))).body.status).toBe('cancelled');
    expect((await read(await forward(owner, 'response', { id, operation: 'delete' }))).body.deleted).toBe(true);
  });

  test('inline content that references no stored object is forwarded', async () => {
    const caller = await addCaller(store);
    const body: JsonObject = {
      model: 'gpt-x',
      previous_response_id: null,
      conversation: null,
      prompt: null,
      background_options: { continuation_id: 'a text of the client' },
      metadata: { file_id: 'file-1', order_ids: 'a' },
      input: [
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ text: 'x', annotations: [{ file_id: 'f' }] }] },
        { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.example/a.png', file_id: null }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"file_id":"x"}' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"container_id":"x"}' },
        { type: 'program', id: 'prog_1', call_id: 'call_2', code: 'f()', fingerprint: 'sealed' },
        { type: 'function_call_output', call_id: 'c', output: '1', caller: { type: 'program', caller_id: 'call_2' } },
        { type: 'image_generation_call', id: 'ig_1', result: 'AAAA' },
      ],
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: { type: 'object', properties: {}, required: ['file_id'], x_id: 'y' },
        },
        { type: 'code_interpreter', container: { type: 'auto', file_ids: [] } },
        { type: 'mcp', connector_id: 'connector_gmail', server_label: 'mail' },
      ],
    };
    expect((await read(await create(caller, body))).status).toBe(200);
    expect(vendor.requests[0]?.body).toMatchObject({ input: body.input, tools: body.tools });
  });

  for (const stream of [false, true]) {
    test(`only the user of an answer can build on its parts, ${stream ? 'streamed' : 'read whole'}`, async () => {
      const owner = await addCaller(store);
      const thief = await addCaller(store);
      const name = newTaskId(Date.now());
      const output: JsonObject[] = [
        { type: 'reasoning', id: `rs_${name}`, summary: [] },
        { type: 'code_interpreter_call', id: `ci_${name}`, code: '1', container_id: `cntr_${name}` },
      ];
      await new Response(
        (await create(owner, { model: 'gpt-x', stream, user: 'output', metadata: { output: JSON.stringify(output) } }))
          .body as never,
      ).text();
      const next: JsonObject[] = [
        { input: [...output, { role: 'user', content: 'go on' }] },
        { input: [{ type: 'item_reference', id: `rs_${name}` }] },
        { input: 'x', tools: [{ type: 'code_interpreter', container: `cntr_${name}` }] },
      ];
      for (const fields of next) {
        expect((await create(owner, { model: 'gpt-x', ...fields })).status).toBe(200);
        const error = await catchFailure(create(thief, { model: 'gpt-x', ...fields }));
        expect(error.code).toBe('tasks.relay_request_invalid');
        // On the channel that made them.
        expect((await catchFailure(create(owner, { model: 'gpt-y', ...fields }))).code).toBe(
          'tasks.no_available_channel',
        );
      }
    });
  }

  test('a vendor that reuses an id does not give the second user the first one’s object', async () => {
    const first = await addCaller(store);
    const copycat = await addCaller(store);
    const name = `resp_${newTaskId(Date.now())}`;
    await create(first, { model: 'gpt-x', user: `same ${name}`, input: 'mine' });
    const reply = await read(await create(copycat, { model: 'gpt-two', user: `same ${name}` }));
    expect(reply.body.id).toBe(name);
    expect((await catchFailure(forward(copycat, 'response', { id: name }))).code).toBe('tasks.not_found');
    expect(engine.warnings.join('\n')).toContain('reused the id of an earlier object');
    // At another vendor the same id is another object.
    await create(copycat, { model: 'gpt-y', user: `same ${name}`, input: 'of the copycat' });
    expect((await read(await forward(copycat, 'response', { id: name }))).body.secret).toBe('of the copycat');
    expect((await read(await forward(first, 'response', { id: name }))).status).toBe(200);
  });

  test('an object whose channel now points to another vendor is gone', async () => {
    const caller = await addCaller(store);
    const id = await engine.addChannel({
      name: 'moving',
      type: 1,
      key: vendor.key,
      baseUrl: vendor.url,
      models: ['gpt-moving'],
      taskPluginKey: undefined,
    });
    await engine.billing.prices.save({ pluginKey: '*', model: 'gpt-moving', expression: '0' });
    const { body } = await read(await create(caller, { model: 'gpt-moving' }));
    await engine.channels.update(id, { baseUrl: second.url, key: second.key }, { mayMoveKey: true });
    expect((await catchFailure(forward(caller, 'response', { id: String(body.id) }))).code).toBe(
      'tasks.relay_object_gone',
    );
    await engine.channels.update(id, { baseUrl: vendor.url, key: vendor.key, status: 2 }, { mayMoveKey: true });
    expect((await read(await forward(caller, 'response', { id: String(body.id) }))).status).toBe(200);
    await engine.channels.delete(id);
    expect((await catchFailure(forward(caller, 'response', { id: String(body.id) }))).code).toBe(
      'tasks.relay_object_gone',
    );
  });

  const priced: [name: string, value: JsonObject, code: string, param: string | undefined][] = [
    ['a model without a price', { model: 'free-x' }, 'billing.model_price_error', 'model'],
    ['a fact that is not a parameter of OpenAI’s', { model: 'moody-x', mood: 1 }, 'billing.model_price_error', 'mood'],
    ['no seconds', { model: 'vid-x' }, 'billing.model_price_error', 'seconds'],
    ['negative seconds', { model: 'vid-x', seconds: -4 }, 'tasks.relay_request_invalid', 'seconds'],
    ['0 seconds', { model: 'vid-x', seconds: 0 }, 'tasks.relay_request_invalid', 'seconds'],
    ['0 seconds as text', { model: 'vid-x', seconds: '0' }, 'tasks.relay_request_invalid', 'seconds'],
    ['0.0 seconds as text', { model: 'vid-x', seconds: '0.0' }, 'tasks.relay_request_invalid', 'seconds'],
    ['a sliver of a second', { model: 'vid-x', seconds: 1e-9 }, 'tasks.relay_request_invalid', 'seconds'],
    [
      'endless seconds',
      { model: 'vid-x', seconds: Number.POSITIVE_INFINITY },
      'tasks.relay_request_invalid',
      'seconds',
    ],
    ['seconds that are not a number', { model: 'vid-x', seconds: 'NaN' }, 'billing.model_price_error', 'seconds'],
    ['null seconds', { model: 'vid-x', seconds: null }, 'billing.model_price_error', 'seconds'],
    [
      'a second length that cannot be read',
      { model: 'vid-x', seconds: 1, duration: 'auto' },
      'billing.model_price_error',
      'seconds',
    ],
    [
      'a length in another spelling',
      { model: 'vid-x', Seconds: 12, seconds: 1 },
      'tasks.relay_request_invalid',
      'Seconds',
    ],
    [
      'two videos where the price counts none',
      { model: 'vid-x', seconds: 1, n: 2 },
      'tasks.relay_request_invalid',
      'n',
    ],
    [
      'videos that are counted by another name',
      { model: 'vid-x', seconds: 1, num_videos: '2' },
      'tasks.relay_request_invalid',
      'num_videos',
    ],
    ['n of 0', { model: 'gpt-x', n: 0 }, 'tasks.relay_request_invalid', 'n'],
    ['n of a half', { model: 'gpt-x', n: 0.5 }, 'tasks.relay_request_invalid', 'n'],
    [
      'seconds of a kind that a vendor may read otherwise',
      { model: 'vid-x', seconds: '0x1' },
      'billing.model_price_error',
      'seconds',
    ],
    ['no model', { input: 'x' }, 'tasks.model_required', 'model'],
    ['a body of another kind', { model: 'vid-x', seconds: 100_000_000 }, 'billing.insufficient_quota', undefined],
  ];
  for (const [name, value, code, param] of priced) {
    test(`refused before anything is sent: ${name}`, async () => {
      const caller = await addCaller(store);
      const error = await catchFailure(create(caller, value));
      expect(error.code).toBe(code);
      expect(error.param).toBe(param as string);
      expect(vendor.requests).toEqual([]);
      expect(await spent(caller)).toBe(0);
      expect(await usage(caller)).toEqual([]);
    });
  }

  const remix = async (caller: Caller, id: string, value: JsonObject): Promise<unknown> =>
    engine.relay.create(caller, {
      kind: 'video',
      requestId: 'request',
      client: jsonRequest(value),
      headers: {},
      remix: await engine.relay.remixSource(caller.user.id, id),
    });
  const sources: [name: string, build: (caller: Caller, id: string, value: JsonObject) => Promise<unknown>][] = [
    ['a remix', remix],
    ...['remix_video_id', 'video_id', 'video'].map((name): (typeof sources)[number] => [
      name,
      (caller, id, value) =>
        create(caller, { model: 'vid-x', seconds: 1, ...value, [name]: name === 'video' ? { id } : id }),
    ]),
  ];
  for (const [name, build] of sources)
    test(`a long video for the price of a short one: what is built on a video has at least its length: ${name}`, async () => {
      const caller = await addCaller(store);
      const { body } = await read(await create(caller, { model: 'vid-x', prompt: 'a', seconds: 12 }));
      const rows: [seconds: Json, billed: number][] = [
        [1, 12],
        ['1', 12],
        [20, 20],
      ];
      for (const [seconds, billed] of rows) {
        const before = await spent(caller);
        await build(caller, String(body.id), { prompt: 'b', seconds });
        expect([seconds, (await spent(caller)) - before]).toEqual([seconds, billed * SECOND]);
      }
    });

  test('a large video for the price of a small one: a price may read the size, and that of its source', async () => {
    const caller = await addCaller(store);
    const make = async (work: () => Promise<unknown>, factor: number): Promise<string> => {
      const before = await spent(caller);
      const { body } = await read((await work()) as RelayAnswer);
      expect((await spent(caller)) - before).toBe(factor * 4 * SECOND);
      return String(body.id);
    };
    const order = { model: 'vid-sized', prompt: 'a', seconds: '4' };
    const small = await make(() => create(caller, order), 1);
    await make(() => create(caller, { ...order, size: '1280x720' }), 1);
    const large = await make(() => create(caller, { ...order, size: '1792x1024' }), 3);
    await make(() => create(caller, { ...order, size: '1280x720', parameters: { size: '1792x1024' } }), 3);
    await make(() => remix(caller, small, { prompt: 'b' }), 1);
    await make(() => remix(caller, large, { prompt: 'b' }), 3);
    await make(() => remix(caller, large, { prompt: 'b', size: '1280x720' }), 3);
    await make(() => create(caller, { ...order, size: '1280x720', remix_video_id: large }), 3);
  });

  test('a video is charged for its largest length and count, in JSON and in a form', async () => {
    const caller = await addCaller(store);
    const cost = async (work: () => Promise<RelayAnswer>) => {
      const before = await spent(caller);
      await work();
      return (await spent(caller)) - before;
    };
    expect(await cost(() => create(caller, { model: 'vid-x', seconds: 1, duration: 12, n: 1 }))).toBe(12 * SECOND);
    const fields = { model: ['vid-x'], seconds: ['1'], duration: ['12'] };
    const body = { kind: 'multipart' as const, fields, files: [] };
    const form = { kind: 'video' as const, contentType: 'multipart/form-data', body };
    expect(await cost(() => create(caller, {}, form))).toBe(12 * SECOND);
    const twice = { ...fields, duration: ['12', '1'] };
    expect((await catchFailure(create(caller, {}, { ...form, body: { ...body, fields: twice } }))).param).toBe(
      'seconds',
    );
    expect(await cost(() => create(caller, { model: 'vid-many', seconds: 2, n: 1, num_videos: 3 }))).toBe(6 * SECOND);
  });

  const forms: [name: string, fields: Record<string, string[]>, files: string[], param: string][] = [
    ['two models', { model: ['vid-x', 'vid-dear'], seconds: ['1'] }, [], 'model'],
    ['a model as a file', { model: ['vid-x'], seconds: ['1'] }, ['model'], 'model'],
    ['a model as a file of another spelling', { model: ['vid-x'], seconds: ['1'] }, ['Model'], 'model'],
    ['a model before a NUL', { model: ['vid-x'], 'model\0': ['vid-dear'], seconds: ['1'] }, [], 'model\0'],
    ['a video as a file without a name', { model: ['vid-x'], seconds: ['1'] }, ['video|'], 'video'],
    ['two lengths', { model: ['vid-x'], seconds: ['1', '60'] }, [], 'seconds'],
    ['a length as a file', { model: ['vid-x'], seconds: ['1'] }, ['seconds'], 'seconds'],
    ['another length as a file', { model: ['vid-x'], seconds: ['1'] }, ['duration'], 'duration'],
    ['two counts', { model: ['vid-x'], seconds: ['1'], n: ['1', '4'] }, [], 'n'],
    ['a length in brackets', { model: ['vid-x'], seconds: ['1'], 'seconds[]': ['12'] }, [], 'seconds[]'],
    ['two videos in one field', { model: ['vid-x'], seconds: ['1'], video: ['{"id":"a","id":"b"}'] }, [], 'video'],
    ['a member of another’s video', { model: ['vid-x'], seconds: ['1'], 'video[id]': ['v'] }, [], 'video[id]'],
    ['a field of 300,000 JSON values', { model: ['vid-x'], seconds: ['1'], x: [`[${'{},'.repeat(3e5)}{}]`] }, [], 'x'],
  ];
  for (const [name, fields, files, param] of forms) {
    test(`a form that the vendor could read differently is refused: ${name}`, async () => {
      const caller = await addCaller(store);
      const empty = async function* () {};
      const body = {
        kind: 'multipart',
        fields,
        files: files.map((file) => {
          const [field = '', filename = 'f'] = file.split('|');
          return { ref: '', field, filename, mimeType: '', size: 0, stream: empty };
        }),
      } as const;
      const error = await catchFailure(create(caller, { model: 'vid-x' }, { body: body as never }));
      expect(error).toMatchObject({ code: 'tasks.relay_request_invalid', param });
      expect(vendor.requests).toEqual([]);
    });
  }

  test('a paid video reaches its client although the store fails after the bill', async () => {
    const caller = await addCaller(store);
    const relays: Store['relays'] = {
      ...store.relays,
      byRelayId: () => Promise.reject(new Error('the store is away')),
    };
    const node = await startEngine({ ...store, relays }, sandbox);
    const answer = await read(await create(caller, { model: 'vid-x', prompt: 'a', seconds: 2 }, { on: node }));
    expect(answer).toMatchObject({ status: 200, body: { object: 'video', remixed_from_video_id: null } });
    expect(await spent(caller)).toBe(2 * SECOND);
    expect((await read(await forward(caller, 'video', { id: String(answer.body.id) }))).body.id).toBe(answer.body.id);
    await node.stop();
  });

  for (const chunked of [false, true]) {
    test(`a job that fails later is refunded once, by whichever node reads it first${chunked ? ', in pieces' : ''}`, async () => {
      const caller = await addCaller(store);
      const node = await startEngine(store, sandbox);
      const used = async () => (await store.users.byId(caller.user.id)) ?? { usedQuota: -1, requestCount: -1 };
      const rows: [kind: RelayObjectKind, value: JsonObject, charge: number][] = [
        ['video', { model: 'vid-x', prompt: 'a', seconds: 2 }, 2 * SECOND],
        ['response', { model: 'gpt-x', background: true }, BILL],
      ];
      for (const [kind, value, charge] of rows) {
        const before = await used();
        const { body } = await read(await create(caller, value, { idempotencyKey: `fails-${kind}-${chunked}` }));
        const id = String(body.id);
        expect(await spent(caller)).toBe(charge);
        vendor.setStatus(id, 'in_progress', { chunked });
        expect((await read(await forward(caller, kind, { id }))).body.status).toBe('in_progress');
        expect(await spent(caller)).toBe(charge);
        vendor.setStatus(id, 'failed', { chunked });
        const signal = new AbortController().signal;
        const call = { operation: 'retrieve' as const, query: {}, headers: {}, signal };
        const readBy = (on: Engine) => on.relay.forward({ userId: caller.user.id, kind, id }, call).then(read);
        const replies = await Promise.all([engine, node, engine, node, node].map(readBy));
        expect(replies.map(({ body: { status } }) => status)).toEqual(Array(5).fill('failed'));
        expect(await spent(caller)).toBe(0);
        const relay = await readRelay(caller);
        expect(relay).toMatchObject({ status: 'REFUNDED', quota: 0 });
        const lines = (await store.ledger.byTask(relay.relayId)).map(({ kind: line, amount }) => [line, amount]);
        expect(lines).toEqual([
          ['reserve', -charge],
          ['refund', charge],
        ]);
        expect(await used()).toMatchObject({ usedQuota: before.usedQuota, requestCount: before.requestCount + 1 });
        expect(await spendInFigures(node, caller)).toEqual([0, 0]);
        // A price that would double the charge doubles what was given back, too.
        const doubled = {
          pluginKey: '*',
          model: String(value.model),
          expression: kind === 'video' ? `0.2 * u("seconds")` : '0.08',
        };
        const replayed = await engine.reports.replayBills({ prices: [doubled], groupRatios: {}, days: 1 });
        expect(replayed.users.find(({ id: user }) => user === caller.user.id)).toMatchObject({ before: 0, after: 0 });
        // A repeat of the request gets the failed object, and buys nothing.
        const again = await create(caller, value, { idempotencyKey: `fails-${kind}-${chunked}` });
        expect([again.replayed, (await read(again)).body.status]).toEqual([true, 'failed']);
        expect(await spent(caller)).toBe(0);
      }
      await node.stop();
    });
  }

  test.each([
    ['a whole answer', { chunked: false }, {}],
    ['an answer in pieces', { chunked: true }, {}],
    ['a stream of events', { chunked: false }, { stream: ['true'] }],
  ])('a response in the background is charged by the usage that it ends with, once: %s', async (_how, how, query) => {
    const caller = await addCaller(store);
    const node = await startEngine(store, sandbox);
    const signal = new AbortController().signal;
    for (const [input, output] of [
      [10, 5],
      [100_000, 60_000],
    ] as const) {
      const before = (await store.users.byId(caller.user.id))?.usedQuota ?? -1;
      const { body } = await read(await create(caller, { model: 'gpt-tokens', input: 'think', background: true }));
      const id = String(body.id);
      const reserved = (await readRelay(caller)).quota;
      const readBy = (on: Engine) =>
        on.relay
          .forward(
            { userId: caller.user.id, kind: 'response', id },
            { operation: 'retrieve', query, headers: {}, signal },
          )
          .then((answer) => new Response(answer.body as BodyInit).text());
      const counts = { input_tokens: 1, output_tokens: 0 };
      const unfinished: [status: string, usage?: object][] = [
        ['in_progress'],
        ['queued', counts],
        ['in_progress', counts],
        ['completed', { input_tokens: 0, output_tokens: 0 }],
      ];
      for (const [status, usage] of unfinished) {
        vendor.setStatus(id, status, { ...how, ...(usage && { usage }) });
        await readBy(engine);
        expect((await readRelay(caller)).quota).toBe(reserved);
      }
      vendor.setStatus(id, 'completed', { ...how, usage: { input_tokens: input, output_tokens: output } });
      await Promise.all([engine, node, engine, node].map(readBy));
      const relay = await readRelay(caller);
      const cost = input + 4 * output;
      expect(relay).toMatchObject({ status: 'BILLED', quota: cost });
      expect(((await store.users.byId(caller.user.id))?.usedQuota ?? -1) - before).toBe(cost);
      const lines = (await store.ledger.byTask(relay.relayId)).map(({ kind, amount }) => [kind, amount]);
      expect(lines).toEqual([
        ['reserve', -reserved],
        ['settle', reserved - cost],
      ]);
      expect((await usage(caller)).reduce((sum, row) => sum + row.quota, 0)).toBe(await spent(caller));
      // What it says later moves nothing.
      vendor.setStatus(id, 'completed', { ...how, usage: { input_tokens: 1, output_tokens: 1 } });
      await readBy(node);
      expect((await readRelay(caller)).quota).toBe(cost);
    }
    const days = await store.figures.usageByDay({ sinceDay: 0, userId: caller.user.id });
    expect(days.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(2);
    await node.stop();
  });

  test.each([
    ['an answer in pieces', {}],
    ['a stream of events', { stream: ['true'] }],
  ])('evasion: who leaves before the usage of a background response is charged by it: %s', async (_how, query) => {
    const caller = await addCaller(store);
    const { body } = await read(await create(caller, { model: 'gpt-tokens', input: 'think', background: true }));
    const id = String(body.id);
    vendor.setStatus(id, 'completed', {
      chunked: true,
      slow: true,
      usage: { input_tokens: 10, output_tokens: 20_000 },
    });
    const leaving = new AbortController();
    const answer = await forward(caller, 'response', { id, query, signal: leaving.signal });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    leaving.abort();
    vendor.release();
    await until('it is charged', async () => (await spent(caller)) === 80_010);
  });

  const unread: [how: string, use: (caller: Caller, id: string) => Promise<unknown>][] = [
    [
      'another response builds on it',
      (caller, id) => create(caller, { model: 'gpt-tokens', input: 'go on', previous_response_id: id }),
    ],
    [
      'another response names an item of it',
      async (caller, id) => {
        const item = { type: 'item_reference', id: `msg_${id}` };
        const { relayId } = await readRelay(caller);
        const made = await store.relays.findObject(relayId);
        await store.relays.addParts([{ ...(made as NonNullable<typeof made>), kind: 'item', objectId: item.id }]);
        await create(caller, { model: 'gpt-tokens', input: [item] });
      },
    ],
    ['it is deleted', (caller, id) => forward(caller, 'response', { id, operation: 'delete' })],
  ];
  test.each(unread)(
    'evasion: a background response that nobody reads is charged by its usage: %s',
    async (_how, use) => {
      const caller = await addCaller(store);
      const { body } = await read(await create(caller, { model: 'gpt-tokens', input: 'think', background: true }));
      const id = String(body.id);
      const { relayId } = await readRelay(caller);
      vendor.setStatus(id, 'completed', { usage: { input_tokens: 10, output_tokens: 20_000 } });
      await use(caller, id);
      expect((await store.relays.byRelayId(relayId))?.quota).toBe(80_010);
    },
  );

  for (const stream of [false, true]) {
    const how = stream ? 'stream of events' : 'whole answer';
    test(`a job whose first answer says that it has failed costs nothing: ${how}`, async () => {
      const caller = await addCaller(store);
      const bodies: JsonObject[] = [{ model: 'gpt-x', user: 'fails', stream }];
      if (!stream) bodies.push({ model: 'vid-x', prompt: 'fails', seconds: 2 });
      for (const body of bodies) {
        await new Response((await create(caller, body)).body as BodyInit).text();
        expect(await spent(caller)).toBe(0);
        expect(await readRelay(caller)).toMatchObject({ status: 'REFUNDED', quota: 0 });
      }
    });

    test(`a response that failed later is refunded when it is read as ${how}`, async () => {
      const caller = await addCaller(store);
      const { body } = await read(await create(caller, { model: 'gpt-x', background: true }));
      const id = String(body.id);
      expect(await spent(caller)).toBe(BILL);
      vendor.setStatus(id, 'failed');
      const answer = await forward(caller, 'response', { id, query: stream ? { stream: ['true'] } : {} });
      expect(await new Response(answer.body as BodyInit).text()).toContain('"failed"');
      expect(await spent(caller)).toBe(0);
    });
  }

  test('of 20 concurrent requests for the last money, as many are sent as can be paid', async () => {
    const caller = await addCaller(store, 3 * BILL);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => create(caller, { model: 'gpt-x' })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(vendor.requests).toHaveLength(3);
    expect(await readBalance(store, caller.user.id)).toBe(0);
  });

  test('a repeat with an Idempotency-Key gets the object that was billed', async () => {
    const caller = await addCaller(store);
    const keyed = (value: JsonObject, idempotencyKey = 'k-1') => create(caller, value, { idempotencyKey });
    const value = { model: 'vid-x', prompt: 'a', seconds: 2 };
    const refused = { model: 'vid-x', prompt: '400', seconds: 2 };
    expect((await keyed(refused)).status).toBe(400);
    // It failed, so the key is free.
    const sent = await Promise.all([keyed(value), keyed(value), keyed(value)]);
    expect(sent.map(({ replayed }) => replayed).sort()).toEqual([false, true, true]);
    const again = await keyed(value);
    expect(again.replayed).toBe(true);
    expect((await read(again)).body).toMatchObject({ object: 'video', progress: 100 });
    expect(vendor.requests.filter(({ method, body }) => method === 'POST' && body.prompt === 'a')).toHaveLength(1);
    expect(await spent(caller)).toBe(2 * SECOND);
    expect((await catchFailure(keyed({ ...value, seconds: 3 }))).code).toBe('tasks.idempotency_key_reused');
    expect((await catchFailure(keyed(value, 'naïve'))).code).toBe('tasks.invalid_idempotency_key');
    const stream = { model: 'gpt-x', stream: true };
    await new Response(readStream(await keyed(stream, 'k-2'))).text();
    expect((await catchFailure(keyed(stream, 'k-2'))).code).toBe('tasks.idempotency_not_replayable');
    // Another user's key is separate.
    const other = await addCaller(store);
    expect((await create(other, value, { idempotencyKey: 'k-1' })).replayed).toBe(false);
  });

  test('after a jump of the clock or a suspend a process refunds none of its own open requests', async () => {
    const quick: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };
    let looks = 0;
    const relays: Store['relays'] = {
      ...store.relays,
      async interrupted(...given) {
        const found = await store.relays.interrupted(...given);
        looks += 1;
        return found;
      },
    };
    // Its timeout passes a hundred times faster too.
    const node = await startEngine({ ...store, relays }, sandbox, { clock: quick, submitTimeoutMs: 100 * FAR_MS });
    const caller = await addCaller(store);
    await node.relay.start();
    const sent = create(caller, { model: 'gpt-x', user: 'hang' }, { on: node });
    await until(() => vendor.requests.length === 1);
    // Another node would be right to end it.
    isAlone = true;
    await runRaw(opened(), 'update relay_requests set lease_until = 1');
    const before = looks;
    await until(() => looks > before + 2);
    vendor.release();
    expect((await read(await sent)).status).toBe(200);
    expect(await spent(caller)).toBe(BILL);
    isAlone = false;
    await node.stop();
  });

  test('a repeat waits for its first request; beyond the user’s limit it is asked to retry', async () => {
    const caller = await addCaller(store);
    const keyed = (change: Partial<ClientRequest> = {}) =>
      create(caller, { model: 'gpt-x', user: 'hang' }, { idempotencyKey: 'slow', ...change });
    const first = keyed();
    await until(() => vendor.requests.length === 1);
    const client = new AbortController();
    const leaving = catchFailure(keyed({ signal: client.signal }));
    client.abort();
    expect((await leaving).code).toBe('tasks.idempotency_in_progress');
    const repeats = Array.from({ length: 33 }, () => keyed().then(read, (error: unknown) => error));
    const refused = await Promise.race(repeats);
    expect(refused).toMatchObject({ code: 'tasks.idempotency_in_progress', kind: 'conflict', retryAfterSeconds: 5 });
    vendor.release();
    const { body } = await read(await first);
    const answers = (await Promise.all(repeats)).filter((answer) => answer !== refused);
    expect(answers).toHaveLength(32);
    for (const answer of answers)
      expect(answer, String(answer)).toMatchObject({ body: { id: body.id, progress: 100 } });
    expect(vendor.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(await spent(caller)).toBe(BILL);
  });

  test('an unknown outcome on an earlier channel stays, even if a later one refuses', async () => {
    const caller = await addCaller(store);
    const sent = () => create(caller, { model: 'gpt-bold', user: 'broken' }, { idempotencyKey: 'k' });
    expect((await catchFailure(sent())).code).toBe('tasks.vendor_failed');
    expect((await catchFailure(sent())).code).toBe('tasks.idempotency_outcome_unknown');
    expect(vendor.requests).toHaveLength(1);
  });

  test('a channel whose key cannot be read is skipped; its start named it, and no request does so again', async () => {
    const caller = await addCaller(store);
    engine.warnings.length = 0;
    for (let n = 0; n < 5; n += 1) {
      const reply = await read(await create(caller, { model: 'gpt-sealed', input: 'x' }));
      expect(reply.body).toMatchObject({ model: 'gpt-sealed', secret: 'x' });
    }
    expect(engine.warnings).toEqual([]);
    const before = await spent(caller);
    expect((await catchFailure(create(caller, { model: 'gpt-shut' }))).code).toBe('channels.key_unreadable');
    expect(await spent(caller)).toBe(before);
  });

  test('a request whose process died is refunded once, and a late answer is not billed', async () => {
    const caller = await addCaller(store);
    const sent = create(caller, { model: 'gpt-x', user: 'hang' }, { idempotencyKey: 'late' });
    await until(() => vendor.requests.length === 1);
    expect(await spent(caller)).toBe(BILL);
    await store.relays.expireLeases();
    const node = await startEngine(store, sandbox);
    await node.relay.start();
    await until(async () => (await spent(caller)) === 0);
    vendor.release();
    expect(await catchFailure(sent)).toMatchObject({ code: 'tasks.submission_interrupted', shouldRetry: false });
    expect(await spent(caller)).toBe(0);
    expect(await readRelay(caller)).toMatchObject({ status: 'REFUNDED', quota: 0 });
    expect([...node.warnings, ...engine.warnings].join('\n')).toContain('the vendor may have done the work');
    await node.stop();
    // The vendor may have done the work: a repeat must not buy it again.
    const again = create(caller, { model: 'gpt-x', user: 'hang' }, { idempotencyKey: 'late' });
    expect((await catchFailure(again)).code).toBe('tasks.idempotency_outcome_unknown');
    expect(vendor.requests).toHaveLength(1);
  });

  test('an insert and a bill with lost acknowledgements, and a bill that fails at first, are written once', async () => {
    const trouble: ('lost' | 'failed')[] = [];
    const store2: Store = {
      ...store,
      async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
        const now = trouble.shift();
        if (now === 'failed') throw new Error('the store fails');
        const value = await store.transaction(work);
        if (now === 'lost') throw new AppError('store.outcome_unknown', 'unavailable', { message: 'nobody knows' });
        return value;
      },
    };
    const node = await startEngine(store2, sandbox);
    const caller = await addCaller(store);
    trouble.push('lost');
    const sent = node.relay.create(caller, {
      kind: 'response',
      requestId: 'request',
      client: { ...jsonRequest({ model: 'gpt-x', user: 'hang' }), path: '/v1/responses' },
      headers: {},
    });
    await until(() => vendor.requests.length === 1);
    trouble.push('failed', 'lost');
    vendor.release();
    expect((await read(await sent)).status).toBe(200);
    expect(trouble).toEqual([]);
    expect(await spent(caller)).toBe(BILL);
    expect(await usage(caller)).toHaveLength(1);
    await node.stop();
  });

  test('a bill that is retried for long keeps its lease: no other node refunds it', async () => {
    const hurried: Clock = {
      ...systemClock,
      monotonicMs: () => systemClock.monotonicMs() * 50,
      sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
    };
    let failures = 0;
    let renewals = 0;
    const store2: Store = {
      ...store,
      relays: {
        ...store.relays,
        renew: async (...lease) => {
          if (failures > 0) renewals += 1;
          return store.relays.renew(...lease);
        },
      },
      async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
        // After the reservation: 16 s on the clock.
        if (vendor.requests.length === 0 || failures === 8) return store.transaction(work);
        failures += 1;
        throw new Error('the store fails');
      },
    };
    const node = await startEngine(store2, sandbox, { clock: hurried });
    const caller = await addCaller(store);
    const answer = await node.relay.create(caller, {
      kind: 'response',
      requestId: 'request',
      client: { ...jsonRequest({ model: 'gpt-x' }), path: '/v1/responses' },
      headers: {},
    });
    expect((await read(answer)).status).toBe(200);
    expect([failures, await spent(caller)]).toEqual([8, BILL]);
    expect(renewals).toBeGreaterThan(0);
    await node.stop();
  });

  const ids: [name: string, raw: string, id?: string][] = [
    ['a number beyond 2^53', '7615917337495251231'],
    ['a fraction as written', '1.50'],
    ['base64', '"a+b/c=="'],
    ['a digest of the store', `"=${'0'.repeat(64)}"`],
    ['blanks, pipes and a percent escape', '" a|b %2F c "'],
    ['a path', '"../../admin?x#y"'],
    ['other scripts', '"видео/影片😀"'],
    ['192 characters', JSON.stringify('a'.repeat(192))],
    ['2,048 characters', JSON.stringify('é'.repeat(2048))],
  ];
  for (const [name, raw] of ids) {
    test(`an object is found by its vendor's id, by its owner alone: ${name}`, async () => {
      const [caller, other] = [await addCaller(store), await addCaller(store)];
      const id = raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
      const made = await read(await create(caller, { model: 'vid-x', prompt: `named ${raw}`, seconds: 1 }));
      expect(made.text).toContain(`"id":${raw}`);
      const path = `/v1/videos/${encodeURIComponent(id)}`;
      const calls: [Partial<RelayCall>, method: string, path: string][] = [
        [{ operation: 'retrieve' }, 'GET', path],
        [{ operation: 'content' }, 'GET', `${path}/content`],
        [{ operation: 'delete' }, 'DELETE', path],
      ];
      vendor.requests.length = 0;
      const named = { model: 'vid-x', prompt: 'a', seconds: 1, remix_video_id: id };
      expect((await catchFailure(create(other, named))).code).toBe('tasks.referenced_video_not_found');
      for (const [call] of calls)
        expect((await catchFailure(forward(other, 'video', { id, ...call }))).code).toBe('tasks.not_found');
      expect(vendor.requests).toEqual([]);
      expect((await create(caller, named)).status).toBe(200);
      for (const [call, method, path] of calls) {
        expect((await forward(caller, 'video', { id, ...call })).status).toBe(200);
        expect(vendor.requests.at(-1)).toMatchObject({ method, path });
      }

      const response = { model: 'gpt-x', user: `named ${raw}` };
      for (const stream of [false, true]) {
        await new Response((await create(caller, { ...response, stream })).body as never).text();
      }
      expect((await create(caller, { model: 'gpt-x', previous_response_id: id })).status).toBe(200);
      const taken = create(other, { model: 'gpt-x', previous_response_id: id });
      expect((await catchFailure(taken)).code).toBe('tasks.previous_response_not_found');
      for (const operation of ['retrieve', 'input_items', 'cancel'] as const)
        expect((await forward(caller, 'response', { id, operation })).status).toBe(200);
    });
  }

  test('parts with ids of any form are found by their owner', async () => {
    const [caller, other] = [await addCaller(store), await addCaller(store)];
    const item = `rs_${'x/+='.repeat(80)}`;
    const output = JSON.stringify([
      { type: 'reasoning', id: item },
      { type: 'code_interpreter_call', id: 4711, container_id: 'a b' },
    ]);
    await create(caller, { model: 'gpt-x', user: 'output', metadata: { output } });
    for (const input of [
      [{ type: 'item_reference', id: item }],
      [{ type: 'item_reference', id: 4711 }],
      [{ type: 'item_reference', id: '4711' }],
    ]) {
      expect((await create(caller, { model: 'gpt-x', input })).status).toBe(200);
      expect((await catchFailure(create(other, { model: 'gpt-x', input }))).code).toBe('tasks.relay_request_invalid');
    }
    const tools = [{ type: 'code_interpreter', container: 'a b' }];
    expect((await create(caller, { model: 'gpt-x', tools })).status).toBe(200);
    expect((await catchFailure(create(other, { model: 'gpt-x', tools }))).code).toBe('tasks.relay_request_invalid');
  });

  test("a number that names another user's object is refused as its text is", async () => {
    const [caller, other] = [await addCaller(store), await addCaller(store)];
    await create(caller, { model: 'gpt-x', user: 'named 12345' });
    await create(caller, { model: 'vid-x', prompt: 'named 12345', seconds: 1 });
    vendor.requests.length = 0;
    const seconds = 1;
    for (const body of [
      { model: 'gpt-x', previous_response_id: 12345 },
      { model: 'gpt-x', conversation: 12345 },
      { model: 'gpt-x', input: message({ type: 'input_file', file_id: 12345 }) },
      { model: 'vid-x', prompt: 'a', seconds, video: { id: 12345 } },
      { model: 'vid-x', prompt: 'a', seconds, remix_video_id: 12345 },
      { model: 'vid-x', prompt: 'a', seconds, character_ids: [12345] },
    ] as JsonObject[])
      await catchFailure(create(other, body));
    expect(vendor.requests).toEqual([]);
    expect((await create(caller, { model: 'gpt-x', previous_response_id: 12345 })).status).toBe(200);
    // What the parser made of it may not be what the vendor reads.
    const inexact = catchFailure(create(caller, { model: 'gpt-x', previous_response_id: 2 ** 60 }));
    expect((await inexact).message).toContain('as a string');
  });

  for (const [name, raw] of [
    ['more than 2,048 characters', JSON.stringify('a'.repeat(2049))],
    ['30,000 characters', JSON.stringify('a'.repeat(30_000))],
    ['a segment of dots, which an address would lose', '".."'],
    ['control characters', '"a\\u0000b"'],
    ['half a character', '"\\ud800"'],
  ] as const) {
    test(`an answer whose id cannot be used goes to its client, and that is logged: ${name}`, async () => {
      const caller = await addCaller(store);
      for (const stream of [false, true]) {
        engine.warnings.length = 0;
        const answer = await create(caller, { model: 'gpt-x', user: `named ${raw}`, stream });
        expect(await new Response(answer.body as never).text()).toContain(`"id":${raw}`);
        expect(engine.warnings.join('\n')).toContain('its object cannot be retrieved');
      }
      const id = JSON.parse(raw) as string;
      expect((await catchFailure(forward(caller, 'response', { id }))).code).toBe('tasks.not_found');
    });
  }

  test('content behind a redirect to another host is fetched without the credential, from public hosts alone', async () => {
    const seen: [method: string, path: string, authorization: string | null, range: string | null][] = [];
    const target = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch({ method, url, headers }) {
        seen.push([method, new URL(url).pathname, headers.get('authorization'), headers.get('range')]);
        // Signed for GET alone.
        return method === 'GET' ? new Response('bytes') : new Response(null, { status: 403 });
      },
    });
    const host = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: ({ url }) =>
        url.endsWith('/content')
          ? new Response(null, { status: 302, headers: { location: `${target.url}file?signature=1` } })
          : Response.json({ id: 'video_away', object: 'video', status: 'completed' }),
    });
    const lenient = await startEngine(store, sandbox, { allowPrivate: true });
    const caller = await addCaller(store);
    await engine.billing.prices.save({ pluginKey: '*', model: 'vid-away', expression: '0' });
    const fields = { name: 'away', type: 1, key: 'sk-0123456789', baseUrl: host.url.origin, models: ['vid-away'] };
    const channel = await engine.addChannel({ ...fields, taskPluginKey: undefined as never });
    const id = 'video_away';
    await create(caller, { model: 'vid-away', prompt: 'a' }, { kind: 'video' });
    const download = (on: Engine, headersOnly: boolean) =>
      on.relay.forward(
        { userId: caller.user.id, kind: 'video', id },
        {
          ...{ operation: 'content', headersOnly, query: {}, headers: { range: 'bytes=0-4', authorization: 'x' } },
          signal: new AbortController().signal,
        },
      );
    expect((await catchFailure(download(engine, false))).code).toBe('tasks.vendor_failed');
    expect(seen).toEqual([]);
    const got = await download(lenient, false);
    expect([got.status, await new Response(got.body as never).text()]).toEqual([200, 'bytes']);
    const checked = await download(lenient, true);
    expect([checked.status, checked.body, checked.headers['content-length']]).toEqual([200, null, '5']);
    expect(seen).toEqual([
      ['GET', '/file', null, 'bytes=0-4'],
      ['HEAD', '/file', null, 'bytes=0-4'],
      ['GET', '/file', null, 'bytes=0-4'],
    ]);
    await engine.channels.delete(channel);
    await lenient.stop();
    await Promise.all([target.stop(true), host.stop(true)]);
  });

  test('requests are deleted after 30 days, objects after 90', async () => {
    const caller = await addCaller(store);
    const { body } = await read(await create(caller, { model: 'gpt-x' }));
    const id = String(body.id);
    const { relayId } = await readRelay(caller);
    let days = 0;
    const later: Clock = { ...systemClock, unix: () => systemClock.unix() + days * 86_400 };
    const node = await startEngine(store, sandbox, { clock: later });
    const after = async (passed: number) => {
      days = passed;
      while ((await node.relay.deleteOld(100)) > 0);
      return [await store.relays.byRelayId(relayId), await store.relays.ownObject(caller.user.id, 'response', id)];
    };
    expect(await after(29)).not.toContain(undefined);
    expect(await after(31)).toEqual([undefined, expect.objectContaining({ objectId: id })]);
    expect(await after(91)).toEqual([undefined, undefined]);
    expect((await store.ledger.byTask(relayId)).length).toBeGreaterThan(0);
    await node.stop();
  });

  test('a model is relayed when no plugin serves it and a relay channel lists it', async () => {
    const caller = await addCaller(store);
    const { relay } = engine;
    expect(relay.takes(caller, 'response', 'gpt-x')).toBe(true);
    expect(relay.takes(caller, 'video', 'vid-x')).toBe(true);
    expect(relay.takes(caller, 'video', 'demo-video')).toBe(false);
    expect(relay.takes(caller, 'video', 'nobody-lists-this')).toBe(false);
    expect(relay.takes(caller, 'response', '')).toBe(false);
  });
};

const message = (content: JsonObject) => [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, content] }];

/** Objects in the vendor's account, at every place where a request can name them. */
const shared: [JsonObject, code: string, param: string][] = (
  [
    [{ conversation: {} }, 'conversation'],
    [{ prompt: { id: 'pmpt_1', variables: {} } }, 'prompt'],
    [{ input: message({ type: 'input_file', file_id: 'file-1' }) }, 'input'],
    [{ input: message({ type: 'input_image', file_id: 'file-1', image_url: null }) }, 'input'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: message({ file_id: 'file-1' }) }] }, 'input'],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, 'input'],
    [{ input: [{ type: 'web_search_call', id: 'ws_1', status: 'completed' }] }, 'input'],
    [{ input: [{ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }] }, 'input'],
    [{ input: [{ type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'cntr_1' }] }, 'input'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools'],
    [{ tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-1'] } }] }, 'tools'],
    [{ tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }] }, 'tools'],
    [{ tools: [{ type: 'image_generation', input_image_mask: { file_id: 'file-1' } }] }, 'tools'],
    [{ tools: [{ type: 'shell', environment: { skills: [{ skill_id: 'skill_1' }] } }] }, 'tools'],
    [{ thread_id: 'thread_1' }, 'thread_id'],
    [{ something_new: { deeper: [{ batch_id: 'b' }] } }, 'something_new'],
  ] as [JsonObject, string][]
).map(([fields, param]) => [fields, 'relay_request_invalid', param]);

test('slow loris: a dripping refusal is cut off, and the part that came is forwarded', async () => {
  let left = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(1);
      controller.enqueue(new TextEncoder().encode('.'));
    },
    cancel() {
      left = true;
    },
  });
  const response = { status: 500, headers: {}, stream: () => body } as unknown as UpstreamResponse;
  // A clock that runs a hundred times as fast.
  const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };
  const answer = await refusalAnswer(clock, response, ['a key of the vendor']);
  expect(left).toBeTrue();
  expect(answer).toMatchObject({ status: 500, body: expect.any(Uint8Array) });
  for (const status of [700, 999]) {
    expect(
      await catchFailure(
        refusalAnswer(clock, { ...response, status, stream: () => new Response('x').body } as never, ['k']),
      ),
    ).toMatchObject({
      code: 'tasks.vendor_failed',
      message: `The vendor responded with HTTP ${status}.`,
    });
  }
});

test.each([
  ['a word for a key', 'ollama', { model: 'ollama' }, { model: 'ollama' }],
  ['a short key', 'not-needed', { text: 'not-needed' }, { text: 'not-needed' }],
  ['a key', 'sk-0123456789abcdef', { text: 'sk-0123456789abcdef' }, { text: '[redacted]' }],
])('a good answer with %s in it', (_name, key, said, reply) => {
  const clean = redactKey(new TextEncoder().encode(JSON.stringify(said)), [key]);
  expect(JSON.parse(new TextDecoder().decode(clean))).toEqual(reply);
});

test('slow redaction: a good answer of more than 1 MiB is not searched', () => {
  const body = new TextEncoder().encode(`sk-0123456789abcdef${'x'.repeat(1024 * 1024)}`);
  expect(redactKey(body, ['sk-0123456789abcdef'])).toBe(body);
});

test('a refusal keeps words that equal a short key, and loses longer keys', async () => {
  const refusalWith = async (key: string) => {
    const response = { status: 400, headers: {}, stream: () => new Response('ollama my-secret!').body };
    const { body } = await refusalAnswer(systemClock, response as never, [key]);
    return new TextDecoder().decode(body as Uint8Array);
  };
  expect(await refusalWith('ollama')).toBe('ollama my-secret!');
  expect(await refusalWith('my-secret')).toBe('ollama [redacted]!');
});

describeEachStore(
  'the relay',
  (opened) => {
    // A nested suite, so that the engine stops before its store closes.
    describe('between clients and vendors', () => describeRelay(opened));
  },
  { databases: RULE_DATABASES },
);

const readStream = ({ body }: RelayAnswer): ReadableStream<Uint8Array> => {
  if (!(body instanceof ReadableStream)) throw new Error('no stream');
  return body;
};

async function read({ status, headers, body }: RelayAnswer): Promise<Reply> {
  const text = await new Response(body as never).text();
  return { status, headers, text, body: JSON.parse(text) as Json as JsonObject };
}

async function catchFailure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`expected an AppError, got ${String(error)}`);
  return error;
}
