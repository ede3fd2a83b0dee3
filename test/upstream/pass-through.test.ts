/** Large answers that pass through while the memory of their chunks is given back: not a byte of them may change. */
import { afterEach, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { type Listening, listen } from '../../src/http/serve.ts';
import { giveBackChunks } from '../../src/http/v1/give-back-chunks.ts';
import type { Upstream } from '../../src/upstream/index.ts';
import { get, loopback, type RawServer, startRawServer, testUpstream, trustedCertificates } from './harness.ts';

const SIZE = 12 * 1024 * 1024;
const bytes = Buffer.alloc(SIZE);
for (let at = 0; at < SIZE; at += 32) createHash('sha256').update(`${at}`).digest().copy(bytes, at);
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const expected = sha256(bytes);

let vendor: RawServer;
let upstream: Upstream;
let server: Listening | undefined;
afterEach(async () => {
  await server?.stop(0);
  server = undefined;
  await upstream.close();
  await vendor.stop();
});

/** The vendor's answer in one piece with its length, or in chunks of odd sizes. */
function answer(chunked: boolean): Buffer[] {
  if (!chunked) return [Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`), bytes];
  const pieces = [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')];
  for (let at = 0, size = 1; at < SIZE; at += size, size = (size * 7 + 11) % 700_001) {
    const piece = bytes.subarray(at, at + size);
    if (piece.length > 0) pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return [...pieces, Buffer.from('0\r\n\r\n')];
}

for (const secure of [false, true]) {
  for (const chunked of [false, true]) {
    test(`${secure ? 'https' : 'http'}, ${chunked ? 'chunked' : 'with a length'}, twice on one connection, slow and fast readers`, async () => {
      vendor = await startRawServer(
        ({ socket }) => {
          for (const piece of answer(chunked)) socket.write(piece);
        },
        { secure },
      );
      upstream = testUpstream({ allowPrivate: true, trustedCertificates, resolve: loopback });
      const url = secure ? `https://vendor.test:${vendor.port}/` : vendor.url;
      const open = async () => {
        const sent = await upstream.request(get(url, { maxResponseBytes: Number.POSITIVE_INFINITY }));
        if (!sent.ok) throw new Error(sent.error.message);
        return sent.value;
      };
      server = listen(async () => new Response(giveBackChunks((await open()).stream())), {
        host: '127.0.0.1',
        port: 0,
      });

      for (const pauseMs of [0, 2]) {
        const hash = createHash('sha256');
        const response = await fetch(server.url);
        for await (const chunk of response.body ?? []) {
          hash.update(chunk);
          if (pauseMs > 0) await Bun.sleep(pauseMs);
        }
        expect(hash.digest('hex')).toBe(expected);
      }
      const read = await (await open()).bytes();
      expect(read.ok && sha256(read.value)).toBe(expected);
      const streamed = await new Response((await open()).stream()).bytes();
      expect(sha256(streamed)).toBe(expected);
      expect(vendor.connections).toBeLessThan(4);
    });
  }
}
