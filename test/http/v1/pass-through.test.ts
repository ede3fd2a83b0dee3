/**
 * Large responses are streamed while the memory of their chunks is freed: no byte may change,
 * however fast the client reads.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { type Listening, listen } from '../../../src/http/pipeline/listen.ts';
import { streamChunks } from '../../../src/http/responses/stream-chunks.ts';
import type { Upstream } from '../../../src/upstream/index.ts';
import {
  type Exchange,
  get,
  loopback,
  type RawServer,
  startRawServer,
  testUpstream,
  trustedCertificates,
  until,
} from '../../upstream/harness.ts';

const certificateFile = (name: string) =>
  Bun.fileURLToPath(import.meta.resolve(`../../upstream/certificates/${name}.pem`));
const MIB = 1024 * 1024;
const SIZE = 8 * MIB;
const SMALL = 96 * 1024;
const bytes = Buffer.alloc(SIZE);
for (let at = 0; at < SIZE; at += 32) createHash('sha256').update(`${at}`).digest().copy(bytes, at);
const zipped = gzipSync(bytes, { level: 1 });
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
/** Time until a client that reads nothing is disconnected; a slow one must not be. */
const STALL_MS = 400;
const PATIENCE_MS = 60_000;

/** What each path of the vendor sends, in how many writes, and how it ends. */
function* answerFor(path: string, head: string): Generator<Buffer> {
  const text = (line: string) => Buffer.from(line);
  if (path === '/length') return yield* [text(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`), bytes];
  if (path === '/gzip') {
    yield text(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\n\r\n`);
    return yield zipped;
  }
  if (path === '/small') {
    // Headers and body in one write.
    return yield Buffer.concat([text(`HTTP/1.1 200 OK\r\nContent-Length: ${SMALL}\r\n\r\n`), bytes.subarray(0, SMALL)]);
  }
  if (path === '/range') {
    const [, from, to] = /range: bytes=(\d+)-(\d+)/i.exec(head) ?? [];
    const part = bytes.subarray(Number(from), Number(to) + 1);
    yield text(
      `HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ${from}-${to}/${SIZE}\r\nContent-Length: ${part.length}\r\n\r\n`,
    );
    return yield part;
  }
  if (path === '/broken') {
    yield text(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
    return yield bytes.subarray(0, SIZE / 2);
  }
  yield text('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  while (path === '/endless') yield* [text(`${MIB.toString(16)}\r\n`), bytes.subarray(0, MIB), text('\r\n')];
  for (let at = 0, size = 1; at < SIZE; at += size, size = (size * 7 + 11) % 700_001) {
    const piece = bytes.subarray(at, at + size);
    if (piece.length > 0) yield* [text(`${piece.length.toString(16)}\r\n`), piece, text('\r\n')];
  }
  yield text('0\r\n\r\n');
}

/** Writes as fast as the connection allows, until it closes. */
async function answer({ socket, path, head }: Exchange): Promise<void> {
  for (const piece of answerFor(path, head)) {
    for (let at = 0; at < piece.length; at += MIB) {
      if (socket.destroyed) return;
      if (socket.write(piece.subarray(at, at + MIB))) continue;
      const over = new AbortController();
      const { signal } = over;
      await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })])
        .catch(() => undefined)
        .finally(() => over.abort());
    }
  }
  if (path === '/broken') socket.destroy();
}

const expected: Record<string, string> = {
  '/length': sha256(bytes),
  '/chunked': sha256(bytes),
  '/gzip': sha256(zipped),
  '/small': sha256(bytes.subarray(0, SMALL)),
  '/range': sha256(bytes.subarray(1_234_567, 7_654_322)),
};

