import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { sha256Hex } from '../../src/kernel/index.ts';
import { presignUrl, signHeaders } from '../../src/store/files/s3/sign-request.ts';
import { openBucketFiles } from '../support/bucket-files.ts';
import { type S3StandIn, s3Error, startS3StandIn } from '../support/s3-stand-in.ts';

const KIB = 1024;
const PLACE = 'kept/here';
/** Three parts. */
const LARGE = Buffer.alloc(2500, 'abcdefg');
const DIGEST = sha256Hex(LARGE);

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 400) yield bytes.subarray(at, at + 400);
}
const limit = (signal = new AbortController().signal) => ({ maxBytes: 1_000_000, signal });

let bucket: S3StandIn;
let opened: ReturnType<typeof openBucketFiles>;
const open = (change: Parameters<typeof openBucketFiles>[1] = {}) => {
  opened = openBucketFiles(bucket.url, { partBytes: KIB, ...change });
  return opened.files;
};
const put = (bytes = LARGE) => open().put(chunks(bytes), limit());
const ended = (method: string, path: RegExp) =>
  bucket.requests.filter((line) => line.startsWith(`${method} `) && path.test(line)).length;

beforeEach(() => {
  bucket = startS3StandIn();
});
afterEach(async () => {
  // Whatever happened, nothing of a file stays on the disk.
  if (existsSync(opened.spoolFolder)) expect(readdirSync(opened.spoolFolder)).toEqual([]);
  await opened.close();
  await bucket.stop();
});

