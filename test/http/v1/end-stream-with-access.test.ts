/**
 * A vendor's stream ends when its client's access ends, and keeps no chunk after the client has
 * accepted it.
 */
import { expect, test } from 'bun:test';
import OpenAI from 'openai';
import { endStreamWithAccess } from '../../../src/http/responses/send-events.ts';

const MIB = 1024 * 1024;

function watchedAccess() {
  const controller = new AbortController();
  let ended = false;
  let stopped = 0;
  const access = {
    signal: controller.signal,
    hasEnded: () => ended,
    stop: () => {
      stopped += 1;
    },
  };
  const end = () => {
    ended = true;
    controller.abort();
  };
  return { access, end, stops: () => stopped };
}

function usedMemory(): number {
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
}

test('200,000 chunks of 1 KB leave nothing in memory while the stream goes on', async () => {
  const { access } = watchedAccess();
  const body = new ReadableStream<Uint8Array>(
    { pull: (controller) => controller.enqueue(new Uint8Array(1000)) },
    { highWaterMark: 0 },
  );
  const reader = endStreamWithAccess(body, { access, isResponse: false }).getReader();
  const before = usedMemory();
  for (let i = 0; i < 200_000; i += 1) await reader.read();
  expect(usedMemory() - before).toBeLessThan(20 * MIB);
  await reader.cancel();
});

test('a stream that the client does not read ends at once, and so does the vendor’s', async () => {
  const { access, end, stops } = watchedAccess();
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    cancel() {
      cancelled = true;
    },
  });
  const stream = endStreamWithAccess(body, { access, isResponse: false });
  end();
  expect([cancelled, stops()]).toEqual([true, 1]);
  expect(await new Response(stream).text()).toContain('"code":"access_ended"');
});

test('chunks sent before the end come before the last event', async () => {
  const { access, end } = watchedAccess();
  let vendor: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      vendor = controller;
    },
  });
  const text = new Response(endStreamWithAccess(body, { access, isResponse: false })).text();
  vendor?.enqueue(new TextEncoder().encode('data: 1\n\n'));
  await Bun.sleep(5);
  end();
  expect(await text).toMatch(/^data: 1\n\n\n\nevent: error\ndata: .*\n\n$/);
});

test('the clients of OpenAI find the error: in an event of its own among responses, else as one', async () => {
  for (const isResponse of [true, false]) {
    const { access, end } = watchedAccess();
    end();
    const text = await new Response(endStreamWithAccess(new ReadableStream(), { access, isResponse })).text();
    const { type, error = {}, code = error.code } = JSON.parse(text.split('data: ')[1] ?? '');
    const expected = isResponse ? ['error', undefined] : [undefined, 'authentication_error'];
    expect([isResponse, type, error.type, code]).toEqual([isResponse, ...expected, 'access_ended']);
  }
});

test("OpenAI's client throws what ends a chat", async () => {
  const { access, end } = watchedAccess();
  let vendor: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      vendor = controller;
    },
  });
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = async () => new Response(endStreamWithAccess(body, { access, isResponse: false }), { headers });
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: 'http://gateway.local/v1', fetch });
  const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
  vendor?.enqueue(new TextEncoder().encode('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'));
  const read = async () => {
    for await (const { choices } of stream) if (choices[0]?.delta.content === 'a') end();
  };
  expect(await read().catch((error) => error)).toMatchObject({ code: 'access_ended', type: 'authentication_error' });
});