for (const secure of [false, true]) {
  describe(secure ? 'from a vendor by https' : 'from a vendor by http', () => {
    let vendor: RawServer;
    let upstream: Upstream;
    let server: Listening;
    let byTls: Listening;
    const base = () => (secure ? `https://vendor.test:${vendor.port}` : vendor.url);
    const open = async (path: string, headers: Record<string, string> = {}, signal?: AbortSignal) => {
      const limits = { maxResponseBytes: Number.POSITIVE_INFINITY, headers, ...(signal ? { signal } : {}) };
      const sent = await upstream.request(get(`${base()}${path}`, limits));
      if (!sent.ok) throw new Error(sent.error.message);
      return sent.value;
    };

    beforeAll(async () => {
      vendor = await startRawServer(answer, { secure });
      upstream = testUpstream({ allowPrivate: true, trustedCertificates, resolve: loopback });
      const serve: Parameters<typeof listen>[0] = async ({ url, headers, signal }, { keepOpen }) => {
        keepOpen();
        const range = headers.get('range');
        const path = new URL(url).pathname;
        const response = await open(path, range ? { range } : {}, signal);
        const stallMs = path === '/endless' ? STALL_MS : PATIENCE_MS;
        return new Response(streamChunks(response.stream(), stallMs), { status: response.status });
      };
      server = listen(serve, { host: '127.0.0.1', port: 0 });
      const read = (name: string) => readFileSync(certificateFile(name), 'utf8');
      const tls = { cert: read('server-cert'), key: read('server-key') };
      byTls = listen(serve, { host: '127.0.0.1', port: 0, tls });
    });
    afterAll(async () => {
      await server.stop(0);
      await byTls.stop(0);
      await upstream.close();
      await vendor.stop();
    });

    async function readHash(path: string, pauseMs = 0, gateway = server): Promise<string> {
      const range = path === '/range' ? { range: 'bytes=1234567-7654321' } : {};
      const tls = { ca: trustedCertificates, checkServerIdentity: () => undefined };
      const response = await fetch(`${gateway.url}${path}`, { headers: range, decompress: false, tls } as RequestInit);
      const hash = createHash('sha256');
      for await (const chunk of response.body ?? []) {
        hash.update(chunk);
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
      return hash.digest('hex');
    }

    /** Sends a request; reads nothing until the caller asks for it. */
    function ask(path: string) {
      const socket = net.connect(server.port, '127.0.0.1');
      const client = { socket, closed: false, received: 0, lastBytes: '' };
      socket.pause();
      socket.on('data', (chunk) => {
        client.received += chunk.length;
        client.lastBytes = Buffer.from(chunk).subarray(-5).toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        client.closed = true;
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n`);
      return client;
    }

    test.each(Object.keys(expected))('%s reaches fast and slow clients completely', async (path) => {
      for (const pauseMs of [0, 1, 0]) expect(await readHash(path, pauseMs)).toBe(expected[path] ?? '');
      const memory = await new Response(streamChunks((await open('/length')).stream(), PATIENCE_MS)).bytes();
      expect(sha256(memory)).toBe(expected['/length'] ?? '');
    });

    test('many at once, and one after another on kept connections', async () => {
      const paths = Object.keys(expected).flatMap((path) => [path, path, path, path]);
      expect(await Promise.all(paths.map((path) => readHash(path)))).toEqual(paths.map((path) => expected[path] ?? ''));
      const before = vendor.connections;
      for (let round = 0; round < 400; round += 1) expect(await readHash('/small')).toBe(expected['/small'] ?? '');
      const read = await (await open('/length')).bytes();
      expect(read.ok && sha256(read.value)).toBe(expected['/length'] ?? '');
      expect(vendor.connections - before).toBeLessThan(4);
    });

    test('fast and slow clients over https get the same bytes', async () => {
      const downloads = Object.keys(expected).flatMap((path) => [0, 1, 3].map((pauseMs) => ({ path, pauseMs })));
      const hashes = await Promise.all(downloads.map(({ path, pauseMs }) => readHash(path, pauseMs, byTls)));
      expect(hashes).toEqual(downloads.map(({ path }) => expected[path] ?? ''));
    });

    test('a stream that breaks at the vendor breaks for its client only', async () => {
      const others = [readHash('/length', 1), readHash('/chunked')];
      await expect(readHash('/broken')).rejects.toThrow();
      const client = ask('/broken');
      client.socket.resume();
      await until('the client is cut off', () => client.closed);
      // The last chunk of a complete body.
      expect(client.lastBytes).not.toBe('0\r\n\r\n');
      expect(await Promise.all(others)).toEqual([expected['/length'] ?? '', expected['/chunked'] ?? '']);
    });

    test('a client that leaves ends its vendor’s transfer; others go on', async () => {
      await until('the vendor is idle', () => [...vendor.open].every((socket) => socket.writableLength === 0));
      const others = readHash('/length', 1);
      for (let client = 0; client < 10; client += 1) {
        const leaving = new AbortController();
        const response = await fetch(`${server.url}/length`, { signal: leaving.signal });
        await response.body?.getReader().read();
        leaving.abort();
      }
      expect(await others).toBe(expected['/length'] ?? '');
      await until('the vendor sees the disconnect', () =>
        [...vendor.open].every((socket) => socket.writableLength === 0),
      );
      expect(await readHash('/chunked')).toBe(expected['/chunked'] ?? '');
    });

    test('slow reading: a client that reads nothing is disconnected, and the vendor’s transfer ends', async () => {
      const client = ask('/endless');
      const isServed = () => vendor.exchanges.some(({ path, socket }) => path === '/endless' && !socket.destroyed);
      await until('the vendor got the request', isServed);
      await until('the vendor is let go', () => !isServed());
      client.socket.resume();
      await until('the client is cut off', () => client.closed);
      expect(client.received).toBeLessThan(64 * MIB);
      expect(client.lastBytes).not.toBe('0\r\n\r\n');
    });
  });
}