describe('a bucket of results', () => {
  test('takes a large file in parts, once, and asks for encryption', async () => {
    const files = open({ sse: 'AES256' });
    const stored = { ok: true as const, value: { sha256: DIGEST, bytes: 2500 } };
    expect(await files.put(chunks(LARGE), limit())).toEqual(stored);
    const object = bucket.objects.get(`${PLACE}/${DIGEST}`);
    expect(object?.bytes.equals(LARGE)).toBe(true);
    expect(ended('PUT', /partNumber/)).toBe(3);
    expect(await files.put(chunks(LARGE), limit())).toEqual(stored);
    expect([ended('PUT', /partNumber/), bucket.uploads.size]).toEqual([3, 0]);
    await files.put(chunks(Buffer.from('small')), limit());
    const small = bucket.objects.get(`${PLACE}/${sha256Hex('small')}`);
    expect(small?.headers.get('x-amz-server-side-encryption')).toBe('AES256');
  });

  test('gets an old file again, which could be about to be deleted', async () => {
    await put();
    const object = bucket.objects.get(`${PLACE}/${DIGEST}`);
    if (object) object.changedAt -= 3_600_000;
    const begun = Date.now();
    await opened.files.put(chunks(LARGE), limit());
    expect(bucket.objects.get(`${PLACE}/${DIGEST}`)?.changedAt).toBeGreaterThanOrEqual(begun);
  });

  const refusals: [string, () => Response, object][] = [
    [
      'without rights',
      () => s3Error(403, 'AccessDenied'),
      { kind: 'unavailable', message: 'the bucket rejects the request (403 AccessDenied)' },
    ],
    [
      'that is missing',
      () => s3Error(404, 'NoSuchBucket'),
      { kind: 'unavailable', message: 'the bucket rejects the request (404 NoSuchBucket)' },
    ],
    [
      'without room',
      () => s3Error(507, 'XMinioStorageFull'),
      { kind: 'full', message: 'the bucket is full (507 XMinioStorageFull)' },
    ],
    ['over its quota', () => s3Error(403, 'QuotaExceeded'), { kind: 'full' }],
    [
      'in another region',
      () => new Response(null, { status: 301, headers: { location: 'http://127.0.0.1:1/' } }),
      { kind: 'unavailable', message: 'the bucket rejects the request (301)' },
    ],
    [
      'behind a page',
      () => new Response('<html>no</html>', { status: 400 }),
      { kind: 'unavailable', message: 'the bucket rejects the request (400)' },
    ],
    ...[200, 403].map((status): [string, () => Response, object] => [
      `whose endpoint is a console that answers ${status}`,
      () => new Response('<!doctype html><title>Console</title>', { status, headers: { 'content-type': 'text/html' } }),
      {
        kind: 'unavailable',
        message: expect.stringContaining(`the bucket answers with a web page (${status}): its endpoint`),
      },
    ]),
    ['with a hostile code', () => s3Error(403, '\u001b[31mlook'), { kind: 'unavailable' }],
  ];
  test.each(refusals)('%s says so at the first request, and nothing is there', async (_, answer, fault) => {
    bucket.fault = (request) => (request.method === 'PUT' || request.method === 'POST' ? answer() : undefined);
    const stored = await put();
    expect(stored).toMatchObject({ ok: false, error: fault });
    expect(JSON.stringify(stored)).not.toContain('\\u001b');
    expect([bucket.objects.size, ended('POST', /uploads/)]).toEqual([0, 1]);
  });

  test('that is busy for a moment is asked again', async () => {
    let refused = 0;
    bucket.fault = (_, url) =>
      url.searchParams.get('partNumber') === '2' && ++refused < 3 ? s3Error(503, 'SlowDown') : undefined;
    expect(await put()).toMatchObject({ ok: true });
    expect(refused).toBe(3);
  });

  test('that stops answering in the middle keeps no part of it', async () => {
    bucket.fault = (_, url) => (url.searchParams.get('partNumber') === '2' ? s3Error(500, 'InternalError') : undefined);
    expect(await put()).toMatchObject({
      ok: false,
      error: { kind: 'unavailable', message: 'the bucket is not available (500 InternalError)' },
    });
    expect([bucket.objects.size, bucket.uploads.size, ended('DELETE', /uploadId/)]).toEqual([0, 0, 1]);
  });

  test('that says success and means failure is not believed', async () => {
    bucket.fault = (request, url) =>
      request.method === 'POST' && url.searchParams.has('uploadId')
        ? new Response('<?xml version="1.0"?>\n\n<Error><Code>InternalError</Code></Error>')
        : undefined;
    expect(await put()).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
    expect([bucket.objects.size, bucket.uploads.size]).toEqual([0, 0]);
  });

  test('whose answer was lost after the upload was complete is looked at', async () => {
    bucket.fault = async (request, url) => {
      const id = url.searchParams.get('uploadId') ?? '';
      if (request.method !== 'POST' || id === '' || !bucket.uploads.has(id)) return undefined;
      bucket.objects.set(`${PLACE}/${DIGEST}`, { bytes: LARGE, changedAt: Date.now(), headers: request.headers });
      bucket.uploads.delete(id);
      return s3Error(503, 'SlowDown');
    };
    expect(await put()).toMatchObject({ ok: true, value: { sha256: DIGEST } });
  });

  test('that accepts requests and never answers is given up', async () => {
    bucket.fault = () => new Promise<Response>(() => {});
    const files = open({ answerMs: 50 });
    expect(await files.put(chunks(Buffer.from('x')), limit())).toMatchObject({
      ok: false,
      error: { kind: 'unavailable', message: 'the bucket does not respond (timeout)' },
    });
    expect(files.size(DIGEST)).rejects.toMatchObject({ code: 'store.results_unavailable' });
  });

  test('that nobody listens for is not available', async () => {
    const files = open();
    await bucket.stop();
    expect(await files.put(chunks(Buffer.from('x')), limit())).toMatchObject({
      ok: false,
      error: { kind: 'unavailable' },
    });
    for (const ask of [() => files.open(DIGEST), () => files.list('', 1), () => files.delete(DIGEST)])
      expect(ask()).rejects.toMatchObject({ code: 'store.results_unavailable', kind: 'unavailable' });
  });

  test('is left without parts when the upload is aborted', async () => {
    const controller = new AbortController();
    bucket.fault = (_, url) => {
      if (url.searchParams.get('partNumber') === '2') controller.abort(new Error('stopped'));
      return undefined;
    };
    expect(open().put(chunks(LARGE), limit(controller.signal))).rejects.toThrow('stopped');
    await Bun.sleep(0);
    while (bucket.uploads.size > 0 || ended('DELETE', /uploadId/) === 0) await Bun.sleep(5);
    expect(bucket.objects.size).toBe(0);
  });

  test('is freed of uploads that a killed process left, and of no others', async () => {
    const files = open();
    const now = Math.floor(Date.now() / 1000);
    const upload = (key: string, initiatedAt: number) => ({ key, initiatedAt: initiatedAt * 1000, parts: new Map() });
    bucket.uploads.set('old', upload(`${PLACE}/${DIGEST}`, now - 100_000));
    bucket.uploads.set('young', upload(`${PLACE}/${DIGEST}`, now));
    bucket.uploads.set('of others', upload(`${PLACE}/backup.tar`, now - 100_000));
    expect(await files.sweep(now - 86_400)).toBe(1);
    expect([...bucket.uploads.keys()]).toEqual(['young', 'of others']);
  });

  test('may hold files of others, which are not listed', async () => {
    await put();
    const other = { bytes: Buffer.from('x'), changedAt: 0, headers: new Headers() };
    for (const key of [DIGEST, `${PLACE}/0.txt`, `${PLACE}/deeper/${sha256Hex('x')}`, `other/${sha256Hex('x')}`])
      bucket.objects.set(key, other);
    expect(await opened.files.list('', 2)).toMatchObject([{ sha256: DIGEST, bytes: 2500 }]);
  });

  test('that ignores ranges sends no wrong part', async () => {
    await put();
    bucket.fault = (request) => (request.method === 'GET' ? new Response('whole') : undefined);
    expect(opened.files.open(DIGEST, { start: 1, end: 2 })).rejects.toMatchObject({
      code: 'store.results_unavailable',
    });
  });

  test('breaks off a download where the server breaks off', async () => {
    let length = 2500;
    const head = () => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;
    const server = createServer((socket) => {
      socket.once('data', () => socket.end(`${head()}${'x'.repeat(1000)}`));
      socket.on('error', () => {});
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    opened = openBucketFiles(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(opened.files.open(DIGEST)).rejects.toMatchObject({ code: 'store.results_unavailable' });
    length = 2_500_000;
    const found = await opened.files.open(DIGEST);
    expect(new Response(found).bytes()).rejects.toThrow();
    server.close();
  });

  test('gives links that carry their type, and no secret', async () => {
    await put();
    const link = opened.files.presign(DIGEST, { seconds: 300, mimeType: 'video/mp4', disposition: 'inline' }) ?? '';
    expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('300');
    expect(link).not.toContain('test-secret');
    const answer = await fetch(link);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual([
      ...[200, 'video/mp4', 'inline'],
    ]);
  });

  test('never gets more on its way than the disk may lose', async () => {
    const files = open({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    expect(await files.put(chunks(LARGE), limit())).toMatchObject({ ok: false, error: { kind: 'full' } });
    expect(bucket.requests).toEqual([]);
  });
});

// The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html and
// sigv4-query-string-auth.html beside it.
describe('a signature', () => {
  const key = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
  };
  const now = Date.UTC(2013, 4, 24);

  test('in a header is that of the example of AWS', () => {
    open();
    const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
    const request = { method: 'GET', url, headers: { range: 'bytes=0-9' }, bodySha256: sha256Hex('') };
    expect(signHeaders(key, request, now).authorization).toEndWith(
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  test('in a link is that of the example of AWS', () => {
    open();
    const url = 'https://examplebucket.s3.amazonaws.com/test.txt';
    expect(presignUrl(key, { url, query: {}, seconds: 86_400 }, now)).toEndWith(
      '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    );
  });
});
