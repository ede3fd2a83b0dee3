import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Clock, type JsonObject, systemClock } from '../../src/kernel/index.ts';
import type { RelayAnswer } from '../../src/relay/types.ts';
import type { RelayKind, Store } from '../../src/store/ports/index.ts';
import type { Caller } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** Quota of one token or image; 500,000 are one US dollar. */
const INPUT = 1;
const OUTPUT = 4;
const IMAGE = 1000;
const usd = (quota: number) => `${quota / 500_000}`;
const PRICE = `${usd(INPUT)} * u("input_tokens") + ${usd(OUTPUT)} * u("output_tokens")`;
const MESSAGES = [{ role: 'user', content: 'hello' }];

/** What the vendor does: writes a text, waits this long, or until the test goes on. */
type Step = string | Uint8Array | number | (() => Promise<unknown>);
type Play = { type?: string; encoding?: string; steps: Step[] };
type Usage = Record<string, unknown>;

const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const delta = (value: object): string => event({ choices: [{ index: 0, delta: value }] });
const usageEvent = (usage: Usage): string => event({ choices: [], usage });
const REAL: Usage = { prompt_tokens: 1000, completion_tokens: 500 };
const REAL_COST = 1000 * INPUT + 500 * OUTPUT;
const ZERO: Usage = { prompt_tokens: 0, completion_tokens: 0 };
const DONE = event('[DONE]');

