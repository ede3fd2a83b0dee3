import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { AppError, type Json, type JsonObject } from '../../src/kernel/index.ts';
import type { RelayAnswer } from '../../src/relay/types.ts';
import type { RelayKind, Store } from '../../src/store/ports/index.ts';
import type { Caller, ClientRequest } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { type ChatVendor, SPOKEN, startChatVendor } from '../support/chat-vendor.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** Quota of one token, image or second; 500,000 are one US dollar. */
const INPUT = 10;
const OUTPUT = 100;
const CACHED = 1;
const IMAGE = 10_000;
const usd = (quota: number) => quota / 500_000;
const EXPRESSION = `${usd(INPUT)} * max(0, u("input_tokens") - u("cached_tokens")) + ${usd(CACHED)} * u("cached_tokens") + ${usd(OUTPUT)} * u("output_tokens")`;
/** Whether a request names this fact so, or not at all. */
const isPlain = (fact: string, plain: string) => `u("${fact}") == "default" || u("${fact}") == "${plain}"`;
const MESSAGES = [{ role: 'user', content: 'say something nice to me please' }];

const describeUsage = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  let vendor: ChatVendor;

  beforeAll(async () => {
    store = opened().store;
    const links = { days: 0, invalidPerMinute: 60, downloads: { node: 128, address: 2, artifact: 16 } };
    engine = await startEngine(store, sandbox, { tickMs: 20, links });
    vendor = await startChatVendor();
    const models = ['chat', 'flat', 'embed', 'draw', 'listen', 'speak', 'seek', 'rush', 'paint'];
    const channel = { name: 'relay', type: 1, key: vendor.key, baseUrl: vendor.url, taskPluginKey: undefined };
    await engine.addChannel({ ...channel, models, modelMapping: { chat: 'chat-real' } });
    await engine.addChannel({ ...channel, models: ['trio'], bodyDefaults: { n: 3 } });
    await engine.addChannel({ ...channel, models: ['short'], settings: { default_max_tokens: 10 } });
    const prices = {
      chat: EXPRESSION,
      short: EXPRESSION,
      flat: '0.04',
      trio: '0.04',
      embed: `${usd(INPUT)} * u("input_tokens")`,
      draw: `${usd(IMAGE)} * u("images")`,
      listen: `${usd(OUTPUT)} * u("seconds")`,
      speak: `${usd(INPUT)} * u("characters")`,
      seek: `${usd(OUTPUT)} * u("output_tokens") + ${usd(IMAGE)} * u("tool_calls")`,
      rush: `(u("service_tier") == "priority" ? 2 : 1) * ${usd(OUTPUT)} * u("output_tokens")`,
      paint: `${usd(IMAGE)} * u("images") * (1 + (${isPlain('size', '1024x1024')} ? 0 : 1) + (${isPlain('quality', 'standard')} ? 0 : 4))`,
    };
    for (const [model, expression] of Object.entries(prices))
      await engine.billing.prices.save({ pluginKey: '*', model, expression });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop();
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  type Sent = { value?: JsonObject } & Partial<ClientRequest>;
  const create = (caller: Caller, kind: RelayKind, value: JsonObject) => send(caller, kind, { value });
  const send = (caller: Caller, kind: RelayKind, { value = {}, ...change }: Sent) =>
    engine.relay.create(caller, {
      kind,
      requestId: 'request',
      client: { ...jsonRequest(value), ...change },
      headers: {},
    });
  const spent = async ({ user }: Caller) => BALANCE - (await readBalance(store, user.id));
  const usage = async ({ user }: Caller) =>
    (await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 50 })).items;
  const sold = async (work: () => Promise<unknown>) => {
    const before = { ...vendor.sold };
    await work();
    return Object.fromEntries(
      Object.entries(vendor.sold).map(([name, count]) => [name, count - before[name as keyof typeof before]]),
    ) as typeof vendor.sold;
  };
  const readBill = ({ input, output, cached }: typeof vendor.sold) =>
    INPUT * (input - cached) + CACHED * cached + OUTPUT * output;

  for (const stream of [false, true]) {
    test(`a chat is billed by the vendor's own count, ${stream ? 'streamed' : 'read whole'}`, async () => {
      const caller = await addCaller(store);
      const count = await sold(async () =>
        text(await create(caller, 'chat', { model: 'chat', messages: MESSAGES, stream })),
      );
      expect(await spent(caller)).toBe(readBill(count));
      expect(count.output).toBe(8);
      const [row, ...more] = await usage(caller);
      expect(more).toEqual([]);
      expect(row?.detail).toMatchObject({
        completion_facts: { input_tokens: count.input, output_tokens: 8, cached_tokens: count.cached },
        facts: { output_tokens: 4096, cached_tokens: 0 },
      });
      const relay = await store.relays.byRelayId(row?.taskId ?? '');
      expect(relay).toMatchObject({ kind: 'chat', status: 'BILLED', quota: readBill(count), httpStatus: 200 });
    });
  }

  test('a stream passes byte for byte; usage that the client did not ask for is asked for and taken out', async () => {
    const caller = await addCaller(store);
    const body = { model: 'chat', messages: MESSAGES, stream: true };
    const asked = await text(await create(caller, 'chat', { ...body, stream_options: { include_usage: true, x: 1 } }));
    expect(vendor.requests.at(-1)?.body).toMatchObject({
      model: 'chat-real',
      stream_options: { include_usage: true, x: 1 },
    });
    const direct = await fetch(`${vendor.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${vendor.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model: 'chat-real', stream_options: { include_usage: true } }),
    });
    const ids = /chatcmpl-\d+/g;
    expect(asked.replaceAll(ids, '')).toBe((await direct.text()).replaceAll(ids, ''));

    for (const options of [undefined, { include_usage: false, x: 1 }]) {
      const plain = await text(
        await create(caller, 'chat', { ...body, ...(options ? { stream_options: options } : {}) }),
      );
      expect(vendor.requests.at(-1)?.body.stream_options).toEqual({ ...options, include_usage: true });
      const events = (answer: string) => answer.replaceAll(ids, '').split('\n\n');
      expect(events(plain)).toEqual(events(asked).filter((event) => !event.includes('"choices":[]')));
      expect(events(plain)).toHaveLength(events(asked).length - 1);
    }
  });

  test('reserved: the largest limit of the request, else that of the channel, once for each choice', async () => {
    const rows: [model: string, body: JsonObject, reserved: number][] = [
      ['chat', {}, 4096],
      ['chat', { max_tokens: 50 }, 50],
      ['chat', { max_tokens: 50, max_completion_tokens: 20, n: 2 }, 100],
      ['chat', { max_tokens: 20, max_completion_tokens: 50, n: '3', best_of: 2 }, 150],
      ['chat', { max_tokens: 20, max_output_tokens: 70, max_new_tokens: 60, n: 1, best_of: 4 }, 280],
      ['chat', { max_tokens: null, max_completion_tokens: 30, n: null }, 30],
      ['chat', { max_tokens: 0, max_completion_tokens: 30 }, 4096],
      ['chat', { max_tokens: 1, thinking_budget: 70, n: 2 }, 140],
      ['chat', { max_tokens: 1, thinking: { type: 'enabled', budget_tokens: 70 } }, 70],
      ['chat', { max_tokens: 100, reasoning: { max_tokens: 70 } }, 100],
      ['chat', { max_tokens: 100, thinking_budget: -1, thinking: null, reasoning: { max_tokens: 'x' } }, 100],
      ['short', {}, 10],
      ['short', { max_tokens: 0 }, 10],
    ];
    for (const [model, body, reserved] of rows) {
      const caller = await addCaller(store);
      await create(caller, 'chat', { model, messages: MESSAGES, ...body });
      const [row] = await usage(caller);
      expect(row?.detail).toMatchObject({ facts: { output_tokens: reserved } });
    }
  });

  test('reserved for a response: its max_output_tokens', async () => {
    const caller = await addCaller(store);
    await create(caller, 'response', { model: 'chat', input: 'hello', max_output_tokens: 77 });
    const [row] = await usage(caller);
    expect(row?.detail).toMatchObject({ facts: { output_tokens: 77 } });
  });

  test('negative balance: two limits cannot reserve the smaller one, in parallel requests on one key', async () => {
    const caller = await addCaller(store, 20_000);
    const before = vendor.requests.length;
    const body = { model: 'chat', messages: MESSAGES, max_completion_tokens: 1, max_tokens: 50_000 };
    const sent = await Promise.all(Array.from({ length: 5 }, () => readCode(create(caller, 'chat', body))));
    expect(sent).toEqual(Array(5).fill('billing.insufficient_quota'));
    expect(vendor.requests).toHaveLength(before);
    expect(await readBalance(store, caller.user.id)).toBe(20_000);
  });

  test('negative balance: the history behind an earlier answer is reserved too', async () => {
    const caller = await addCaller(store);
    const answer = (fields: JsonObject) =>
      vendor.answerNext(JSON.stringify({ object: 'response', status: 'completed', ...fields }));
    const ask = (more: JsonObject) => create(caller, 'response', { model: 'chat', input: 'hi', ...more });
    const reserved = async () => {
      const [row] = await usage(caller);
      return Number((row?.detail.facts as JsonObject | undefined)?.input_tokens);
    };
    /** Tokens of the members that name it. */
    const WORDS = 60;
    const output = [{ type: 'message', id: 'msg_history', content: [] }];
    answer({ id: 'resp_history', output, usage: { input_tokens: 3000, output_tokens: 500 } });
    await ask({});
    const alone = await reserved();

    const items = [{ type: 'item_reference', id: 'msg_history' }];
    const rows: [more: JsonObject, tokens: number][] = [
      [{ previous_response_id: 'resp_history' }, 3500],
      [{ input: items }, 500],
      [{ input: items, previous_response_id: 'resp_history' }, 3500],
    ];
    for (const [more, tokens] of rows) {
      answer({ id: `resp_${tokens}`, output: [], usage: { input_tokens: 1, output_tokens: 1 } });
      await ask(more);
      expect(await reserved()).toBeWithin(tokens + alone, tokens + alone + WORDS);
    }
    // A report that nobody believed is not a measure.
    answer({ id: 'resp_liar', output: [], usage: { input_tokens: 1e12, output_tokens: 1 } });
    await ask({});
    await ask({ previous_response_id: 'resp_liar', max_output_tokens: 10 });
    expect(await reserved()).toBeLessThan(2 * alone + 5000);
  });

  test('negative balance: documents that a balance cannot cover are refused, all eight at once', async () => {
    const caller = await addCaller(store, 20_000);
    const before = vendor.requests.length;
    const file_data = `data:text/plain;base64,${Buffer.alloc(20_000, 'a b c d ').toString('base64')}`;
    const messages = [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.txt', file_data } }] }];
    const sent = await Promise.all(
      Array.from({ length: 8 }, () => readCode(create(caller, 'chat', { model: 'chat', messages, max_tokens: 10 }))),
    );
    expect(sent).toEqual(Array(8).fill('billing.insufficient_quota'));
    expect(vendor.requests).toHaveLength(before);
  });

  const differing: [RelayKind, member: string, value: Json][] = [
    ...['50000', 50_000.5, 1e16, -1, true, [50_000], {}, '', Number.POSITIVE_INFINITY].flatMap(
      (value): [RelayKind, string, Json][] => [
        ['chat', 'max_tokens', value],
        ['chat', 'max_completion_tokens', value],
        ['response', 'max_output_tokens', value],
      ],
    ),
    ...['two', 1.5, 0, -1, 1e16, true, [2], {}, '1e3', ' 2', '0x2'].flatMap((value): [RelayKind, string, Json][] => [
      ['chat', 'n', value],
      ['chat', 'best_of', value],
      ['image', 'n', value],
      ['image', 'batch_size', value],
    ]),
    ...['true', 'false', 'yes', 1, 0, [true], {}, ''].flatMap((value): [RelayKind, string, Json][] => [
      ['chat', 'stream', value],
      ['response', 'stream', value],
      ['image', 'stream', value],
      ['response', 'background', value],
    ]),
    ['chat', 'stream_options', 'include_usage'],
    ['chat', 'stream_options', [{ include_usage: true }]],
    ['chat', 'stream_options.include_usage', 'true'],
    ['chat', 'stream_options.Include_Usage', false],
    // What a vendor that ignores case or folds Unicode reads as another member.
    ['chat', 'Model', 'dear'],
    ['chat', 'MAX_TOKENS', 50_000],
    ['chat', 'STREAM', true],
    ['chat', '\u017ftream', true],
    ['chat', 'max_to\u212aens', 50_000],
    ['image', 'N', 10],
    ['speech', 'Input', 'a longer text'],
    ['response', 'Background', true],
  ];
  test('free output: a member that the vendor could read differently is refused by its name', async () => {
    const caller = await addCaller(store);
    const before = vendor.requests.length;
    for (const [kind, member, value] of differing) {
      const [name = '', inner] = member.split('.');
      const sent = { model: 'chat', input: 'x', [name]: inner === undefined ? value : { [inner]: value } };
      const error = await catchFailure(create(caller, kind, sent));
      expect([kind, member, value, error.code, error.param]).toEqual([
        ...[kind, member, value],
        ...['tasks.relay_request_invalid', member],
      ]);
      expect(error.message).toContain(inner ?? name);
    }
    const forms: [RelayKind, Record<string, string[]>, param: string][] = [
      ['image_edit', { stream: ['yes'] }, 'stream'],
      ['image_edit', { stream: ['1'] }, 'stream'],
      ['image_edit', { stream: ['True'] }, 'stream'],
      ['image_edit', { n: ['many'] }, 'n'],
      ['image_edit', { n: ['2', '3'] }, 'n'],
      ['image_edit', { 'n[]': ['2'] }, 'n[]'],
      ['image_edit', { N: ['9'] }, 'N'],
      ['image_edit', { max_tokens: ['1e9'] }, 'max_tokens'],
      ['transcription', { stream: ['on'] }, 'stream'],
      ['transcription', { Stream: ['true'] }, 'Stream'],
    ];
    for (const [kind, fields, param] of forms) {
      const body = { kind: 'multipart' as const, fields: { model: ['draw'], ...fields }, files: [] };
      const error = await catchFailure(send(caller, kind, { contentType: 'multipart/form-data', body }));
      expect([fields, error.code, error.param]).toEqual([fields, 'tasks.relay_request_invalid', param]);
    }
    expect(vendor.requests).toHaveLength(before);
    expect(await spent(caller)).toBe(0);
  });

  test('members of other kinds may have any type: a background that is a color', async () => {
    const caller = await addCaller(store);
    const body = { model: 'draw', prompt: 'a cat', background: 'transparent', Quality: 1, stream: null, n: null };
    expect((await create(caller, 'image', body)).status).toBe(200);
  });

  test('a request that the balance cannot cover is refused before the vendor gets it', async () => {
    const caller = await addCaller(store);
    const before = vendor.requests.length;
    const body = { model: 'chat', messages: MESSAGES, max_tokens: BALANCE };
    expect(await readCode(create(caller, 'chat', body))).toBe('billing.insufficient_quota');
    expect(vendor.requests).toHaveLength(before);
    expect(await spent(caller)).toBe(0);
  });

  test('a stream that the client leaves is billed by what came', async () => {
    const caller = await addCaller(store);
    const body = { model: 'chat', messages: MESSAGES, stream: true, user: 'slow', max_tokens: 1000 };
    const left = vendor.streams.left;
    const reader = (await create(caller, 'chat', body)).body as ReadableStream<Uint8Array>;
    const opened = reader.getReader();
    let seen = '';
    while (!seen.includes('Grüße')) seen += new TextDecoder().decode((await opened.read()).value);
    expect(await spent(caller)).toBeGreaterThan(1000 * OUTPUT);
    await opened.cancel();
    await until('the stream is billed', async () => (await usage(caller)).length === 1);
    await until('the vendor’s stream is closed', () => vendor.streams.left === left + 1);
    const [row] = await usage(caller);
    // "Grüße" has seven bytes.
    expect(row?.detail).toMatchObject({ completion_facts: { output_tokens: 2 } });
    const reserved = Number((row?.detail.facts as JsonObject | undefined)?.input_tokens);
    expect(await spent(caller)).toBe(reserved * INPUT + 2 * OUTPUT);
  });

  test('a stream that the vendor breaks breaks for the client too, and is billed by what came', async () => {
    const caller = await addCaller(store);
    const body = { model: 'chat', messages: MESSAGES, stream: true, user: 'broken' };
    expect(
      await text(await create(caller, 'chat', body)).then(
        () => 'whole',
        () => 'broken',
      ),
    ).toBe('broken');
    const [row] = await usage(caller);
    expect(row?.detail).toMatchObject({ completion_facts: { output_tokens: 2 } });
  });

  test('without usage, a whole stream is billed by what came and a whole answer by its reservation', async () => {
    const caller = await addCaller(store);
    const body = { model: 'chat', messages: MESSAGES, user: 'silent', max_tokens: 77 };
    await text(await create(caller, 'chat', { ...body, stream: true }));
    await create(caller, 'chat', body);
    const [whole, streamed] = await usage(caller);
    // 44 bytes of text.
    expect(streamed?.detail).toMatchObject({ completion_facts: { output_tokens: 11 } });
    expect(whole?.detail).toMatchObject({ kept_reservation: 'The vendor reported no usage.', difference: 0 });
  });

  const nothing: [name: string, kind: RelayKind, model: string, answer: unknown][] = [
    ['no images', 'image', 'draw', { created: 1, data: [] }],
    ['null', 'image', 'draw', null],
    ['images that are null', 'image', 'draw', { data: [null, { url: null, b64_json: null }, { url: '' }] }],
    ['a list of null', 'image', 'draw', [null]],
    ['an error object for images', 'image', 'draw', { error: { message: 'no capacity' } }],
    ['no choices', 'chat', 'chat', { choices: [] }],
    ['an error object for a chat', 'chat', 'chat', { error: { message: 'no capacity' } }],
    ['a failed response', 'response', 'chat', { id: 'resp_1', status: 'failed', output: [], usage: null }],
    ['no embeddings', 'embedding', 'embed', { data: [] }],
    ['an error object for a transcription', 'transcription', 'listen', { error: { message: 'no capacity' } }],
  ];
  for (const [name, kind, model, answer] of nothing) {
    test(`an answer without result costs nothing where the price counts results: ${name}`, async () => {
      const caller = await addCaller(store);
      vendor.answerNext(JSON.stringify(answer));
      const body = { kind: 'multipart' as const, fields: { model: [model] }, files: [soundFile(160_000)] };
      const reply = await (kind === 'transcription'
        ? send(caller, kind, { contentType: 'multipart/form-data', body })
        : create(caller, kind, { model, messages: MESSAGES, input: 'x', n: 2 }));
      expect([reply.status, await text(reply)]).toEqual([200, JSON.stringify(answer)]);
      expect(await spent(caller)).toBe(0);
    });
  }

  const CHAT = '{"choices":[{}],"usage":{"prompt_tokens":1,"completion_tokens":2}}';
  const CHAT_EVENTS = `data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: ${CHAT}\n\ndata: [DONE]\n\n`;
  const SOUND = Buffer.from('OggS\0\u0002<not html');
  const mislabelled: [RelayKind, stream: boolean, type: string, body: string | Uint8Array, becomes: string][] = [
    ...[
      'text/plain; charset=utf-8',
      'text/json',
      'application/octet-stream',
      'binary/octet-stream',
      'text/html',
      '',
    ].flatMap((type): [RelayKind, boolean, string, string, string][] => [
      ['chat', false, type, CHAT, 'application/json'],
      ['chat', false, type, `\uFEFF \n{${' '.repeat(100)}${CHAT.slice(1)}`, 'application/json'],
      ['chat', true, type, CHAT_EVENTS, 'text/event-stream'],
      ['chat', true, type, `\n: waiting\n\n${CHAT_EVENTS}`, 'text/event-stream'],
      ['image', false, type, '{"data":[{"url":"https://v.example/1.png"}]}', 'application/json'],
      ['embedding', false, type, '{"data":[{}],"usage":{"prompt_tokens":1}}', 'application/json'],
    ]),
    ['chat', true, 'application/json', CHAT_EVENTS, 'text/event-stream'],
    ...[
      'audio/ogg',
      'application/ogg',
      'video/mp4',
      'video/webm',
      'binary/octet-stream',
      'application/octet-stream',
    ].map((type): [RelayKind, boolean, string, Uint8Array, string] => ['speech', false, type, SOUND, type]),
    ['transcription', false, 'text/plain', '[Music]', 'text/plain'],
    ['transcription', false, 'text/json', '{"text":"hi","usage":{"seconds":1}}', 'application/json'],
    ['transcription', false, '', '{"text":"hi","usage":{"seconds":1}}', 'application/json'],
  ];
  const MODELS = { chat: 'chat', image: 'draw', embedding: 'embed', speech: 'speak', transcription: 'listen' };
  const ask = (caller: Caller, kind: keyof typeof MODELS, stream: boolean) => {
    const model = MODELS[kind];
    const body = { kind: 'multipart' as const, fields: { model: [model] }, files: [soundFile(160_000)] };
    if (kind === 'transcription') return send(caller, kind, { contentType: 'multipart/form-data', body });
    return create(caller, kind, { model, messages: MESSAGES, input: 'x', stream });
  };

  test('an answer with a wrong label is what its content is: paid work is not lost', async () => {
    for (const [kind, stream, type, body, becomes] of mislabelled) {
      const caller = await addCaller(store);
      vendor.answerNext(body, type);
      const answer = await ask(caller, kind as keyof typeof MODELS, stream);
      const { 'content-type': label } = answer.headers;
      expect([kind, stream, type, answer.status, label]).toEqual([kind, stream, type, 200, becomes]);
      expect(Buffer.from(await readBytes(answer)).equals(Buffer.from(body))).toBe(true);
      if (kind === 'chat') expect([type, await spent(caller)]).toEqual([type, INPUT + 2 * OUTPUT]);
    }
  });

  test('a wrong label on an encoded answer does not hide its content', async () => {
    const caller = await addCaller(store);
    vendor.answerNext(gzipSync(CHAT), 'text/plain', 'gzip');
    expect(await text(await ask(caller, 'chat', false))).toBe(CHAT);
    expect(await spent(caller)).toBe(INPUT + 2 * OUTPUT);
  });

  test('the client gets the first event of a stream with a wrong label as soon as it comes', async () => {
    const caller = await addCaller(store);
    vendor.answerNext(['data: {"choices":[{"delta":{"content":"hi"}}]}\n\n', 'data: [DONE]\n\n'], 'text/plain');
    const reader = ((await ask(caller, 'chat', true)).body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('hi');
    vendor.release();
    while (!(await reader.read()).done);
  });

  test('a web page, or other content that is not of this API, is refused under any label and costs nothing', async () => {
    const caller = await addCaller(store);
    const page = '\n<!DOCTYPE html><html><body>It works!</body></html>';
    const rows: [keyof typeof MODELS, type: string, body: string | Uint8Array][] = [
      ...['text/html', 'text/plain', 'application/octet-stream', 'application/json', ''].flatMap(
        (type): [keyof typeof MODELS, string, string][] => [
          ['chat', type, page],
          ['speech', type, page],
          ['transcription', type, page],
        ],
      ),
      ['chat', 'text/plain', 'It works!'],
      ['chat', '', 'It works!'],
      ['chat', 'image/png', SOUND],
      ['embedding', 'application/octet-stream', SOUND],
      ['embedding', 'text/plain', CHAT_EVENTS],
      ['speech', 'text/plain', 'It works!'],
    ];
    for (const [kind, type, body] of rows) {
      vendor.answerNext(body, type);
      expect([kind, type, await readCode(ask(caller, kind, false))]).toEqual([kind, type, 'tasks.vendor_failed']);
    }
    expect(await spent(caller)).toBe(0);
  });

  test('an answer with a result but without usage, or one that is still to come, keeps its reservation', async () => {
    const counts = { input_tokens: 1, output_tokens: 0 };
    const rows: [RelayKind, unknown, fields?: JsonObject][] = [
      ['chat', { choices: [{ message: { content: '' } }] }],
      ['response', { id: 'resp_1', status: 'in_progress', output: [], usage: counts }, { background: true }],
      ['response', { id: 'resp_2', status: 'in_progress', output: [] }],
      ['response', { id: 'resp_3', status: 'completed', output: [{ type: 'message' }] }],
    ];
    for (const [kind, answer, fields] of rows) {
      const caller = await addCaller(store);
      vendor.answerNext(JSON.stringify(answer));
      const limits = { max_tokens: 77, max_output_tokens: 77 };
      await create(caller, kind, { model: 'chat', messages: MESSAGES, input: 'x', ...limits, ...fields });
      const [row] = await usage(caller);
      expect(row?.detail).toMatchObject({ kept_reservation: 'The vendor reported no usage.', difference: 0 });
    }
  });

  test('a price that reads no usage is charged when the answer begins', async () => {
    const caller = await addCaller(store);
    const body = { model: 'flat', messages: MESSAGES, stream: true, user: 'slow' };
    const reader = ((await create(caller, 'chat', body)).body as ReadableStream<Uint8Array>).getReader();
    expect(await usage(caller)).toHaveLength(1);
    await reader.cancel();
    expect(await spent(caller)).toBe(20_000);
  });

  test('a stream whose node died is refunded, and its late end bills nothing', async () => {
    const caller = await addCaller(store);
    const body = { model: 'chat', messages: MESSAGES, stream: true, user: 'slow' };
    const answer = await create(caller, 'chat', body);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await store.relays.expireLeases();
    const node = await startEngine(store, sandbox);
    await node.relay.start();
    await until('it is refunded', async () => (await spent(caller)) === 0);
    await node.stop();
    vendor.release();
    for (let step = await reader.read(); !step.done; ) step = await reader.read();
    expect(await spent(caller)).toBe(0);
    expect((await usage(caller)).map(({ kind }) => kind)).toEqual(['refund']);
  });

  test('embeddings, images, transcriptions and speech are billed by their own measures', async () => {
    const caller = await addCaller(store);
    const form = (fields: Record<string, string[]>, name: string): Partial<ClientRequest> => ({
      contentType: 'multipart/form-data',
      body: { kind: 'multipart', fields, files: [soundFile(160_000, name)] },
    });
    const rows: [string, expected: number, () => Promise<RelayAnswer>][] = [
      ['embeddings', 3 * INPUT, () => create(caller, 'embedding', { model: 'embed', input: ['one two', 'three'] })],
      ['images', 3 * IMAGE, () => create(caller, 'image', { model: 'draw', prompt: 'a cat', n: 3 })],
      ['one image', IMAGE, () => create(caller, 'image', { model: 'draw', prompt: 'a cat', user: 'silent' })],
      [
        'streamed images',
        2 * IMAGE,
        () => create(caller, 'image', { model: 'draw', prompt: 'a cat', n: 2, stream: true }),
      ],
      [
        'an edit',
        2 * IMAGE,
        () => send(caller, 'image_edit', form({ model: ['draw'], prompt: ['x'], n: ['2'] }, 'image')),
      ],
      ['a transcription', 7 * OUTPUT, () => send(caller, 'transcription', form({ model: ['listen'] }, 'file'))],
      // Subtitles report no usage: 160,000 bytes of an unknown format are at most 160 seconds.
      [
        'subtitles',
        160 * OUTPUT,
        () => send(caller, 'transcription', form({ model: ['listen'], response_format: ['srt'] }, 'file')),
      ],
      [
        'subtitles of which the client says that they are short',
        160 * OUTPUT,
        () =>
          send(caller, 'transcription', form({ model: ['listen'], response_format: ['srt'], seconds: ['1'] }, 'file')),
      ],
      ['speech', 5 * INPUT, () => create(caller, 'speech', { model: 'speak', input: 'Grüße', voice: 'alloy' })],
      [
        'speech of which another member has more text',
        13 * INPUT,
        () => create(caller, 'speech', { model: 'speak', input: 'Hi', Text: 'Grüße an alle', voice: 'a' }),
      ],
    ];
    for (const [name, expected, request] of rows) {
      const before = await spent(caller);
      const answer = await request();
      const bytes = await readBytes(answer);
      expect([name, answer.status, (await spent(caller)) - before]).toEqual([name, 200, expected]);
      if (name.startsWith('speech')) expect(bytes).toEqual(SPOKEN);
      if (name === 'an edit') expect(vendor.requests.at(-1)?.body.image).toMatch(/^image\.bin:.*:160000$/);
    }
  });

  test('bill evasion: usage behind more results than are remembered is read', async () => {
    const caller = await addCaller(store);
    const input = Array(10_010).fill('x');
    await create(caller, 'embedding', { model: 'embed', input });
    expect(await spent(caller)).toBe(10_010 * INPUT);
  });

  const ITEMS = [
    'reasoning',
    'web_search_call',
    'function_call',
    'web_search_call',
    'code_interpreter_call',
    'message',
  ];
  const output = ITEMS.map((type, nth) => ({ id: `item_${nth}`, type }));
  const spentTokens = { input_tokens: 5, output_tokens: 7 };
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const ended = (more: object) =>
    event('response.completed', { response: { id: 'resp_s', status: 'completed', ...more } });
  const done = output.flatMap((item) => [
    event('response.output_item.added', { item }),
    event('response.output_item.done', { item }),
  ]);
  const searched: [how: string, kind: RelayKind, answer: string, type: string, calls: number][] = [
    [
      'a whole answer',
      'response',
      JSON.stringify({ id: 'resp_s', status: 'completed', output, usage: spentTokens }),
      'application/json',
      3,
    ],
    ['a stream', 'response', [...done, ended({ output, usage: spentTokens })].join(''), 'text/event-stream', 3],
    [
      'a stream without its items',
      'response',
      [...done, ended({ usage: spentTokens })].join(''),
      'text/event-stream',
      3,
    ],
    ['its last event alone', 'response', ended({ output, usage: spentTokens }), 'text/event-stream', 3],
    [
      'a chat that reports searches',
      'chat',
      JSON.stringify({ choices: [{}], usage: { completion_tokens: 7, server_tool_use: { web_search_requests: 4 } } }),
      'application/json',
      4,
    ],
  ];
  for (const [how, kind, answer, type, calls] of searched)
    test(`free searches: calls of the vendor's tools are charged where the price reads them: ${how}`, async () => {
      const caller = await addCaller(store);
      vendor.answerNext(answer, type);
      const stream = type === 'text/event-stream';
      await readBytes(await create(caller, kind, { model: 'seek', input: 'x', messages: [], stream }));
      expect(await spent(caller)).toBe(7 * OUTPUT + calls * IMAGE);
    });

  test('free searches: calls of the vendor’s tools are reserved, by their limit where it is named', async () => {
    const web = { type: 'web_search' };
    const rows: [ask: JsonObject, calls: number][] = [
      [{}, 0],
      [{ tools: [{ type: 'function', name: 'f' }] }, 0],
      [{ tools: [web] }, 10],
      [{ tools: [web], max_tool_calls: 3 }, 3],
    ];
    for (const [ask, calls] of rows) {
      const enough = OUTPUT + calls * IMAGE;
      const body = { model: 'seek', input: 'x', max_output_tokens: 1, ...ask };
      const short = await addCaller(store, enough - 1);
      expect(await readCode(create(short, 'response', body))).toBe('billing.insufficient_quota');
      const paying = await addCaller(store, enough);
      vendor.answerNext(JSON.stringify({ id: 'resp_r', status: 'completed', output, usage: { output_tokens: 1 } }));
      expect((await create(paying, 'response', body)).status).toBe(200);
    }
  });

  test('a faster answer for the price of a slow one: a price may read the tier, in any case', async () => {
    const caller = await addCaller(store);
    for (const [tier, factor] of [
      ['priority', 2],
      ['Priority', 2],
      ['flex', 1],
      [null, 1],
      ['\u0000', 1],
    ] as const) {
      const before = await spent(caller);
      await create(caller, 'chat', { model: 'rush', messages: MESSAGES, service_tier: tier });
      expect([tier, (await spent(caller)) - before]).toEqual([tier, factor * 8 * OUTPUT]);
    }
    const before = vendor.requests.length;
    const refused = create(caller, 'chat', { model: 'chat', messages: MESSAGES, service_tier: 'priority' });
    expect(await readCode(refused)).toBe('tasks.relay_request_invalid');
    expect(vendor.requests).toHaveLength(before);
  });

  test('a large picture for the price of a small one: a price may read size and quality, in JSON and forms', async () => {
    const caller = await addCaller(store);
    const rows: [fields: Record<string, string>, factor: number][] = [
      [{}, 1],
      [{ size: '1024x1024', quality: 'Standard' }, 1],
      [{ size: '1792x1024' }, 2],
      [{ quality: 'hd' }, 5],
      [{ size: '1024x1792', quality: 'HD' }, 6],
      [{ size: '1024x1024', Size: '1792x1024', n: '2' }, 4],
    ];
    for (const [fields, factor] of rows) {
      const before = await spent(caller);
      await create(caller, 'image', { model: 'paint', prompt: 'a cat', ...fields });
      expect([fields, (await spent(caller)) - before]).toEqual([fields, factor * IMAGE]);
      const [row] = await usage(caller);
      expect(row?.detail).toMatchObject({ facts: { size: expect.any(String), quality: expect.any(String) } });
      const lists = Object.entries({ model: 'paint', prompt: 'x', ...fields }).map(([name, text]) => [name, [text]]);
      const body = { kind: 'multipart' as const, fields: Object.fromEntries(lists), files: [] };
      await send(caller, 'image_edit', { contentType: 'multipart/form-data', body });
      expect([fields, (await spent(caller)) - before]).toEqual([fields, 2 * factor * IMAGE]);
    }
    const poor = await addCaller(store, 5 * IMAGE - 1);
    const dear = { model: 'paint', prompt: 'a cat', quality: 'hd' };
    expect(await readCode(create(poor, 'image', dear))).toBe('billing.insufficient_quota');
    const fields = { model: ['paint'], prompt: ['x'] };
    const hidden = { kind: 'multipart' as const, fields, files: [{ ...soundFile(8), field: 'size', filename: '' }] };
    const sent = send(caller, 'image_edit', { contentType: 'multipart/form-data', body: hidden });
    expect(await readCode(sent)).toBe('tasks.relay_request_invalid');
  });

  const VOICE = 'data:audio/wav;base64,UklGRg==';
  const transcribe = (caller: Caller, fields: Record<string, string[]>, files = [soundFile(160_000)]) =>
    send(caller, 'transcription', {
      contentType: 'multipart/form-data',
      body: { kind: 'multipart', fields: { model: ['listen'], ...fields }, files },
    });

  test('bill evasion: sound that the vendor would fetch is refused where its length is billed', async () => {
    const caller = await addCaller(store);
    const before = vendor.requests.length;
    const address = 'https://v.example/10h.mp3';
    const rows: [fields: Record<string, string[]>, files: ReturnType<typeof soundFile>[], param: string][] = [
      [{ url: [address] }, [], 'file'],
      [{ file_url: [address] }, [], 'file'],
      [{}, [], 'file'],
      [{ url: [address] }, [soundFile(0)], 'file'],
      [{ url: [address] }, [soundFile(9)], 'url'],
      [{ file_url: [address] }, [soundFile(9)], 'file_url'],
      [{ file: [address] }, [soundFile(9, 'other')], 'file'],
      [{ source: [` ${address.toUpperCase()}`] }, [soundFile(9)], 'source'],
      [{ input: [`{"sound":{"at":"${address}"}}`] }, [soundFile(9)], 'input'],
      [{ content: ['data:audio/mpeg;base64,AAAA'] }, [soundFile(9)], 'content'],
      [{ 'known_speaker_references[]': [VOICE, address] }, [soundFile(9)], 'known_speaker_references[]'],
      [{ known_speaker_references: [`["${VOICE}"]`], content: [VOICE] }, [soundFile(9)], 'content'],
      [{ 'known_speaker_references[]': [VOICE] }, [], 'file'],
    ];
    for (const [fields, files, param] of rows) {
      const error = await catchFailure(transcribe(caller, fields, files));
      expect([fields, error.code, error.param]).toEqual([fields, 'tasks.relay_request_invalid', param]);
    }
    expect(vendor.requests).toHaveLength(before);
    expect(await spent(caller)).toBe(0);
    const plain = { prompt: [`a talk about ${address}`], language: ['de'], filename: ['a.mp3'], temperature: ['0'] };
    expect((await transcribe(caller, plain)).status).toBe(200);
  });

  test('samples of known voices are sent to the vendor, and ten seconds are reserved for each', async () => {
    const names = ['known_speaker_references[]', 'known_speaker_references'];
    for (const name of names)
      for (const [voices, seconds] of [
        [[VOICE], 11],
        [[VOICE, VOICE, VOICE], 31],
      ] as const) {
        const fields = { [name]: [...voices] };
        const short = await addCaller(store, OUTPUT * seconds - 1);
        expect(await readCode(transcribe(short, fields, [soundFile(1)]))).toBe('billing.insufficient_quota');
        const before = vendor.requests.length;
        const enough = await addCaller(store, OUTPUT * seconds);
        expect((await transcribe(enough, fields, [soundFile(1)])).status).toBe(200);
        expect(vendor.requests).toHaveLength(before + 1);
      }
  });

  test('bill evasion: the shortest sound reserves a second, and an empty balance buys none', async () => {
    const caller = await addCaller(store, OUTPUT - 1);
    expect(await readCode(transcribe(caller, {}, [soundFile(1)]))).toBe('billing.insufficient_quota');
    const poor = await addCaller(store, 0);
    await engine.billing.prices.save({
      ...{ pluginKey: '*', model: 'listen' },
      expression: `${usd(OUTPUT)} * max(0, u("seconds") - 60)`,
    });
    expect(await readCode(transcribe(poor, {}, [soundFile(9)]))).toBe('billing.insufficient_quota');
    await engine.billing.prices.save({
      ...{ pluginKey: '*', model: 'listen' },
      expression: `${usd(OUTPUT)} * u("seconds")`,
    });
  });

  test.each([
    ['its text', JSON.stringify({ text: `${'wörd '.repeat(600)}` }), 'application/json', 100],
    ['its segments', JSON.stringify({ text: 'hi', segments: [{ end: 90.2 }, { end: 7 }] }), 'application/json', 91],
    ['its subtitles', '1\n00:00:00,000 --> 00:01:07,500\nhi\n', 'text/plain', 68],
    ['its WebVTT', 'WEBVTT\n\n00:02.000 --> 01:47.000\nhi\n', 'text/vtt', 107],
    ['its plain text', 'word '.repeat(600), 'text/plain', 100],
  ])('bill evasion: a sound that seems short costs as much as %s shows', async (_what, answer, type, seconds) => {
    const caller = await addCaller(store);
    for (const [body, expected] of [
      [answer, seconds],
      [type === 'application/json' ? JSON.stringify({ text: 'hi' }) : 'hi', 9],
    ] as const) {
      const before = await spent(caller);
      vendor.answerNext(body, type);
      await transcribe(caller, {}, [soundFile(9000)]);
      expect((await spent(caller)) - before).toBe(expected * OUTPUT);
    }
  });

  test('bill evasion: a sound that seems short is charged as reported where its bytes may last so long', async () => {
    const caller = await addCaller(store);
    const wav = Buffer.alloc(160_000);
    wav.write('RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x08\0', 'latin1');
    wav.writeUInt32LE(192_000, 24);
    wav.writeUInt16LE(32, 32);
    wav.writeUInt16LE(32, 34);
    wav.write('data', 36);
    const file = {
      ...soundFile(wav.length),
      stream: async function* () {
        yield wav;
      },
    };
    vendor.answerNext(JSON.stringify({ text: 'hi', duration: 200 }));
    await transcribe(caller, {}, [file]);
    expect(await spent(caller)).toBe(200 * OUTPUT);
    vendor.answerNext(JSON.stringify({ text: 'hi', duration: 400 }));
    await transcribe(caller, {}, [file]);
    expect(await spent(caller)).toBe(201 * OUTPUT);
  });

  const series = { sequential_image_generation: 'auto', sequential_image_generation_options: { max_images: 15 } };
  const made = (count: number) => Array.from({ length: count }, (_, nth) => ({ url: `https://v.example/${nth}.png` }));
  const events = (count: number, last: object) =>
    [...made(count).map((image) => ({ type: 'image_generation.partial_succeeded', ...image })), last]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('');
  const used = { usage: { generated_images: 15 } };
  const drawn: [name: string, ask: JsonObject, answer: string, type: string][] = [
    ['a series', { n: 1, ...series }, JSON.stringify({ data: made(15), ...used }), 'application/json'],
    ['a member that the gateway does not know', { n: 1, count: 15 }, JSON.stringify({ data: made(15) }), ''],
    ['the same with a report', { n: 1, count: 15 }, JSON.stringify({ data: made(15), ...used }), ''],
    ['another list', { n: 1, count: 15 }, JSON.stringify({ images: made(15) }), 'application/json'],
    ['two lists of the same', { n: 1 }, JSON.stringify({ data: made(15), images: made(15) }), 'application/json'],
    [
      'a stream',
      { n: 1, stream: true, count: 15 },
      events(15, { type: 'image_generation.completed', ...used }),
      'text/event-stream',
    ],
  ];
  for (const [name, ask, answer, type] of drawn) {
    test(`bill evasion: images that came are charged, whatever count the request names: ${name}`, async () => {
      const caller = await addCaller(store);
      vendor.answerNext(answer, type);
      await text(await create(caller, 'image', { model: 'draw', prompt: 'a cat', ...ask }));
      expect(await spent(caller)).toBe(15 * IMAGE);
    });
  }

  test('bill evasion: a series is refused where the price is of one request', async () => {
    const caller = await addCaller(store);
    const order = (model: string, ask: JsonObject) => create(caller, 'image', { model, prompt: 'a cat', ...ask });
    const before = vendor.requests.length;
    expect(await readCode(order('flat', { n: 1, ...series }))).toBe('tasks.relay_request_invalid');
    expect(await readCode(order('trio', { num_images: 2 }))).toBe('tasks.relay_request_invalid');
    expect([vendor.requests.length, await spent(caller)]).toEqual([before, 0]);
    // What the channel adds is its operator's.
    vendor.answerNext(JSON.stringify({ data: made(3) }));
    expect((await order('trio', {})).status).toBe(200);
    expect([vendor.requests.at(-1)?.body.n, await spent(caller)]).toEqual([3, 20_000]);
  });

  test('negative balance: a series is reserved for all the images that it may have', async () => {
    const rows: [JsonObject, images: number][] = [
      [{ n: 1, ...series }, 15],
      [{ sequential_image_generation: 'auto' }, 15],
      [{ sequential_image_generation: 'auto', max_images: 4 }, 4],
      [{ n: 2, max_images: '3' }, 6],
    ];
    for (const [ask, images] of rows) {
      const caller = await addCaller(store, images * IMAGE - 1);
      const order = create(caller, 'image', { model: 'draw', prompt: 'a cat', ...ask });
      expect([ask, await readCode(order)]).toEqual([ask, 'billing.insufficient_quota']);
    }
  });

  test('a chat cannot name what the vendor keeps for all users of the channel', async () => {
    const caller = await addCaller(store);
    const rows: JsonObject[] = [
      { messages: [{ role: 'assistant', audio: { id: 'audio_of_somebody' } }] },
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
    ];
    for (const body of rows)
      expect(await readCode(create(caller, 'chat', { model: 'chat', ...body }))).toBe('tasks.relay_request_invalid');
    const free = { client_metadata: { session_id: 'mine' }, metadata: { user_id: 'x' } };
    const messages = [{ role: 'tool', tool_call_id: 'call_1', content: 'sunny' }];
    expect((await create(caller, 'chat', { model: 'chat', messages, ...free })).status).toBe(200);
    expect(vendor.requests.at(-1)?.body).toMatchObject(free);
  });
};

/** A file of an unknown format. */
const soundFile = (size: number, name = 'file') => ({
  ...{ ref: `request_file:${name}`, field: name, filename: `${name}.bin`, mimeType: 'audio/mpeg', size },
  stream: async function* () {
    yield new Uint8Array(size).fill(7);
  },
});

describeEachStore(
  'usage of relayed requests',
  (opened) => {
    // A nested suite, so that the engine stops before its store closes.
    describe('between clients and vendors', () => describeUsage(opened));
  },
  { databases: RULE_DATABASES },
);

const catchFailure = (promise: Promise<unknown>): Promise<AppError> =>
  promise.then(
    () => new AppError('nothing.failed', 'internal', { message: 'nothing failed' }),
    (error: AppError) => error,
  );

const readCode = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );

const readBytes = async ({ body }: RelayAnswer): Promise<Uint8Array> =>
  new Uint8Array(await new Response(body as ReadableStream<Uint8Array>).arrayBuffer());

const text = async (answer: RelayAnswer): Promise<string> => new TextDecoder().decode(await readBytes(answer));
