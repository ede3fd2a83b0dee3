import { afterEach, describe, expect, test } from 'bun:test';
import { readPartHeader } from '../../src/http/bodies/read-part-header.ts';
import type { MultipartPart, Upstream } from '../../src/upstream/index.ts';
import { type Exchange, get, type RawServer, reply, startRawServer, testUpstream, until } from './harness.ts';

let server: RawServer | undefined;
let upstream: Upstream = testUpstream();
const start = async (answer: (exchange: Exchange) => void = ({ socket }) => void socket.write(reply('ok'))) => {
  server = await startRawServer(answer);
  upstream = testUpstream();
  return server;
};
afterEach(async () => {
  await upstream.close();
  await server?.stop();
  server = undefined;
});

const streamFor =
  (...chunks: Uint8Array[]) =>
  () =>
    streamFrom(chunks);
function streamFrom(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}
const file = (
  name: string,
  { filename, bytes, contentType = 'image/png' }: { filename: string; bytes: Uint8Array; contentType?: string },
): MultipartPart => ({
  name,
  filename,
  contentType,
  size: bytes.length,
  stream: streamFor(bytes),
});
const send = (url: string, parts: MultipartPart[], changes = {}) =>
  upstream.request(
    get(url, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain' },
      body: { kind: 'multipart', parts },
      ...changes,
    }),
  );

/** The form as an independent parser reads it. */
async function parse({ head, body }: Exchange): Promise<FormData> {
  const contentType = /\r\ncontent-type: (.*)/i.exec(head)?.[1] ?? '';
  return (await new Response(new Uint8Array(body), {
    headers: { 'content-type': contentType },
  }).formData()) as FormData;
}

