import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Json, PluginModule, RequestDescriptor, TaskQueryContext } from '../../contracts/v1.d.ts';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { lintPlugin } from '../../src/plugins/author/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createUpstream, type MultipartPart, type Upstream, type UpstreamBody } from '../../src/upstream/index.ts';
import { startSandbox } from '../sandbox/start-sandbox.ts';
import { FAR_MS } from '../support/far-limits.ts';

const DEMO = '../../src/plugins/factory/demo.js';
const DEMO_BATCH = '../fixtures/demo-batch.js';
const load = async (path: string) => (await import(new URL(path, import.meta.url).href)) as PluginModule;
const plugin = await load(DEMO);
const batchPlugin = await load(DEMO_BATCH);

describe('the plugins in the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = startSandbox({ callTimeoutMs: FAR_MS });
  });
  afterAll(() => sandbox.close());

  test('the batch plugin passes all checks of the contract without a warning', async () => {
    const source = readFileSync(new URL(DEMO_BATCH, import.meta.url), 'utf8');
    expect(await lintPlugin(source, sandbox)).toMatchObject({ ok: true, faults: [], warnings: [] });
  });
});

describe('the plugins against the demo vendor', () => {
  const image = crypto.getRandomValues(new Uint8Array(70_000));
  let upstream: Upstream;
  let baseUrl = '';
  let stop: () => Promise<void>;
  beforeAll(async () => {
    upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
    ({ url: baseUrl, stop } = await createDemoVendor({ clock: systemClock, durationMs: 100 }).start(0));
  });
  afterAll(async () => {
    await upstream.close();
    await stop();
  });

  /** Sends a descriptor like the host, with one file. */
  async function send({ url, method = 'GET', headers = {}, body, bodyType, parts = [] }: RequestDescriptor) {
    let outgoing: UpstreamBody = { kind: 'none' };
    if (bodyType === 'multipart') {
      const toPart = (part: (typeof parts)[number]): MultipartPart =>
        'value' in part
          ? { name: part.name, value: String(part.value) }
          : {
              name: part.name,
              filename: 'cat.png',
              contentType: 'image/png',
              size: image.length,
              stream: () => new Blob([image]).stream(),
            };
      outgoing = { kind: 'multipart', parts: parts.map(toPart) };
    } else if (body !== undefined) outgoing = { kind: 'text', text: JSON.stringify(body) };
    const result = await upstream.request({
      url,
      method,
      headers,
      body: outgoing,
      privateHosts: [new URL(baseUrl).host],
      maxRedirects: 0,
      connectTimeoutMs: FAR_MS,
      headersTimeoutMs: FAR_MS,
      idleTimeoutMs: FAR_MS,
      maxResponseBytes: 2 ** 20,
    });
    if (!result.ok) throw new Error(result.error.message);
    return result.value;
  }
  const sendJson = async (descriptor: RequestDescriptor) => {
    const response = await send(descriptor);
    const text = await response.text();
    if (!text.ok) throw new Error(text.error.message);
    return { status: response.status, body: JSON.parse(text.value) as Json };
  };

  const driver = (requestBody: Json, publicTaskId: string) =>
    ({ requestBody, publicTaskId, model: 'demo-video', upstreamModel: 'demo-video', baseUrl, apiKey: 'key' }) as never;
  const query = (taskId: string) =>
    ({ taskId, baseUrl, apiKey: 'key', authHeader: 'key', data: null, state: null }) as unknown as TaskQueryContext;

  async function submit(module: PluginModule, requestBody: Json, publicTaskId: string) {
    const ctx = driver(requestBody, publicTaskId);
    const answer = await sendJson({ method: 'POST', ...module.buildSubmitRequest(ctx) });
    return module.parseSubmitResponse(ctx, { statusCode: answer.status, headers: {}, body: answer.body });
  }

  async function pollToTheEnd(taskId: string) {
    for (let round = 0; round < 500; round += 1) {
      const answer = await sendJson(plugin.buildQueryRequest!(query(taskId)));
      const result = plugin.parseTaskResult(query(taskId), answer.body, { status: answer.status, headers: {} });
      if (result.status === 'SUCCESS' || result.status === 'FAILURE') return { result, data: answer.body };
      await Bun.sleep(5);
    }
    throw new Error('the job did not end');
  }

  test('submit, poll, usage, artifact', async () => {
    const { taskId, immediate } = await submit(plugin, { prompt: 'a cat [seconds=3]', seconds: 8 }, 'task_a');
    expect(immediate).toBeUndefined();
    const { result, data } = await pollToTheEnd(taskId);
    expect(result).toEqual({ status: 'SUCCESS', progress: '100%' });
    expect(plugin.extractUsageOnComplete!(query(taskId), { status: 'SUCCESS' }, data)).toEqual({
      seconds: 3,
      resolution: '720p',
    });
    const content = plugin.buildContentRequest!({
      artifactKey: 'video',
      upstreamTaskId: taskId,
      baseUrl,
      apiKey: 'key',
      clientRequest: { method: 'GET', headers: { Range: 'bytes=4-11' } },
    } as never);
    const response = await send(content);
    expect([response.status, response.headers['content-type']]).toEqual([206, ['video/mp4']]);
    expect(await response.text()).toEqual({ ok: true, value: 'ftypisom' });
    const stats = await sendJson({ url: `${baseUrl}/stats?reference_id=task_a` });
    expect(stats.body).toMatchObject({ creates: 1, jobs: [{ id: taskId, downloads: 1 }] });
  });

  test('done and failed at once', async () => {
    expect((await submit(plugin, { prompt: 'a [instant]' }, 'task_b')).immediate).toEqual({
      status: 'SUCCESS',
      progress: '100%',
    });
    expect((await submit(plugin, { prompt: 'a', script: '[instant] [fail]' }, 'task_c')).immediate?.status).toBe(
      'FAILURE',
    );
  });

  test('an image in a streamed part arrives complete', async () => {
    const made = await submit(
      plugin,
      { prompt: 'a', image: { ref: 'request_file:input_reference', field: 'input_reference' } },
      'task_d',
    );
    expect(made.taskData).toMatchObject({ seconds: 4, image: { bytes: image.length, sha256: sha256Hex(image) } });
  });

  test('a batch query returns each job with its own state', async () => {
    const ids: string[] = [];
    for (const prompt of ['a [instant]', 'b [instant] [fail]', 'c', 'd [404]', 'e [garbage]']) {
      ids.push((await submit(batchPlugin, { prompt }, `task_${prompt[0]}`)).taskId);
    }
    const tasks = ids.map((id, rounds) => ({ ...query(id), state: { rounds } }));
    const ctx = { baseUrl, apiKey: 'key', authHeader: 'key', tasks };
    const answer = await sendJson(batchPlugin.buildBatchQueryRequest!(ctx, tasks));
    const items = batchPlugin.parseBatchResult!(ctx, answer.body, { status: answer.status, headers: {} });
    expect(items.map(({ taskId, status, state }) => [ids.indexOf(taskId), status, state])).toEqual([
      [0, 'SUCCESS', { rounds: 1 }],
      [1, 'FAILURE', { rounds: 2 }],
      [2, expect.stringMatching(/QUEUED|IN_PROGRESS|SUCCESS/), { rounds: 3 }],
      [4, 'UNKNOWN', { rounds: 5 }],
    ]);
  });
});
