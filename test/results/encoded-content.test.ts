/** The request for a file; and vendors and CDNs that encode one although nobody asked for that. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { randomAlnum, sha256Hex } from '../../src/kernel/index.ts';
import type { Content } from '../../src/results/types.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const FILE = Buffer.from(`<svg>${randomAlnum(500).repeat(400)}</svg>`);

const describeContent = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  let answer: (request: Request) => Response;
  let cdn: ReturnType<typeof Bun.serve>;
  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    cdn = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        if (pathname.endsWith('/content')) return answer(request);
        const { host: _host, ...headers } = Object.fromEntries(request.headers);
        const body = request.method === 'GET' ? null : await request.bytes();
        return fetch(`${engine.vendorUrl}${pathname}${search}`, { method: request.method, headers, body });
      },
    });
    await engine.addChannel({ baseUrl: `http://127.0.0.1:${cdn.port}` });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await cdn.stop(true);
  });

  async function make(): Promise<TaskRecord> {
    const request = jsonRequest({ model: 'demo-video', prompt: 'x' });
    const caller = await addCaller(store);
    const task = await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
    engine.finishJobs();
    return ended(store, task.taskId);
  }
  const download = (task: TaskRecord, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    const { signal } = new AbortController();
    return engine.results.content(task, { key: 'video' }, { method, headers, signal, requestId: 'r' });
  };
  const readBytes = async ({ body }: Content): Promise<Buffer> =>
    Buffer.from(await new Response(body as never).bytes());
  const encoded = (body: Uint8Array, encoding: string) =>
    new Response(body as never, {
      headers: {
        ...{ 'content-type': 'image/svg+xml', 'content-encoding': encoding, etag: '"abc"' },
        'accept-ranges': 'bytes',
      },
    });

  describe('is handed through', () => {
    test('decoded, with the type of the file and without length, ranges and strong tag of the encoded bytes', async () => {
      const encodings: [string, Buffer][] = [
        ['gzip', gzipSync(FILE)],
        ['x-gzip', gzipSync(FILE)],
        ['deflate', deflateSync(FILE)],
        ['br', brotliCompressSync(FILE)],
      ];
      const task = await make();
      for (const [encoding, bytes] of encodings) {
        let asked: string | null = '';
        answer = (request) => {
          asked = request.headers.get('accept-encoding');
          return encoded(bytes, encoding);
        };
        const content = await download(task);
        expect([asked, content.headers]).toEqual(['identity', { 'content-type': 'image/svg+xml', etag: 'W/"abc"' }]);
        expect((await readBytes(content)).equals(FILE)).toBe(true);
      }
      answer = () => encoded(gzipSync(FILE), 'gzip');
      expect((await download(task, {}, 'HEAD')).headers).not.toHaveProperty('content-length');
    });

    test('whole where a part of the encoded bytes came', async () => {
      const ranges: (string | null)[] = [];
      answer = ({ headers }) => {
        ranges.push(headers.get('range'));
        const bytes = gzipSync(FILE);
        if (!headers.has('range')) return encoded(bytes, 'gzip');
        const part = { 'content-encoding': 'gzip', 'content-range': `bytes 0-9/${bytes.length}` };
        return new Response(bytes.subarray(0, 10), { status: 206, headers: part });
      };
      const content = await download(await make(), { range: 'bytes=0-9' });
      expect([content.status, ranges]).toEqual([200, ['bytes=0-9', null]]);
      expect((await readBytes(content)).equals(FILE)).toBe(true);
    });

    test('not at all in an unknown encoding, or more than one; broken, it ends with an error', async () => {
      const task = await make();
      for (const encoding of ['compress', 'gzip, br']) {
        answer = () => encoded(gzipSync(FILE), encoding);
        expect(download(task)).rejects.toMatchObject({ code: 'tasks.artifact_upstream_error' });
      }
      answer = () => encoded(gzipSync(FILE).subarray(0, 100), 'gzip');
      expect(readBytes(await download(task))).rejects.toThrow();
      answer = () => encoded(FILE, 'gzip');
      expect(readBytes(await download(task))).rejects.toThrow();
    });

    test('zip bomb: what nobody reads is not decoded', async () => {
      answer = () => encoded(gzipSync(Buffer.alloc(200_000_000)), 'gzip');
      const task = await make();
      Bun.gc(true);
      const before = process.memoryUsage().rss;
      const { body } = await download(task);
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      await Bun.sleep(100);
      expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
      await reader.cancel();
    });
  });

  test('the request for a file is built again for each download: its headers are for that request alone', async () => {
    const task = await make();
    answer = () => new Response(FILE);
    const built = async (): Promise<number> => {
      const before = sandbox.stats().calls;
      await readBytes(await download(task));
      return sandbox.stats().calls - before;
    };
    // The list of artifacts is kept after the first time, the request is not.
    await built();
    expect([await built(), await built()]).toEqual([1, 1]);
  });

  test('is kept decoded, under the digest of the file and with its type', async () => {
    answer = () => encoded(gzipSync(FILE), 'gzip');
    engine.keeping.keep = 'all';
    const { taskId } = await make();
    engine.keeping.keep = 'off';
    const row = await until('the result is kept', async () =>
      (await store.results.ofTasks([taskId])).find(({ state }) => state === 'kept'),
    );
    expect(row).toMatchObject({ sha256: sha256Hex(FILE), bytes: FILE.length, mimeType: 'image/svg+xml' });
  });
};

describeEachStore(
  'content in an encoding that nobody asked for',
  (opened) => describe('by a CDN', () => describeContent(opened)),
  { databases: ['sqlite'] },
);
