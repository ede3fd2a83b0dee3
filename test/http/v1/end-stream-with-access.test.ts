/**
 * A vendor's stream ends when its client's access ends, and keeps no chunk after the client has
 * accepted it.
 */
import { expect, test } from 'bun:test';
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
  const reader = endStreamWithAccess(body, access).getReader();
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
  const stream = endStreamWithAccess(body, access);
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
  const text = new Response(endStreamWithAccess(body, access)).text();
  vendor?.enqueue(new TextEncoder().encode('data: 1\n\n'));
  await Bun.sleep(5);
  end();
  expect(await text).toMatch(/^data: 1\n\n\n\nevent: error\ndata: .*\n\n$/);
});
