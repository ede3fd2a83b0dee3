/**
 * OpenAI's own client against the executable: responses waited for, streamed, in the background and
 * read again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { testInFullRun } from '../support/full-run.ts';
import {
  type Administrator,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { holdOpen } from '../support/hold-open.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/response-shapes.ts';
import { until } from '../support/until.ts';

let gateway: Gateway;
let vendor: VendorProcess;
let admin: Administrator;
let key: string;
let client: OpenAI;

beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({
    env: {
      TASK_POLL_INTERVAL_SECONDS: '1',
      TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: '200',
      TASK_PLUGIN_PROTOCOL_HEARTBEAT_SECONDS: '1',
      // As many streams as a node accepts, from one client.
      TASK_PLUGIN_PROTOCOL_PLUGIN_CONCURRENCY: '1000',
      TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '1000',
      TASK_PLUGIN_PROTOCOL_KEY_CONCURRENCY: '1000',
    },
  });
  admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  key = await admin.createKey();
  client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop();
});

const model = 'demo-video';
/** The result as the demo plugin shows it, with an address that needs no key. */
const RESULT =
  /^<video controls src="(http[^"]+\/v1\/tasks\/task_\w{32}\/artifacts\/video\/content\?access=[\w-]{43})"><\/video>$/;

async function download(text: string): Promise<string> {
  const address = RESULT.exec(text)?.[1];
  if (address === undefined) throw new Error(`no link in ${text}`);
  // The public address is the port on localhost.
  const response = await fetch(address.replace('localhost', '127.0.0.1'));
  expect(response.status).toBe(200);
  return response.headers.get('content-type') ?? '';
}

describe('the official openai client', () => {
  testInFullRun('waits for a response', async () => {
    const response = await client.responses.create({ model, input: 'a cat [duration=0.3]' });
    expect(faultsOfResponse(response)).toEqual([]);
    expect(response).toMatchObject({ object: 'response', status: 'completed', model, error: null });
    expect(response.id).toMatch(/^resp_\w{32}$/);
    expect(response.metadata).toMatchObject({
      seconds: '4',
      resolution: '720p',
      task_id: response.id.replace('resp_', 'task_'),
      task_status: 'completed',
      retrieval_path: `/v1/responses/${response.id}`,
    });
    expect(await download(response.output_text)).toBe('video/mp4');
    const again = await client.responses.retrieve(response.id);
    expect(faultsOfResponse(again)).toEqual([]);
    expect(again).toEqual(response);
  });

  testInFullRun('cancels what can be cancelled, and deletes what has ended', async () => {
    const caught = (call: Promise<unknown>) => call.catch((error: unknown) => error);
    const running = await client.responses.create({ model, input: 'long [duration=600]', background: true });
    expect(await caught(client.responses.cancel(running.id))).toMatchObject({
      status: 409,
      code: 'cancel_unsupported',
    });
    expect(await caught(client.responses.delete(running.id))).toMatchObject({
      status: 409,
      code: 'cancel_unsupported',
    });
    const ended = await client.responses.create({ model, input: 'short [duration=0.3]' });
    expect(await caught(client.responses.cancel(ended.id))).toMatchObject({ status: 409, code: 'task_finished' });
    await client.responses.delete(ended.id);
    expect(await caught(client.responses.retrieve(ended.id))).toBeInstanceOf(OpenAI.NotFoundError);
    expect(await caught(client.responses.delete(ended.id))).toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('streams a response, each event of its own types', async () => {
    const stream = await client.responses.create({ model, input: 'a dog [duration=0.5]', stream: true });
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.flatMap(faultsOfEvent)).toEqual([]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type).filter((type) => type !== 'response.in_progress');
    expect(types).toEqual([
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.length).toBeGreaterThan(types.length);
    const done = events.find((event) => event.type === 'response.output_text.done');
    expect(await download(done?.text ?? '')).toBe('video/mp4');
  });

  test('reads input, resumes the stream after an event, deletes; what the client said is repeated', async () => {
    const said = { metadata: { order: '7' }, instructions: 'be brief', user: 'ann' };
    const input = 'a goose [duration=0.3]';
    const made = await client.responses.create({ model, input, ...said });
    expect(made).toMatchObject({ ...said, metadata: { order: '7', task_status: 'completed' } });
    expect(made.usage?.total_tokens).toBe(0);
    const items = await client.responses.inputItems.list(made.id);
    expect(items.data).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: input }] }]);

    const read = async (after?: number) => {
      const query = { stream: true as const, ...(after === undefined ? {} : { starting_after: after }) };
      const events: ResponseStreamEvent[] = [];
      for await (const event of await client.responses.retrieve(made.id, query)) events.push(event);
      return events;
    };
    const whole = await read();
    expect(whole.flatMap(faultsOfEvent)).toEqual([]);
    expect(whole.at(-1)).toMatchObject({ type: 'response.completed' });
    const middle = whole[2]?.sequence_number ?? 0;
    expect(await read(middle)).toEqual(whole.slice(3));

    await client.responses.delete(made.id);
    const gone = await client.responses.retrieve(made.id).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(OpenAI.NotFoundError);
  });

  testInFullRun('gathers a stream into the final response', async () => {
    const stream = client.responses.stream({ model, input: 'a bird [duration=0.3]' });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const response = await stream.finalResponse();
    expect(response.status).toBe('completed');
    const texts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
    expect(texts).toMatchObject(deltas.map((text) => ({ type: 'output_text', text })));
    expect(deltas.join()).toMatch(RESULT);
  });

  testInFullRun('starts a response in the background and reads it until it is complete', async () => {
    const pending = await client.responses.create({ model, input: 'a fish [duration=0.5]', background: true });
    expect(faultsOfResponse(pending)).toEqual([]);
    expect(pending).toMatchObject({ status: 'queued', background: true, completed_at: null, output: [] });
    const seen: Response[] = [];
    const done = await until('the response is there', async () => {
      const response = await client.responses.retrieve(pending.id);
      seen.push(response);
      return response.status === 'completed' ? response : undefined;
    });
    expect(seen.flatMap(faultsOfResponse)).toEqual([]);
    expect(done.id).toBe(pending.id);
    expect(done.output_text).toMatch(RESULT);
  });

  testInFullRun('streams a response in the background', async () => {
    const stream = await client.responses.create({
      model,
      input: 'a fox [duration=0.3]',
      background: true,
      stream: true,
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types[0]).toBe('response.created');
    expect(types.at(-1)).toBe('response.completed');
  });

  test('resumes the stream of a running response after the connection was lost', async () => {
    const input = 'a hare [duration=15]';
    const stream = await client.responses.create({ model, input, background: true, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      break;
    }
    expect(await client.responses.retrieve(id)).toMatchObject({ status: expect.stringMatching(/queued|in_progress/) });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 0 }))
      events.push(event);
    expect(events.flatMap(faultsOfEvent)).toEqual([]);
    expect(events.map(({ type }) => type)).not.toContain('response.created');
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } });
  });

  test('a task that fails is a failed response in every form', async () => {
    const input = 'no [fail] [duration=0.3]';
    const waited = await client.responses.create({ model, input });
    expect(faultsOfResponse(waited)).toEqual([]);
    expect(waited).toMatchObject({ status: 'failed', error: { code: 'server_error', message: 'The task failed.' } });
    expect(await client.responses.retrieve(waited.id)).toEqual(waited);
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ model, input, stream: true })) events.push(event);
    expect(events.flatMap(faultsOfEvent)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });

  test('errors are of the client’s own classes', async () => {
    const caught = (call: () => Promise<unknown>) =>
      call().then(
        () => undefined,
        (error: unknown) => error,
      );
    const rows: [() => Promise<unknown>, new (...args: never[]) => Error, string][] = [
      [
        () => client.responses.create({ model: 'nobody-serves-this', input: 'x' }),
        OpenAI.NotFoundError,
        'model_not_found',
      ],
      [() => client.responses.create({ model, input: '' }), OpenAI.BadRequestError, 'plugin_request_invalid'],
      [() => client.responses.retrieve('resp_unknown'), OpenAI.NotFoundError, 'not_found'],
    ];
    for (const [call, kind, code] of rows) {
      const error = await caught(call);
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ code });
    }
  });
});