describe('multipart', () => {
  test('texts and files, read back by another parser', async () => {
    const { url, exchanges } = await start();
    const image = crypto.getRandomValues(new Uint8Array(100_000));
    const result = await send(url, [
      { name: 'prompt', value: 'a cat\r\n--not-a-boundary ü' },
      { name: 'empty', value: '' },
      file('image', { filename: 'cät.png', bytes: image }),
      file('nothing', { filename: 'empty.bin', bytes: new Uint8Array(0), contentType: 'application/octet-stream' }),
    ]);
    expect(result.ok).toBe(true);
    const exchange = exchanges[0]!;
    expect(exchange.head).toContain('content-type: multipart/form-data; boundary=');
    expect(exchange.head).not.toContain('text/plain');
    expect(exchange.head.toLowerCase()).not.toContain('transfer-encoding');
    const form = await parse(exchange);
    expect([...form.keys()]).toEqual(['prompt', 'empty', 'image', 'nothing']);
    expect(form.get('prompt')).toBe('a cat\r\n--not-a-boundary ü');
    expect(form.get('empty')).toBe('');
    const received = form.get('image') as File;
    expect([received.name, received.type]).toEqual(['cät.png', 'image/png']);
    expect(Buffer.from(await received.arrayBuffer()).equals(Buffer.from(image))).toBe(true);
    expect((form.get('nothing') as File).size).toBe(0);
  });

  test('no parts', async () => {
    const { url, exchanges } = await start();
    expect((await send(url, [])).ok).toBe(true);
    expect(exchanges[0]?.body.toString()).toMatch(/^--taskgate-[\w-]{32}--\r\n$/);
  });

  test('header injection through field and file names', async () => {
    const { url, exchanges } = await start();
    await send(url, [
      { name: 'a"; filename="x.sh"\r\nX-Injected: 1', value: '1' },
      file('f', { filename: 'x"\r\nContent-Type: text/html\r\n\r\n<script>', bytes: new Uint8Array([1]) }),
    ]);
    const body = exchanges[0]?.body.toString() ?? '';
    expect(body).toContain('name="a%22; filename=%22x.sh%22%0D%0AX-Injected: 1"\r\n');
    expect(body).toContain(
      'filename="x%22%0D%0AContent-Type: text/html%0D%0A%0D%0A<script>"\r\nContent-Type: image/png\r\n',
    );
  });

  test('parameter injection: a backslash escapes no quote, so no file is read as another field', async () => {
    const { url, exchanges } = await start();
    const names = { name: 'x\\', filename: '; name=model; y=\\' };
    await send(url, [
      { name: 'model\\', value: '1' },
      file(names.name, { filename: names.filename, bytes: new Uint8Array([1]) }),
    ]);
    const lines = exchanges[0]?.body.toString().match(/form-data;.*/g) ?? [];
    expect(lines).toEqual(['form-data; name="model%5C"', 'form-data; name="x%5C"; filename="; name=model; y=%5C"']);
    // The gateway's own parser takes backslashes for escapes, as those of many vendors do.
    const read = lines.map((line) => readPartHeader({ 'content-disposition': [line] }));
    expect(read.map(({ filename }) => filename)).toEqual([undefined, '; name=model; y=%5C']);
  });

  test('header injection through the content type of a file', async () => {
    const { url, exchanges } = await start();
    const result = await send(url, [
      file('f', { filename: 'x', bytes: new Uint8Array([1]), contentType: 'image/png\r\nX-Injected: 1' }),
    ]);
    expect(result).toMatchObject({ ok: false, error: { kind: 'refused', notSent: true } });
    expect(exchanges.length).toBe(0);
  });

  test('boundaries are not guessable', async () => {
    const { url, exchanges } = await start();
    await send(url, []);
    await send(url, []);
    expect(exchanges[0]?.body.equals(exchanges[1]?.body ?? Buffer.alloc(0))).toBe(false);
  });

  for (const [name, sent, announced] of [
    ['longer', 10, 5],
    ['shorter', 5, 10],
  ] as const) {
    test(`request smuggling: a file ${name} than announced`, async () => {
      const { url, exchanges } = await start();
      const part = {
        ...file('f', { filename: 'x', bytes: new Uint8Array(announced) }),
        stream: streamFor(new Uint8Array(sent).fill(65)),
      };
      expect(await send(url, [part as MultipartPart])).toMatchObject({ ok: false, error: { kind: 'broken' } });
      expect(exchanges.length).toBe(0);
      await until('the socket is closed', () => server?.open.size === 0);
    });
  }

  test('a file that cannot be read', async () => {
    const { url } = await start();
    const stream = () =>
      new ReadableStream<Uint8Array>({
        pull() {
          throw new Error('EIO /secret/path');
        },
      });
    const result = await send(url, [{ name: 'f', filename: 'x', contentType: 'image/png', size: 5, stream }]);
    expect(result).toMatchObject({ ok: false, error: { kind: 'broken' } });
    expect(JSON.stringify(result)).not.toContain('secret');
  });

  test('a vendor that refuses early is heard, and the upload stops', async () => {
    let produced = 0;
    let cancelled = false;
    server = await startRawServer(() => {}, {
      onConnection: (socket) =>
        socket.once('data', () => {
          socket.pause();
          socket.write(reply('no', 'Connection: close\r\n', '413 Too Large'));
        }),
    });
    upstream = testUpstream();
    const size = 512 * 1024 * 1024;
    const stream = () =>
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            produced += 65536;
            controller.enqueue(new Uint8Array(65536));
          },
          cancel() {
            cancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
    const result = await send(server.url, [{ name: 'f', filename: 'x', contentType: 'video/mp4', size, stream }]);
    expect(result.ok && result.value.status).toBe(413);
    if (result.ok) expect(await result.value.text()).toEqual({ ok: true, value: 'no' });
    for (const socket of server.open) socket.destroy();
    await until('the file is let go', () => cancelled);
    expect(produced).toBeLessThan(64 * 1024 * 1024);
  });

  test('early answer: a vendor that answers and stops reading holds neither the file nor the connection', async () => {
    let over = false;
    server = await startRawServer(() => {}, {
      onConnection: (socket) =>
        socket.once('data', () => {
          socket.pause();
          socket.write(reply('no', '', '413 Too Large'));
        }),
    });
    upstream = testUpstream();
    async function* stream() {
      try {
        for (;;) yield new Uint8Array(65536);
      } finally {
        over = true;
      }
    }
    const part = { name: 'f', filename: 'x', contentType: 'video/mp4', size: 512 * 1024 * 1024, stream };
    const result = await send(server.url, [part]);
    expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'no' });
    await until('the file is let go', () => over);
  });

  test('an upload that keeps going is not timed out by the wait for the answer', async () => {
    const { url } = await start();
    const stream = () =>
      streamFrom(
        (async function* () {
          for (let i = 0; i < 8; i += 1) {
            await Bun.sleep(220);
            yield new Uint8Array(10);
          }
        })(),
      );
    const part: MultipartPart = { name: 'f', filename: 'x', contentType: 'image/png', size: 80, stream };
    expect((await send(url, [part], { headersTimeoutMs: 1_500 })).ok).toBe(true);
  });

  test('memory exhaustion: an upload goes at the pace of the vendor', async () => {
    let produced = 0;
    server = await startRawServer(() => {}, { onConnection: (socket) => setTimeout(() => socket.pause(), 1) });
    upstream = testUpstream();
    const stream = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          produced += 65536;
          controller.enqueue(new Uint8Array(65536));
        },
      });
    const result = await send(
      server.url,
      [{ name: 'f', filename: 'x', contentType: 'video/mp4', size: 2 ** 31, stream }],
      {
        headersTimeoutMs: 150,
      },
    );
    expect(result).toMatchObject({ ok: false, error: { kind: 'timeout', notSent: false } });
    expect(produced).toBeLessThan(64 * 1024 * 1024);
  });
});
