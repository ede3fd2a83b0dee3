/** Vendors that answer a submission with a stream of events, and results that are there at once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import { type OpenedStore, openTestStore, pluginSource, startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine, WAITING } from './harness.ts';

const sandbox = startSandbox();
const source = (key: string, meta: object, hook: string): string =>
  pluginSource(
    { key, models: [`${key}-1`], submitResponseTypes: ['json', 'sse'], usageSchema: USAGE, ...meta },
    `${hook}
     export const extractUsage = () => ({ images: 4 });
     export const extractUsageOnComplete = (ctx, result, data) => ({ images: data.images.length });
     export const native = {
       take: ({ body: { value } }) => ({ kind: 'submit', model: value.model, requestBody: value }),
       show: (ctx, task) => ({ id: task.task_id, data: task.data, status: task.status }),
     };`,
  )
    .replace('body: ctx.requestBody }', "body: ctx.requestBody, responseType: ctx.requestBody.as || 'sse' }")
    .replace(
      'return { taskId: response.body.id };',
      "return { taskId: 'job', taskData: response.body, immediate: { status: 'SUCCESS' } };",
    );
const USAGE = { images: { type: 'number', unit: 'count', unitLabel: { en: 'image', de: 'Bild' } } };
const routes = [
  { method: 'POST', path: '/snap/now', type: 'submit', decode: 'take', render: 'show', retainResult: false },
  { method: 'GET', path: '/snap/:task_id', type: 'query', render: 'show' },
];
const SNAPSHOT = `export function parseSubmitEvent(ctx, { event, id, data }, previous) {
  const state = previous || { images: [], events: [] };
  if (event === 'done') return { state, done: true };
  return { state: { images: [...state.images, ...(event === 'image' ? [data] : [])], events: [...state.events, [event, id, data]] }, done: false };
}`;
const DELTA = `export function parseSubmitEventDelta(ctx, { event, data }, previous) {
  if (previous === null) return { changes: [{ op: 'set', path: [], value: { text: '', images: [] } }], state: 1, done: false };
  if (event === 'done') return { changes: [{ op: 'set', path: ['count'], value: previous }], state: previous, done: true };
  if (event === 'bad') return { changes: [JSON.parse(data)], state: 0, done: false };
  const change = event === 'image' ? { op: 'append', path: ['images'], value: { url: data } } : { op: 'appendText', path: ['text'], value: data };
  return { changes: [change], state: previous + 1, done: false };
}`;

let opened: OpenedStore;
let engine: Engine;
let stream: (string | Uint8Array)[] = [];
let contentType = 'text/event-stream; charset=utf-8';
let encoding: string | undefined;
let status = 200;
let repeats = false;
let requests = 0;
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch() {
    requests += 1;
    return new Response(
      new ReadableStream({
        async pull(controller) {
          for (const chunk of stream) {
            controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
            await Bun.sleep(1);
          }
          if (!repeats) controller.close();
        },
      }),
      { status, headers: { 'content-type': contentType, ...(encoding && { 'content-encoding': encoding }) } },
    );
  },
});

beforeAll(async () => {
  opened = await openTestStore('sqlite');
  const required = { requiredCapabilities: ['submit-sse-delta@1'] };
  const factory = [source('snap', { routes }, SNAPSHOT), source('delta', required, DELTA)];
  engine = await startEngine(opened.store, sandbox, { allowPrivate: true, factory });
  expect(engine.plugins.runtimeStatus().pluginErrors).toEqual({});
  for (const key of ['snap', 'delta']) {
    await engine.addChannel({ name: key, baseUrl: vendor.url.origin, models: [`${key}-1`], taskPluginKey: key });
    await engine.billing.prices.save({ pluginKey: key, model: `${key}-1`, expression: '0.01 * u("images")' });
  }
});
afterAll(async () => {
  await engine.stop();
  await vendor.stop(true);
  await opened.close();
  await sandbox.close();
});

const submit = async (pluginKey: string, { by = engine } = {}) => {
  const caller = await addCaller(opened.store);
  const request = jsonRequest({ model: `${pluginKey}-1` });
  requests = 0;
  const task = await by.surfaces
    .submitGeneric(caller, { requestId: 'r', pluginKey, request })
    .catch((error: unknown) => {
      if (error instanceof AppError) return error;
      throw error;
    });
  const cost = BALANCE - (await readBalance(opened.store, caller.user.id));
  return { caller, task, cost };
};

describe('a stream of events', () => {
  test('is framed as browsers do, whatever its chunks are, and ends with the plugin’s word', async () => {
    const text =
      ': hello\r\n\r\nid: 1\r\nevent: image\r\ndata: a\r\n\r\ndata: é1\ndata:2\n\nevent: image\rdata: b\r\revent: done\ndata: x\n\nevent: image\ndata: late\n\n';
    const bytes = new TextEncoder().encode(text);
    stream = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    const { task, cost } = await submit('snap');
    expect(task).toMatchObject({
      status: 'SUCCESS',
      data: {
        images: ['a', 'b'],
        events: [
          ['image', '1', 'a'],
          ['message', '1', 'é1\n2'],
          ['image', '1', 'b'],
        ],
      },
    });
    expect(cost).toBe(10_000);
  });

  test('changes a result that the host keeps', async () => {
    stream = ['data: x\n\n', 'event: text\ndata: Hel\n\nevent: text\ndata: lo\n\n', 'event: image\ndata: u\n\n'];
    stream.push('event: done\ndata: x\n\n');
    const { task, cost } = await submit('delta');
    expect(task).toMatchObject({ data: { text: 'Hello', images: [{ url: 'u' }], count: 4 } });
    expect(cost).toBe(5_000);
  });

  test('is read where the vendor encodes it unasked', async () => {
    [stream, encoding] = [[Bun.gzipSync('event: image\ndata: a\n\nevent: done\ndata: x\n\n')], 'gzip'];
    const { task } = await submit('snap');
    encoding = undefined;
    expect(task).toMatchObject({ status: 'SUCCESS', data: { images: ['a'] } });
  });

  test('is not a stream where the vendor answers with JSON', async () => {
    [stream, contentType] = [['{"images":["a","b","c"]}'], 'application/json'];
    const { task, cost } = await submit('snap');
    contentType = 'text/event-stream';
    expect([task, cost]).toMatchObject([{ data: { images: ['a', 'b', 'c'] } }, 15_000]);
  });

  test.each([
    [200, "The vendor's response is larger than"],
    [500, 'The vendor responded with HTTP 500.'],
  ])('that is not one, with the status %i, is not read beyond 16 MiB', async (code, words) => {
    [stream, contentType, status] = [Array(17).fill('x'.repeat(1024 * 1024)), 'application/json', code];
    const { task, cost } = await submit('snap').finally(() => {
      [contentType, status] = ['text/event-stream', 200];
    });
    expect([task, cost, requests]).toMatchObject([{ message: expect.stringContaining(words) }, 0, 1]);
  });
});

describe('a stream that comes to nothing is refunded, and sent to nobody again', () => {
  const change = (value: object) => `data: x\n\nevent: bad\ndata: ${JSON.stringify(value)}\n\n`;
  test.each<[string, string, string, string]>([
    ['it ends before the result', 'snap', 'event: image\ndata: a\n\n', 'ended without a result'],
    ['its last event is not complete', 'snap', 'event: done\ndata: a\n', 'ended without a result'],
    ['an event is too large', 'snap', `data: ${'x'.repeat(1024 * 1024)}\n\n`, 'more than 1 MiB'],
    ['a change has no place', 'delta', change({ op: 'set', path: ['a', 'b'], value: 1 }), 'names no place'],
    ['a list has no such entry', 'delta', change({ op: 'set', path: ['images', 0], value: 1 }), 'names no place'],
    ['a change is of another kind', 'delta', change({ op: 'add', path: ['a'], value: 1 }), 'op of set'],
    ['a text is appended to a list', 'delta', change({ op: 'appendText', path: ['images'], value: 'a' }), 'no place'],
    ['the result nests too deep', 'delta', change({ op: 'set', path: ['a'], value: deep(32) }), '32 levels'],
  ])('%s', async (_name, plugin, text, words) => {
    stream = [text];
    const { task, cost } = await submit(plugin);
    expect([task, cost, requests]).toMatchObject([
      { code: 'tasks.plugin_submit_response_invalid', message: expect.stringContaining(words), shouldRetry: false },
      0,
      1,
    ]);
  });
});

test('a stream of comments alone ends with the time of a submission', async () => {
  const impatient = await startEngine(opened.store, sandbox, {
    ...{ allowPrivate: true, submitTimeoutMs: 100, factory: [source('snap', { routes }, SNAPSHOT)] },
  });
  [stream, repeats] = [[': still here\n\n'], true];
  try {
    const { task, cost } = await submit('snap', { by: impatient });
    expect([task, cost, requests]).toMatchObject([{ message: expect.stringContaining('too long') }, 0, 1]);
  } finally {
    repeats = false;
    await impatient.stop();
  }
});

test('a result that is not retained is in the answer alone', async () => {
  stream = ['event: image\ndata: a\n\nevent: done\ndata: x\n\n'];
  const caller = await addCaller(opened.store);
  const path = engine.surfaces.openNativePath('POST', '/snap/now');
  if (path?.kind !== 'route') throw new Error('no route');
  const request = {
    ...jsonRequest({ model: 'snap-1', prompt: 'a secret' }),
    path: '/snap/now',
    idempotencyKey: 'once',
  };
  const call = { caller, requestId: 'r', request, admit: async () => {} };
  const { body } = await path.answer(call);
  const again = await path
    .answer(call)
    .catch((error) => error)
    .finally(path.release);
  expect(again).toMatchObject({ code: 'tasks.idempotency_not_replayable', shouldRetry: false });
  expect(body).toMatchObject({ data: { images: ['a'] }, status: 'SUCCESS' });
  const { id } = body as { id: string };
  const stored = await opened.store.tasks.byTaskId(id);
  expect([stored?.data, stored?.state, JSON.stringify(stored)]).toEqual([
    null,
    null,
    expect.not.stringContaining('a secret'),
  ]);
  expect(await opened.store.tasks.byUser(caller.user.id, id)).toBeUndefined();
  expect(BALANCE - (await readBalance(opened.store, caller.user.id))).toBe(5_000);
});

test('a result that is not retained and whose client left while it waited is stored for a repeat, not for good', async () => {
  const own = await openTestStore('sqlite');
  const full = await startEngine(own.store, sandbox, {
    ...{ allowPrivate: true, waiting: () => WAITING, factory: [source('snap', { routes }, SNAPSHOT)] },
  });
  const path = full.surfaces.openNativePath('POST', '/snap/now');
  try {
    const channel = { name: 'snap', baseUrl: vendor.url.origin, models: ['snap-1'], taskPluginKey: 'snap' };
    await full.addChannel({ ...channel, limits: { maxRunning: 1 } });
    await full.billing.prices.save({ pluginKey: 'snap', model: 'snap-1', expression: '0.01 * u("images")' });
    await full.start();
    if (path?.kind !== 'route') throw new Error('no route');
    const caller = await addCaller(own.store);
    const order = (more: object) => {
      const request = { ...jsonRequest({ model: 'snap-1' }), path: '/snap/now', ...more };
      return path.answer({ caller, requestId: 'r', request, admit: async () => {} });
    };
    [stream, repeats, requests] = [[': still here\n\n'], true, 0];
    const first = order({});
    await until(async () => requests === 1);
    const left = new AbortController();
    const waits = order({ idempotencyKey: 'once', signal: left.signal }).catch((error) => error);
    await until(async () => (await own.store.waiting.classes()).length > 0);
    left.abort();
    expect(await waits).toMatchObject({ code: 'tasks.wait_over' });
    stream = ['event: image\ndata: a\n\nevent: done\ndata: x\n\n'];
    await first;
    const stored = await until(async () => {
      const noted = await own.store.retention.unstoredTasks('', 10);
      const tasks = await Promise.all(noted.map(({ taskId }) => own.store.tasks.byTaskId(taskId)));
      return tasks.find((task) => task?.hiddenAt === 0);
    });
    expect(stored).toMatchObject({ status: 'SUCCESS', data: { images: ['a'] } });
    const repeated = await order({ idempotencyKey: 'once' });
    expect(repeated).toMatchObject({ replayed: true, body: { id: stored.taskId, data: { images: ['a'] } } });
    expect(await own.store.tasks.byUser(caller.user.id, stored.taskId)).toBeUndefined();
  } finally {
    repeats = false;
    path?.release();
    await full.stop();
    await own.close();
  }
});

function deep(levels: number): object {
  return levels === 0 ? {} : { a: deep(levels - 1) };
}