describe('over HTTP', () => {
  const post = (body: unknown, init: RequestInit = {}) =>
    fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(init.signal ? { signal: init.signal } : {}),
    });

  test.each<[name: string, body: unknown, headers: Record<string, string>, status: number, code: string]>([
    ['a form', 'model=demo-video', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media'],
    ['text', 'a cat', { 'content-type': 'text/plain' }, 415, 'unsupported_media'],
    ['broken JSON', '{', {}, 400, 'bad_json'],
    ['no object', '[]', {}, 400, 'model_required'],
    ['no model', { input: 'a cat' }, {}, 400, 'model_required'],
    ['a stream that is not a flag', { model, stream: 'yes' }, {}, 400, 'response_form_invalid'],
    ['a stranger', { model }, { authorization: 'Bearer sk-wrong' }, 401, 'api_key_invalid'],
  ])('%s is refused in OpenAI’s envelope', async (_, body, headers, status, code) => {
    const response = await post(body, { headers });
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect({ status: response.status, code: error.code }).toEqual({ status, code });
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
    expect(response.headers.get('x-request-id')).toBeTruthy();
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  /** The text of a stream until it has `enough`; the client stays connected. */
  async function read(response: globalThis.Response, enough: (text: string) => boolean): Promise<string> {
    const reader = response.body?.getReader();
    let text = '';
    while (reader && !enough(text)) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    reader?.releaseLock();
    return text;
  }

  testInFullRun(
    '128 streams are held at once, each with its heartbeat; one more is refused until a client leaves',
    async () => {
      const body = { model, input: 'a long one [duration=600]', stream: true };
      const clients = Array.from({ length: 128 }, () => new AbortController());
      const streams = await Promise.all(clients.map(async ({ signal }) => holdOpen(await post(body, { signal }))));
      expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
      expect(Object.fromEntries(streams[0]?.headers ?? [])).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
        'access-control-allow-origin': '*',
      });
      const texts = await Promise.all(streams.map((stream) => read(stream, (text) => text.includes(': PING\n'))));
      expect(
        texts.filter(
          (text) => !text.startsWith('event: response.created\ndata: {"type":"response.created","sequence_number":0,'),
        ),
      ).toEqual([]);
      const refused = await post(body);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded', type: 'rate_limit_error' } });
      clients[0]?.abort();
      const client = new AbortController();
      const admitted = await until('a slot is free', async () => {
        const response = await post(body, { signal: client.signal });
        return response.status === 200;
      });
      expect(admitted).toBeTrue();
      for (const one of [...clients, client]) one.abort();
      await until('all slots are free', async () => (await post({ model, input: 'a cat [instant]' })).status === 200);
    },
  );

  test('a gateway that stops ends its streams at once, as incomplete', async () => {
    const response = await post({ model, input: 'a long one [duration=600]', stream: true });
    let stopped: Promise<number> | undefined;
    const text = await read(response, (seen) => {
      if (seen.includes('response.created')) stopped ??= gateway.stop();
      return false;
    });
    const last = text.trim().split('\n\n').at(-1) ?? '';
    expect(last).toStartWith('event: response.incomplete\n');
    expect(await stopped).toBe(0);
  });
});
