/** OpenAI's images API served by a plugin whose artifacts are images. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { ask } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, FILE, LARGE, startArtifactGateway, withoutVideo } from './artifact-harness.ts';

let world: ArtifactGateway;
let client: OpenAI;
beforeAll(async () => {
  world = await startArtifactGateway();
  await world.addPlugin('pixel', { protocols: [] }, withoutVideo);
  const songs = { songs: { type: 'number', unit: 'count' } };
  await world.addPlugin('singer', { protocols: [], usageSchema: songs }, withoutVideo);
  const claim = { models: ['studio-1', 'studio-2'], protocols: [{ name: 'proto_image', models: ['studio-2'] }] };
  await world.addPlugin('studio', claim, (source) => source.replace('proto_video', 'proto_image'));
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.url}/v1`, maxRetries: 2 });
});
afterAll(() => world.stop());

const TWO = [
  { key: 'first', type: 'image', mimeType: 'image/png' },
  { key: 'text', type: 'file' },
  { key: 'second', type: 'image', mimeType: 'image/png' },
];
const generate = (body: object) =>
  ask(`${world.url}/v1/images/generations`, { token: world.key, body: { model: 'pixel-1', prompt: 'x', ...body } });
const readCode = ({ status, body }: Awaited<ReturnType<typeof generate>>) => [
  status,
  (body.error as { code?: string } | undefined)?.code,
];
const JSON_TYPE = { 'content-type': 'application/json' };
const readTasks = async () =>
  ((await world.get('/v1/tasks?limit=100', { token: world.key })).json.data as object[]).length;

test('the official client waits for the images and downloads them by their links', async () => {
  const made = await client.images.generate({ model: 'pixel-1', prompt: 'x', ...{ list: TWO, end: 'IN_PROGRESS' } });
  expect(made.data).toHaveLength(2);
  for (const { url = '' } of made.data ?? []) {
    const { pathname, search } = new URL(url);
    expect((await world.get(`${pathname}${search}`)).bytes).toEqual(FILE);
  }
});

test('the official client gets the bytes in Base64', async () => {
  const made = await client.images.generate({
    ...{ model: 'pixel-1', prompt: 'x', response_format: 'b64_json' },
    ...{ list: TWO },
  });
  const bytes = (made.data ?? []).map(({ b64_json }) => Buffer.from(b64_json ?? '', 'base64'));
  expect(bytes.map((image) => image.equals(FILE))).toEqual([true, true]);
});

test('an official client that gives up while its order is being sent is answered before, and orders once', async () => {
  const [tasks, orders] = [await readTasks(), world.vendor.orders()];
  const order = { model: 'pixel-1', prompt: 'x', ...{ list: TWO, hold: true } };
  const failed = await client.images.generate(order, { timeout: 2000 }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ status: 504, code: 'task_timeout' });
  expect(world.vendor.held()).toBe(1);
  world.vendor.answerHeld();
  await until('the order was taken', async () => {
    const { json } = await world.get('/v1/tasks?limit=1&order=desc', { token: world.key });
    return (json.data as { status: string }[])[0]?.status === 'SUCCESS';
  });
  expect([await readTasks(), world.vendor.orders()]).toEqual([tasks + 1, orders + 1]);
});

test('a repeat with its Idempotency-Key answers with the same images', async () => {
  const before = await readTasks();
  const ordered = () =>
    fetch(`${world.url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
        'idempotency-key': 'images-1',
      },
      body: JSON.stringify({ model: 'pixel-1', prompt: 'x', list: TWO }),
    });
  const [first, second] = [await ordered(), await ordered()];
  expect(await second.json()).toEqual(await first.json());
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true']);
  expect(await readTasks()).toBe(before + 1);
});

test('a stream has each image as its last event, for the official client', async () => {
  const stream = await client.images.generate({
    ...{ model: 'pixel-1', prompt: 'x', stream: true, partial_images: 2 },
    ...{ list: TWO, end: 'IN_PROGRESS' },
  });
  const events: OpenAI.ImageGenStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ type }) => type)).toEqual(['image_generation.completed', 'image_generation.completed']);
  expect(events.map(({ b64_json }) => Buffer.from(b64_json, 'base64').equals(FILE))).toEqual([true, true]);
});

test('a stream of images that cannot be made ends with an error', async () => {
  const response = await fetch(`${world.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'pixel-1', prompt: 'x', stream: true, end: 'FAILURE' }),
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(await response.text()).toMatch(/event: error\ndata: .*"code":"image_failed"/);
});

test('denial of service: clients that leave before their stream begins keep no slot', async () => {
  const token = await world.admin.createKey();
  const order = (body: object, signal?: AbortSignal) =>
    fetch(`${world.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...JSON_TYPE },
      body: JSON.stringify({ model: 'pixel-1', prompt: 'x', list: TWO, ...body }),
      ...(signal ? { signal } : {}),
    });
  for (let left = 0; left < 5; left += 1) {
    const leaving = new AbortController();
    const answer = order({ stream: true, hold: true }, leaving.signal).catch(() => undefined);
    await until('the vendor has the order', () => world.vendor.held() === 1);
    leaving.abort();
    await answer;
    // Only the end of its connection tells the gateway that a client has left.
    await until('another request was answered since', async () => (await world.get('/livez')).status === 200);
    world.vendor.answerHeld();
    await until('the order was taken', async () => {
      const { json } = await world.get('/v1/tasks?limit=100', { token });
      return (json.data as { status: string }[]).filter(({ status }) => status === 'SUCCESS').length > left;
    });
  }
  expect((await order({})).status).toBe(200);
});

test.each<[string, object, Record<string, string>]>([
  ['the header', {}, { prefer: 'respond-async' }],
  ['the body', { background: true }, {}],
])('asked for in %s, images are answered with a task to follow', async (_where, body, headers) => {
  const response = await fetch(`${world.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'pixel-1', prompt: 'x', list: TWO, ...body }),
  });
  const task = (await response.json()) as { id: string };
  expect([response.status, response.headers.get('location')]).toEqual([202, `/v1/tasks/${task.id}`]);
  expect(response.headers.get('preference-applied')).toBe(headers.prefer ?? null);
  const { json } = await world.get(`/v1/tasks/${task.id}`, { token: world.key });
  expect(json).toMatchObject({ status: 'SUCCESS', cost: { charged: 0, currency: 'USD' } });
});

test('images of models that have no addresses at OpenAI come in Base64', async () => {
  await world.addPlugin('gpt-image', { models: ['gpt-image-1'], protocols: [] }, withoutVideo);
  const made = await client.images.generate({ model: 'gpt-image-1', prompt: 'x', ...{ list: TWO } });
  expect(made.data?.map(({ url, b64_json = '' }) => [url, b64_json.length > 0])).toEqual([
    [undefined, true],
    [undefined, true],
  ]);
});

describe('refused before anything is submitted', () => {
  test.each<[string, object, [number, string]]>([
    ['another format', { response_format: 'gif' }, [400, 'image_request_invalid']],
    ['a stream as text', { stream: 'true' }, [400, 'image_request_invalid']],
    ['a stream as number', { stream: 1 }, [400, 'image_request_invalid']],
    ['a model of videos', { model: 'acme-1' }, [404, 'model_not_found']],
    ['a model that bills songs', { model: 'singer-1' }, [404, 'model_not_found']],
    ['a model whose plugin claims images of another', { model: 'studio-1' }, [404, 'model_not_found']],
    ['a model that nobody serves', { model: 'nobody-1' }, [404, 'model_not_found']],
  ])('%s', async (_name, body, expected) => {
    const before = await readTasks();
    expect(readCode(await generate(body))).toEqual(expected);
    expect(await readTasks()).toBe(before);
  });
});

describe('what no repeat may buy again', () => {
  const refused = async (body: object) => {
    const before = await readTasks();
    const error = await client.images.generate({ ...{ model: 'pixel-1', prompt: 'x' }, ...body }).then(
      () => undefined,
      (thrown: InstanceType<typeof OpenAI.APIError>) => thrown,
    );
    return [error?.status, error?.code, (await readTasks()) - before];
  };

  test('a task that failed', async () => {
    expect(await refused({ end: 'FAILURE' })).toEqual([400, 'image_failed', 1]);
  });
  test('a task without an image', async () => {
    expect(await refused({ list: [{ key: 'v', type: 'video' }] })).toEqual([502, 'images_missing', 1]);
  });
  test('images that are together too large', async () => {
    const count = Math.ceil((17 * 1024 * 1024) / LARGE);
    const list = Array.from({ length: count }, (_, index) => ({ key: `k${index}`, type: 'image' }));
    const large = { list, content: { url: '/large' }, response_format: 'b64_json' };
    expect(await refused(large)).toEqual([502, 'images_too_large', 1]);
  });
});

test('an order beyond the budget of its key is 429, says when to come back, and buys nothing', async () => {
  const price = { plugin_key: 'pixel', model: 'pixel-1', expression: '0.01' };
  await world.admin.call('PUT', '/api/price', price);
  try {
    const token = await world.admin.createKey({ budget: { amount: 4999, period: 'day' } });
    const before = await readTasks();
    const body = { model: 'pixel-1', prompt: 'x', list: TWO };
    const refused = await ask(`${world.url}/v1/images/generations`, { token, body });
    expect(readCode(refused)).toEqual([429, 'budget_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(await readTasks()).toBe(before);
  } finally {
    await world.admin.call('DELETE', `/api/price?plugin_key=pixel&model=pixel-1`);
  }
});

test('a repeat that only a relay channel could serve now is answered with the task of the plugin', async () => {
  const channel = await world.addPlugin('both', { protocols: [] }, withoutVideo);
  const relay = { type: 1, name: 'relay', models: ['both-1'], key: 'sk-0123456789', task_plugin_key: undefined };
  await world.admin.createChannel(world.vendor.url, relay);
  const order = (headers: object) =>
    fetch(`${world.url}/v1/images/generations`, {
      method: 'POST',
      headers: { ...{ authorization: `Bearer ${world.key}`, 'idempotency-key': 'both' }, ...JSON_TYPE, ...headers },
      body: JSON.stringify({ model: 'both-1', prompt: 'x', list: TWO }),
    });
  expect((await order({})).status).toBe(200);
  await world.admin.call('PUT', `/api/channel/${channel}`, { status: 2 });
  const again = await order({ prefer: 'respond-async' });
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
  expect(await again.json()).toMatchObject({ id: expect.stringMatching(/^task_/), status: 'SUCCESS' });
  const whole = await order({});
  expect([whole.status, await whole.json()]).toMatchObject([409, { error: { code: 'idempotency_not_replayable' } }]);
});