const describeStreams = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  let play: Play = { steps: [] };
  const bodies: JsonObject[] = [];
  /** Streams whose gateway closed them. */
  let closed = 0;
  /** How many times faster the gateway waits, and its clock runs while it does. */
  let speed = 1;
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    async sleep(ms, signal) {
      const realMs = ms > 1000 ? ms / speed : ms;
      await systemClock.sleep(realMs, signal);
      if (!signal?.aborted) aheadMs += ms - realMs;
    },
  };

  const server = createServer(async (incoming, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const text = Buffer.concat(chunks).toString();
    bodies.push(text.startsWith('{') ? JSON.parse(text) : {});
    await act(response, play);
  });

  async function act(response: ServerResponse, { type = 'text/event-stream', encoding, steps }: Play): Promise<void> {
    let isOpen = true;
    response.on('close', () => {
      isOpen = false;
      if (!response.writableFinished) closed += 1;
    });
    response.writeHead(200, { 'content-type': type, ...(encoding ? { 'content-encoding': encoding } : {}) });
    response.flushHeaders();
    for (const step of steps) {
      if (!isOpen) return;
      if (typeof step === 'function') await step();
      else if (typeof step === 'number') await Bun.sleep(step);
      else response.write(step);
    }
    response.end();
  }

  beforeAll(async () => {
    store = opened().store;
    const links = { days: 0, invalidPerMinute: 60, downloads: { node: 128, address: 2, artifact: 16 } };
    engine = await startEngine(store, sandbox, { tickMs: 20, links, clock });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const channel = {
      name: 'relay',
      type: 1,
      key: 'key',
      baseUrl: `http://127.0.0.1:${port}`,
      taskPluginKey: undefined,
    };
    await engine.addChannel({ ...channel, models: ['m', 'flat', 'draw'] });
    await engine.addChannel({ ...channel, models: ['plain'], settings: { stream_usage: false } });
    const prices = { m: PRICE, plain: PRICE, flat: '0.04', draw: `${usd(IMAGE)} * u("images")` };
    for (const [model, expression] of Object.entries(prices))
      await engine.billing.prices.save({ pluginKey: '*', model, expression });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const BODIES: Partial<Record<RelayKind, JsonObject>> = {
    chat: { messages: MESSAGES },
    response: { input: 'hello' },
    image: { prompt: 'hello' },
    embedding: { input: 'hello' },
    speech: { input: 'hello', voice: 'a' },
  };
  type Sent = { kind?: RelayKind; on?: Engine } & Record<string, unknown>;
  const create = (caller: Caller, { kind = 'chat', on = engine, ...value }: Sent = {}) =>
    on.relay.create(caller, {
      kind,
      requestId: 'request',
      client: jsonRequest({ model: 'm', stream: true, ...BODIES[kind], ...value } as JsonObject),
      headers: {},
    });
  const spent = async ({ user }: Caller) => BALANCE - (await readBalance(store, user.id));
  const rows = async ({ user }: Caller) =>
    (await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 50 })).items;
  const isBilled = (caller: Caller) => until('it is billed', async () => (await rows(caller)).length > 0);
  const detail = async (caller: Caller) => (await rows(caller))[0]?.detail as JsonObject;

  /** What one request costs whose answer is read to its end. */
  async function measureCost(played: Play, sent: Sent = {}): Promise<number> {
    play = played;
    const caller = await addCaller(store);
    await readText(await create(caller, sent));
    return spent(caller);
  }
  /** Reads until the answer has `seen`, then leaves. */
  async function leaveAfter(seen: string, played: Play, sent: Sent = {}): Promise<Caller> {
    play = played;
    const caller = await addCaller(store);
    await readAndLeave(await create(caller, sent), seen);
    return caller;
  }

  const wholes: [name: string, usage: Usage, cost: number][] = [
    ['zeros under the other names', { ...REAL, input_tokens: 0, output_tokens: 0 }, REAL_COST],
    ['zeros under the first names', { ...ZERO, input_tokens: 1000, output_tokens: 500 }, REAL_COST],
    ['a smaller count under the other names', { ...REAL, input_tokens: 7, output_tokens: 7 }, REAL_COST],
    ['counts as text', { prompt_tokens: '1000', completion_tokens: ' 500 ' }, REAL_COST],
    ['null under the other names', { ...REAL, input_tokens: null, output_tokens: null }, REAL_COST],
  ];
  for (const [name, usage, cost] of wholes) {
    test(`usage is the larger one of its names: ${name}`, async () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' } }];
      const json = (body: object): Play => ({ type: 'application/json', steps: [JSON.stringify(body)] });
      expect(await measureCost(json({ choices, usage }), { stream: false })).toBe(cost);
      expect(await measureCost({ steps: [delta({ content: 'hi' }), usageEvent(usage), DONE] })).toBe(cost);
      const completed = { type: 'response.completed', response: { id: 'resp_1', usage } };
      expect(await measureCost({ steps: [event(completed)] }, { kind: 'response' })).toBe(cost);
      expect(await measureCost(json({ data: [{ embedding: [1] }], usage }), { kind: 'embedding' })).toBe(cost);
      expect(await measureCost(json({ data: [{ b64_json: 'aa' }], usage }), { kind: 'image', stream: false })).toBe(
        cost,
      );
      const drawn = { type: 'image_generation.completed', b64_json: 'aa', usage };
      expect(await measureCost({ steps: [event(drawn)] }, { kind: 'image' })).toBe(cost);
    });
  }

  test('thoughts that the total alone counts are output, and cached input beside the input is not', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' } }];
    const usages: Usage[] = [
      { ...REAL, completion_tokens: 100, total_tokens: 1500 },
      { ...REAL, completion_tokens: 100, completion_tokens_details: { reasoning_tokens: 400 }, total_tokens: '1500' },
      { ...REAL, total_tokens: 1800, prompt_tokens_details: { cached_tokens: 300 } },
      { ...REAL, total_tokens: 7 },
    ];
    for (const usage of usages) {
      const whole: Play = { type: 'application/json', steps: [JSON.stringify({ choices, usage })] };
      expect(await measureCost(whole, { stream: false })).toBe(REAL_COST);
      expect(await measureCost({ steps: [delta({ content: 'hi' }), usageEvent(usage), DONE] })).toBe(REAL_COST);
    }
    const embedded: Play = {
      ...{ type: 'application/json' },
      steps: [JSON.stringify({ data: [{ embedding: [1] }], usage: { prompt_tokens: 1000, total_tokens: 1500 } })],
    };
    expect(await measureCost(embedded, { kind: 'embedding' })).toBe(1000 * INPUT);
  });

  const streams: [name: string, steps: string[], cost: number][] = [
    ['a zero after it', [usageEvent(REAL), usageEvent(ZERO)], REAL_COST],
    ['a zero before it', [usageEvent(ZERO), usageEvent(REAL)], REAL_COST],
    ['a total that grows', [usageEvent({ ...REAL, completion_tokens: 7 }), usageEvent(REAL)], REAL_COST],
    [
      'one name in each of two events',
      [usageEvent({ prompt_tokens: 1000 }), usageEvent({ output_tokens: 500 })],
      REAL_COST,
    ],
    ['in the last choice', [event({ choices: [{ delta: {}, finish_reason: 'stop', usage: REAL }] })], REAL_COST],
    ['of Groq', [event({ choices: [{ delta: {} }], x_groq: { id: 'x', usage: REAL } })], REAL_COST],
    ['with choices that are null', [event({ choices: null, usage: REAL })], REAL_COST],
    [
      'over several lines',
      ['data: {"choices":[],\r\ndata: "usage":{"prompt_tokens":1000,\r\ndata:"completion_tokens":500}}\r\n\r\n'],
      REAL_COST,
    ],
    ['without a line end', [`data: ${JSON.stringify({ choices: [], usage: REAL })}`], REAL_COST],
    ['with CR', [usageEvent(REAL).replaceAll('\n', '\r')], REAL_COST],
    ['without an empty line before it', [event({ x: 1 }).slice(0, -1), usageEvent(REAL)], REAL_COST],
    [
      'with the tools of a response',
      [
        event({
          type: 'response.completed',
          response: { usage: REAL, tool_usage: { image_gen: { input_tokens: 10, output_tokens: 7024 } } },
        }),
      ],
      REAL_COST + 10 * INPUT + 7024 * OUTPUT,
    ],
    [
      'text alone, which counts where the report is zero',
      [delta({ content: '12345678' }), usageEvent({ prompt_tokens: 1000, completion_tokens: 0 })],
      1000 * INPUT + 2 * OUTPUT,
    ],
  ];
  for (const [name, steps, cost] of streams) {
    test(`usage of a stream is read: ${name}`, async () => {
      const kind = name.includes('response') ? 'response' : 'chat';
      expect(await measureCost({ steps: ['\uFEFF', ...steps] }, { kind })).toBe(cost);
    });
  }

  test('cached tokens are read under all their names', async () => {
    await engine.billing.prices.save({ pluginKey: '*', model: 'm', expression: `${usd(1)} * u("cached_tokens")` });
    const names: Usage[] = [
      { prompt_cache_hit_tokens: 300, prompt_tokens_details: { cached_tokens: 0 } },
      { prompt_tokens_details: { cached_tokens: 300 }, prompt_cache_hit_tokens: 0 },
      { input_tokens_details: { cached_tokens: '300' } },
      { cached_tokens: 300 },
    ];
    for (const usage of names) expect(await measureCost({ steps: [usageEvent({ ...REAL, ...usage })] })).toBe(300);
    const tooMany = { ...REAL, cached_tokens: 1_000_000 };
    expect(await measureCost({ steps: [usageEvent(tooMany)] })).toBe(1000);
    await engine.billing.prices.save({ pluginKey: '*', model: 'm', expression: PRICE });
  });

  test('each image of a stream has its own usage; a total of all has that of all', async () => {
    const image = (type: string, usage?: Usage) => event({ type: `image_generation.${type}`, b64_json: 'aa', usage });
    const usage = { input_tokens: 10, output_tokens: 100 };
    const two = { steps: [image('completed', usage), image('completed', usage)] };
    expect(await measureCost(two, { kind: 'image', n: 2 })).toBe(2 * (10 * INPUT + 100 * OUTPUT));
    expect(await measureCost(two, { kind: 'image', model: 'draw', n: 2 })).toBe(2 * IMAGE);
    const total = { steps: [image('partial_succeeded'), image('partial_succeeded'), image('completed', usage)] };
    expect(await measureCost(total, { kind: 'image', n: 2 })).toBe(10 * INPUT + 100 * OUTPUT);
    expect(await measureCost(total, { kind: 'image', model: 'draw', n: 2 })).toBe(2 * IMAGE);
  });

  test('text without usage counts by its characters, raw and escaped', async () => {
    const text = '税'.repeat(400);
    const escaped = text.replaceAll('税', '\\u7a0e');
    const costs = [text, escaped].map((content) =>
      measureCost({ steps: [`data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`, DONE] }),
    );
    const [raw, other] = [await costs[0], await costs[1]];
    expect(raw).toBe(other);
    expect(await detailOfText(text)).toMatchObject({ completion_facts: { output_tokens: 300 } });
  });
  async function detailOfText(content: string) {
    play = { steps: [delta({ content }), DONE] };
    const caller = await addCaller(store);
    await readText(await create(caller));
    return detail(caller);
  }

  const encoders = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [encoding, encode] of Object.entries(encoders)) {
    test(`a stream that the vendor encodes by ${encoding} is read, and loses the usage that nobody asked for`, async () => {
      const caller = await addCaller(store);
      play = { encoding, steps: [encode(Buffer.from(delta({ content: 'hi' }) + usageEvent(REAL) + DONE))] };
      const answer = await create(caller);
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(await readText(answer)).toBe(delta({ content: 'hi' }) + DONE);
      expect(await spent(caller)).toBe(REAL_COST);
    });
  }

  const failures: [name: string, kind: RelayKind, steps: Play['steps']][] = [
    ['an error', 'chat', [event({ error: { message: 'x' } }), DONE]],
    ['an error of a response', 'response', [event({ type: 'response.failed', response: { usage: null } })]],
    ['an error instead of an image', 'image', [event({ type: 'error', error: { message: 'x' } })]],
    ['an error instead of a sound', 'speech', [event({ type: 'error', error: { message: 'x' } })]],
    ['no event', 'chat', []],
    ['only its end', 'chat', [': ping\n\n', DONE]],
  ];
  for (const [name, kind, steps] of failures)
    test(`a stream without result costs nothing: ${name}`, async () => {
      expect(await measureCost({ steps }, { kind })).toBe(0);
    });

  test('a stream in an encoding that cannot be read is billed as reserved', async () => {
    const caller = await addCaller(store);
    play = { encoding: 'secret', steps: [event('x')] };
    await readText(await create(caller, { max_tokens: 77 }));
    expect(await detail(caller)).toMatchObject({ difference: 0, facts: { output_tokens: 77 } });
  });

  // What only the vendor can count: the usage comes while the client is away.
  const opaque: [name: string, first: string, sent?: Sent][] = [
    ['a call of a tool', delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] })],
    ['a call of a function', delta({ function_call: { name: 'f' } })],
    ['an image in a chat', delta({ images: [{ type: 'image_url', image_url: { url: 'data:,x' } }] })],
    ['sound in a chat', delta({ audio: { id: 'a', data: 'AAAA' } })],
    ['content as parts', delta({ content: [{ type: 'image_url', image_url: 'data:,x' }] })],
    ['a partial image', event({ type: 'image_generation.partial_image', b64_json: 'aa' }), { kind: 'image' }],
    ['a partial image of an edit', event({ type: 'image_edit.partial_image', b64_json: 'aa' }), { kind: 'image' }],
    ['events of speech', event({ type: 'speech.audio.delta', audio: 'AAAA' }), { kind: 'speech' }],
    [
      'an image of a response',
      event({ type: 'response.image_generation_call.partial_image', partial_image_b64: 'a' }),
      { kind: 'response' },
    ],
    [
      'the tool of a response',
      event({ type: 'response.output_item.added', item: { type: 'web_search_call' } }),
      { kind: 'response' },
    ],
    [
      'the call of a response',
      event({ type: 'response.function_call_arguments.delta', delta: '{' }),
      { kind: 'response' },
    ],
    ['a model that is asked to think', delta({ content: 'hi' }), { reasoning_effort: 'high' }],
  ];
  for (const [name, first, sent = {}] of opaque) {
    test(`bill evasion: a client that leaves after ${name} pays what the vendor reports`, async () => {
      const isTyped = sent.kind !== undefined;
      const last = isTyped ? event({ type: 'x.completed', usage: REAL, response: { usage: REAL } }) : usageEvent(REAL);
      const caller = await leaveAfter(first.slice(6, 20), { steps: [first, 100, last] }, sent);
      await isBilled(caller);
      expect(await spent(caller)).toBe(REAL_COST);
    });

    test(`bill evasion: a client that leaves after ${name} pays the reservation where no usage comes`, async () => {
      speed = 3000;
      const before = closed;
      const steps = [first, () => until('the gateway closes it', () => closed > before)];
      const caller = await leaveAfter(
        first.slice(6, 20),
        { steps },
        { max_tokens: 500, max_output_tokens: 500, ...sent },
      );
      await isBilled(caller);
      speed = 1;
      const { facts, completion_facts: known } = await detail(caller);
      expect((known as JsonObject | null)?.output_tokens).toBeUndefined();
      expect(await spent(caller)).toBe(costOfFacts(facts as JsonObject));
    });
  }
  const costOfFacts = ({ input_tokens = 0, output_tokens = 0 }: JsonObject) =>
    INPUT * Number(input_tokens) + OUTPUT * Number(output_tokens);

  test('bill evasion: a client that leaves before the usage of a model that thinks unseen pays it', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 62_000 };
    const caller = await leaveAfter('hi', { steps: [delta({ content: 'hi' }), 300, usageEvent(usage)] });
    await isBilled(caller);
    expect(await spent(caller)).toBe(10 * INPUT + 62_000 * OUTPUT);
  });

  test('a client that leaves plain text pays what came, soon after, and holds its slot until then', async () => {
    speed = 20;
    const before = closed;
    const steps = [delta({ content: '12345678' }), () => until('the gateway closes it', () => closed > before)];
    play = { steps };
    const caller = await addCaller(store);
    const streams = [await create(caller), await create(caller)];
    for (const stream of streams) await readAndLeave(stream, '12345678');
    expect(await readCode(create(caller))).toBe('tasks.rate_limit_exceeded');
    await until('both are billed', async () => (await rows(caller)).length === 2);
    speed = 1;
    expect(await detail(caller)).toMatchObject({ completion_facts: { output_tokens: 2 } });
    await readText(await create(caller));
  });

  test('a client that leaves after it sent a document pays what the vendor counts of it', async () => {
    const file_data = `data:application/pdf;base64,${Buffer.alloc(700_000).toString('base64')}`;
    const messages = [{ role: 'user', content: [{ type: 'file', file: { file_data } }] }];
    speed = 20;
    const caller = await leaveAfter(
      'hi',
      { steps: [delta({ content: 'hi' }), 1000, usageEvent(REAL)] },
      { messages, max_tokens: 500 },
    );
    await isBilled(caller);
    speed = 1;
    expect(await spent(caller)).toBe(REAL_COST);
  });

  test('a model that has thought unseen is read on as long as its vendor sends', async () => {
    const thought = { prompt_tokens: 10, completion_tokens: 5000 };
    const hi = delta({ content: 'hi' });
    await measureCost({ steps: [hi, usageEvent(thought)] });
    // The pauses together, but none of them, are longer than the 5 s that a silent vendor has. A
    // faster clock would jump at the end of any other wait.
    const caller = await leaveAfter('hi', { steps: [hi, 1800, hi, 1800, hi, 1800, usageEvent(thought)] });
    await isBilled(caller);
    speed = 20;
    expect(await spent(caller)).toBe(10 * INPUT + 5000 * OUTPUT);
    const before = closed;
    const silent = await leaveAfter('hi', { steps: [hi, () => until('it is closed', () => closed > before)] });
    await isBilled(silent);
    speed = 1;
    expect(await detail(silent)).toMatchObject({ completion_facts: { output_tokens: 1 } });
  });

  test('a stream whose usage came with the text is closed at once when its client leaves', async () => {
    const before = closed;
    const chunk = event({ choices: [{ delta: { content: 'hi' } }], usage: REAL });
    const steps = [chunk, () => until('the gateway closes it', () => closed > before)];
    const caller = await leaveAfter('hi', { steps });
    await isBilled(caller);
    expect(await spent(caller)).toBe(REAL_COST);
  });

  test('a gateway that stops reads no stream on: what came is billed, what is unknown as reserved', async () => {
    const node = await startEngine(store, sandbox);
    const before = closed;
    const forever = () => until('the gateway closes it', () => closed > before);
    const callers: Caller[] = [];
    for (const [first, seen] of [
      [delta({ content: '12345678' }), '12345678'],
      [delta({ audio: { data: 'AAAA' } }), 'AAAA'],
    ] as const)
      callers.push(await leaveAfter(seen, { steps: [first, forever] }, { on: node, max_tokens: 500 }));
    await node.stop();
    const [plain, opaque] = await Promise.all(callers.map(detail));
    expect(plain).toMatchObject({ completion_facts: { output_tokens: 2 } });
    expect(opaque).toMatchObject({ difference: 0, facts: { output_tokens: 500 } });
  });

  test('free thoughts: what a vendor does not count by the limit, but sends, is charged', async () => {
    const reasoning_content = 'x'.repeat(2000);
    const whole = { choices: [{ message: { reasoning_content, content: 'hi' } }], usage: REAL };
    for (const played of [
      { steps: [delta({ reasoning_content }), usageEvent(REAL)] },
      { type: 'application/json', steps: [JSON.stringify(whole)] },
    ])
      expect(await measureCost(played, { max_tokens: 1 })).toBe(REAL_COST);
  });

  const unthinking: Sent[] = [
    { thinking: { type: 'disabled' } },
    { reasoning: { effort: 'none' } },
    { reasoning: { enabled: false } },
    { thinking_budget: 0 },
    { reasoning_effort: 'none', enable_thinking: false, thinking: null },
  ];
  for (const sent of unthinking)
    test(`text of a model that must not think is billed as it came: ${JSON.stringify(sent)}`, async () => {
      speed = 100;
      const before = closed;
      const steps = [delta({ content: '12345678' }), () => until('the gateway closes it', () => closed > before)];
      const caller = await leaveAfter('12345678', { steps }, { ...sent, max_tokens: 500 });
      await isBilled(caller);
      speed = 1;
      expect(await detail(caller)).toMatchObject({ completion_facts: { output_tokens: 2 } });
    });

  const reports: [name: string, usage: Usage, sent: Sent, isCharged: boolean][] = [
    ['a trillion tokens', { ...REAL, completion_tokens: 1e12 }, { max_tokens: 1000 }, false],
    ['more than twice its limit', { ...REAL, completion_tokens: 2001 }, { max_completion_tokens: 1000 }, false],
    ['twice its limit', { ...REAL, completion_tokens: 2000 }, { max_tokens: 1000 }, true],
    ['its limit for each choice', { ...REAL, completion_tokens: 4000 }, { max_tokens: 1000, n: 2 }, true],
    ['much without a limit', { ...REAL, completion_tokens: 60_000 }, {}, true],
    ['much beyond limits of other APIs', { ...REAL, completion_tokens: 60_000 }, { max_new_tokens: 1 }, true],
    ['a trillion without a limit', { ...REAL, completion_tokens: 1e12 }, {}, false],
    ['a trillion of input', { ...REAL, prompt_tokens: 1e12 }, {}, false],
  ];
  for (const [name, usage, sent, isCharged] of reports) {
    test(`a vendor that reports ${name} ${isCharged ? 'is believed' : 'is not: the reservation is charged, recorded and told'}`, async () => {
      for (const played of [
        { steps: [usageEvent(usage)] },
        { type: 'application/json', steps: [JSON.stringify({ choices: [{ message: { content: 'hi' } }], usage })] },
      ]) {
        engine.warnings.length = 0;
        play = played;
        const caller = await addCaller(store);
        await readText(await create(caller, sent));
        const bill = await detail(caller);
        const counts = { input_tokens: Number(usage.prompt_tokens), output_tokens: Number(usage.completion_tokens) };
        expect(bill.completion_facts).toEqual(counts);
        const expected = isCharged ? counts : (bill.facts as JsonObject);
        expect(await spent(caller)).toBe(costOfFacts(expected));
        const alerts = engine.warnings.filter((line) => line.includes('more usage than the request allowed'));
        expect(alerts).toHaveLength(isCharged ? 0 : 1);
        if (!isCharged) expect(bill.kept_reservation).toContain('more than the request allowed');
      }
    });
  }

  test('a report of too many images is not believed; of those that came each is charged', async () => {
    const images = (count: number, generated_images = count): Play => ({
      type: 'application/json',
      steps: [JSON.stringify({ data: Array(count).fill({ url: 'https://x' }), usage: { generated_images } })],
    });
    const sent = { kind: 'image', model: 'draw', stream: false } as const;
    expect(await measureCost(images(3), { ...sent, n: 1 })).toBe(3 * IMAGE);
    expect(await measureCost(images(1, 3), { ...sent, n: 1 })).toBe(IMAGE);
    expect(await measureCost(images(4), sent)).toBe(4 * IMAGE);
  });

  test('usage is asked for only where the price needs it, and not of a channel that says so', async () => {
    const asked = async (sent: Sent) => {
      await measureCost({ steps: [delta({ content: '12345678' }), DONE] }, sent);
      return bodies.at(-1)?.stream_options;
    };
    expect(await asked({})).toEqual({ include_usage: true });
    expect(await asked({ stream_options: { include_usage: false } })).toEqual({ include_usage: true });
    for (const model of ['flat', 'plain']) {
      expect(await asked({ model })).toBeUndefined();
      for (const include_usage of [false, true])
        expect(await asked({ model, stream_options: { include_usage } })).toEqual({ include_usage });
    }
    // What the vendor adds by itself then passes as it came.
    play = { steps: [usageEvent(REAL)] };
    const caller = await addCaller(store);
    expect(await readText(await create(caller, { model: 'plain' }))).toBe(usageEvent(REAL));
    expect(await spent(caller)).toBe(REAL_COST);
  });

  test('slot evasion: a stream that nobody asked for takes a slot and is billed as a stream', async () => {
    const caller = await addCaller(store);
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    play = { steps: [delta({ content: '12345678' }), () => held, usageEvent(REAL), DONE] };
    const asked = await Promise.all([1, 2].map(() => create(caller, { stream: false })));
    const failure = await create(caller, { stream: false }).catch((error) => error);
    expect(failure).toMatchObject({ code: 'tasks.rate_limit_exceeded', shouldRetry: false });
    go();
    // An answer with usage that the gateway did not ask for passes as it came.
    for (const answer of asked) expect(await readText(answer)).toContain('"usage"');
    expect(await spent(caller)).toBe(2 * REAL_COST);
    await readText(await create(caller, { stream: false }));
  });

  test('JSON as the answer to a stream is billed as JSON', async () => {
    const body = { choices: [{ message: { content: 'hi' } }], usage: REAL };
    const cost = await measureCost({ type: 'application/json', steps: [JSON.stringify(body)] });
    expect(cost).toBe(REAL_COST);
  });
};

describeEachStore(
  'streams of relayed requests',
  (opened) => {
    // A nested suite, so that the engine stops before its store closes.
    describe('between clients and vendors', () => describeStreams(opened));
  },
  { databases: ['sqlite'] },
);

async function readAndLeave({ body }: RelayAnswer, seen: string): Promise<void> {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  for (let text = ''; !text.includes(seen); ) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended without ${seen}: ${text}`);
    text += Buffer.from(value).toString();
  }
  await reader.cancel();
}

const readText = ({ body }: RelayAnswer): Promise<string> => new Response(body as ReadableStream<Uint8Array>).text();

const readCode = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
