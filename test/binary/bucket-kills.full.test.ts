import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../src/kernel/index.ts';
import { openBucketFiles } from '../support/bucket-files.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
/** The smallest part that S3 allows. */
const PART = 5 * MIB;
const limit = () => ({ maxBytes: 2000 * MIB, signal: new AbortController().signal });

/** Pieces of 1 MiB; `onPiece` may wait. */
async function* pieces(count: number, onPiece: (n: number) => unknown = () => {}): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) {
    await onPiece(n);
    yield Buffer.alloc(MIB, `piece ${n} `);
  }
}

async function digest(source: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const chunk of source) hash.update(chunk);
  return hash.digest('hex');
}

describe('a bucket of versitygw', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server.stop());
  const open = (change: Parameters<typeof openBucketFiles>[1] = {}) =>
    openBucketFiles(server.url, { partBytes: PART, ...change });

  test('takes and gives a file of 500 MB with flat memory', async () => {
    // A busy disk takes longer than other tests wait: this is the gateway's own limit.
    const { files, close } = open({ partBytes: 64 * MIB, answerMs: 60_000 });
    const expected = await digest(pieces(500));
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    let highest = 0;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss);
    }, 20);
    expect(await files.put(pieces(500), limit())).toEqual({ ok: true, value: { sha256: expected, bytes: 500 * MIB } });
    const found = (await files.open(expected)) as ReadableStream<Uint8Array>;
    expect(await digest(found)).toBe(expected);
    // A client that reads nothing for a while must not fill the memory.
    const slow = ((await files.open(expected)) as ReadableStream<Uint8Array>).getReader();
    await slow.read();
    await Bun.sleep(1000);
    await slow.cancel();
    clearInterval(watch);
    expect(highest - before).toBeLessThan(150 * MIB);
    await files.delete(expected);
    await close();
  });

  test('that is killed in the middle of an upload has no part of it under a digest, and takes it later', async () => {
    const { files, close, spoolFolder } = open();
    let killed: Promise<void> | undefined;
    const expected = await digest(pieces(60));
    const uploads = join(server.folder, '.sgwtmp', 'multipart');
    const storing = files.put(pieces(60), limit());
    await until('parts arrive', () => {
      if (!existsSync(uploads) || readdirSync(uploads, { recursive: true }).length < 4) return false;
      killed ??= server.kill();
      return true;
    });
    await killed;
    expect(await storing).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
    expect(readdirSync(spoolFolder)).toEqual([]);
    await server.start();
    expect(await files.size(expected)).toBeUndefined();
    expect(await files.put(pieces(60), limit())).toMatchObject({ ok: true, value: { sha256: expected } });
    expect(await files.list('', 10)).toMatchObject([{ sha256: expected, bytes: 60 * MIB }]);
    expect(await files.sweep(Math.floor(Date.now() / 1000) + 60)).toBeGreaterThan(0);
    expect(await files.sweep(Math.floor(Date.now() / 1000) + 60)).toBe(0);
    await files.delete(expected);
    await close();
  });

  test('that stands still is given up in time', async () => {
    const { files, close } = open({ answerMs: 300 });
    server.pause();
    try {
      expect(await files.put(pieces(1), limit())).toMatchObject({
        ok: false,
        error: { kind: 'unavailable', message: 'the bucket does not respond (timeout)' },
      });
    } finally {
      server.resume();
      await close();
    }
  });

  test('refuses a wrong secret and a bucket that is not there', async () => {
    const wrong = open({ secretAccessKey: 'not-the-secret' });
    expect(await wrong.files.put(pieces(1), limit())).toMatchObject({
      ok: false,
      error: { kind: 'unavailable', message: 'the bucket rejects the request (403 SignatureDoesNotMatch)' },
    });
    const absent = open({ bucket: 'absent' });
    expect(await absent.files.put(pieces(1), limit())).toMatchObject({
      ok: false,
      error: { kind: 'unavailable', message: 'the bucket rejects the request (404 NoSuchBucket)' },
    });
    await Promise.all([wrong.close(), absent.close()]);
  });

  test('serves a link with its type, only as long as it is valid', async () => {
    const { files, close } = open();
    const stored = await files.put(pieces(1), limit());
    if (!stored.ok) throw new Error(stored.error.message);
    const { sha256 } = stored.value;
    const link = (seconds: number) =>
      files.presign(sha256, { seconds, mimeType: 'application/octet-stream', disposition: 'attachment' }) ?? '';
    const answer = await fetch(link(300));
    expect(sha256Hex(await answer.bytes())).toBe(sha256);
    const { headers } = answer;
    expect([headers.get('content-type'), headers.get('content-disposition'), headers.get('cache-control')]).toEqual([
      ...['application/octet-stream', 'attachment', 'private, no-store'],
    ]);
    expect((await fetch(link(300).replace('attachment', 'inline'))).status).toBe(403);
    const short = link(1);
    await until('the link has ended', async () => (await fetch(short)).status === 403);
    await files.delete(sha256);
    await close();
  });

  test('has what the server’s disk has', async () => {
    const { files, close } = open();
    const stored = await files.put(pieces(12), limit());
    if (!stored.ok) throw new Error(stored.error.message);
    const path = join(server.folder, 'kept', 'here', stored.value.sha256);
    expect(sha256Hex(readFileSync(path))).toBe(stored.value.sha256);
    await close();
  });
});
