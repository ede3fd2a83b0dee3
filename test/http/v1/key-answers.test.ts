/** What an API key is told of models, prices and its own spending. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ask } from '../../support/gateway.ts';
import { type ArtifactGateway, startArtifactGateway, withoutVideo } from './artifact-harness.ts';

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway();
  await world.admin.call('PUT', '/api/price', { plugin_key: 'acme', model: 'acme-1', expression: '0.25' });
});
afterAll(() => world.stop());

const get = async (path: string) => (await world.get(path, { token: world.key })).json;

test.each([
  ...['x-api-key', 'api-key', 'xi-api-key', 'x-key'].map((name) => [name, '']),
  ...['Key ', 'Token ', 'key  '].map((scheme) => ['authorization', scheme]),
])('%s: %s… names the key as clients of vendors do', async (name = '', scheme) => {
  expect((await world.get('/v1/models', { headers: { [name]: `${scheme}${world.key}` } })).status).toBe(200);
  expect((await world.get('/v1/models', { headers: { [name]: `${scheme}${world.key}x` } })).status).toBe(401);
});

test('key confusion: a wrong Authorization is not mended by another header', async () => {
  const headers = { authorization: 'Bearer sk-wrong', 'x-api-key': world.key };
  expect((await world.get('/v1/models', { headers })).status).toBe(401);
});

test('models say what takes them, and on request inputs, price and usual time', async () => {
  const { data } = (await get('/v1/models')) as { data: { id: string }[] };
  const plain = data.find(({ id }) => id === 'acme-1');
  expect(plain).toMatchObject({ object: 'model', supported_endpoint_types: ['openai-video', 'task'] });
  expect(await get('/v1/models/acme-1?detail=true')).toMatchObject({
    ...plain,
    plugin: 'acme',
    inputs: { type: 'object', properties: { prompt: { type: 'string' } } },
    price: { currency: 'USD', priced: true, summary: { kind: 'amount', usd: 0.25, per: [] } },
    usual_seconds: null,
  });
});

test('models that bill songs, or that last and are no images, are offered as audio', async () => {
  const seconds = { type: 'number', unit: 'second' };
  const count = { type: 'number', unit: 'count' };
  for (const [plugin, usageSchema, type] of [
    ['singer', { songs: count }, 'audio'],
    ['player', { seconds }, 'audio'],
    ['painter', { seconds, images: count }, 'image-generation'],
  ] as const) {
    await world.addPlugin(plugin, { protocols: [], usageSchema }, withoutVideo);
    expect(await get(`/v1/models/${plugin}-1`)).toMatchObject({ supported_endpoint_types: [type, 'task'] });
  }
});

test('models of images are not offered, or bought, as audio', async () => {
  await world.addPlugin('brush', { protocols: ['proto_image'] }, (source) =>
    source.replace(
      /export const protocols[\s\S]*?\n\} \};/,
      `export const protocols = { proto_image: {
        decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: body.value }),
        render: () => null,
      } };`,
    ),
  );
  expect(await get('/v1/models/brush-1')).toMatchObject({ supported_endpoint_types: ['image-generation', 'task'] });
  const before = world.vendor.orders();
  const said = await ask(`${world.url}/v1/audio/speech`, { token: world.key, body: { model: 'brush-1', input: 'hi' } });
  expect([said.status, said.body.error, world.vendor.orders()]).toMatchObject([
    404,
    { code: 'model_not_found' },
    before,
  ]);
});

test('the list of models takes the parameters of any program', async () => {
  expect(await get('/v1/models?client_version=0.99.0&limit=1000')).toMatchObject({ object: 'list' });
  expect((await world.get('/v1/models?detail=yes', { token: world.key })).code).toBe('validation_failed');
});

test('a model is read by its name, whose slashes need not be escaped', async () => {
  const model = 'maker/clips/v2.6/pro/text-to-video';
  await world.admin.createChannel(world.vendor.url, {
    ...{ models: [model], model_mapping: { [model]: 'acme-1' }, task_plugin_key: 'acme', key: 'vendor-key' },
  });
  await world.admin.call('PUT', '/api/price', { plugin_key: 'acme', model, expression: '0.25' });
  for (const name of [model, encodeURIComponent(model)])
    expect(await get(`/v1/models/${name}`)).toMatchObject({ id: model, object: 'model' });
  expect((await world.get(`/v1/models/${model}/more`, { token: world.key })).code).toBe('model_not_found');
});

test('caching: an answer to a key in a header of its own is stored by nobody in between', async () => {
  const headers = { 'x-api-key': world.key };
  for (const path of ['/v1/models', '/v1/tasks', '/v1/videos', '/v1/usage', '/v1/tasks/task_unknown'])
    expect([path, (await world.get(path, { headers })).headers.get('cache-control')]).toEqual([path, 'no-store']);
});

test('relayed models say what takes them, by name and price', async () => {
  const priced: [model: string, expression: string, types: string[]][] = [
    ['chat-x', '0.000001 * u("input_tokens")', ['openai', 'openai-response']],
    ['gpt-image-x', '0.000001 * u("output_tokens")', ['image-generation']],
    ['draw-x', '0.25 * u("images")', ['image-generation']],
    ['vid-x', '0.1 * u("seconds")', ['openai-video']],
    ['whisper-x', '0.0001 * u("seconds")', ['audio']],
    ['gpt-x-mini-tts', '0.01', ['audio']],
    ['text-embedding-x', '0.01', ['embeddings']],
  ];
  await world.admin.call('POST', '/api/channel', {
    ...{ name: 'relay', type: 1, key: 'sk-1', base_url: world.vendor.url, models: priced.map(([model]) => model) },
  });
  for (const [model, expression] of priced)
    await world.admin.call('PUT', '/api/price', { plugin_key: '*', model, expression });
  const { data } = (await get('/v1/models')) as { data: { id: string; supported_endpoint_types: string[] }[] };
  for (const [model, , types] of priced)
    expect([model, data.find(({ id }) => id === model)?.supported_endpoint_types]).toEqual([model, types]);
});

test('apps that read /api/pricing find models, prices and endpoints', async () => {
  const { data, ...rest } = (await get('/api/pricing')) as { data: { model_name: string }[] };
  expect(data.find((model) => model.model_name === 'acme-1')).toMatchObject({
    ...{ quota_type: 1, model_price: 0.25, enable_groups: ['default'] },
    supported_endpoint_types: ['openai-video', 'task'],
  });
  expect(rest).toMatchObject({ success: true, group_ratio: { default: 1 } });
});

describe('spending', () => {
  test('a quote says what a request would reserve, and stores nothing', async () => {
    const { status, body } = await ask(`${world.url}/v1/tasks/acme/quote`, {
      token: world.key,
      body: { model: 'acme-1', prompt: 'x' },
    });
    const cost = { reserved: 0.25, charged: null, currency: 'USD', usd: 0.25 };
    expect([status, body]).toMatchObject([200, { object: 'quote', platform: 'acme', model: 'acme-1', cost }]);
    expect((await get('/v1/tasks')).data).toEqual([]);
  });

  test('a task says what it costs, and the key what it has spent', async () => {
    const id = await world.finished();
    expect(await get(`/v1/tasks/${id}`)).toMatchObject({
      cost: { reserved: 0.25, charged: 0.25, currency: 'USD', usd: 0.25 },
    });
    expect(await get('/v1/usage')).toMatchObject({
      ...{ object: 'usage', currency: 'USD', usd: 0.25, succeeded: 1, failed: 0 },
      models: [{ plugin: 'acme', model: 'acme-1', usd: 0.25 }],
    });
    expect(await get('/v1/dashboard/billing/usage')).toEqual({ object: 'list', total_usage: 25 });
    // Midnight may have passed since the task ended.
    const [start, end] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    expect(await get(`/v1/dashboard/billing/usage?start_date=${start}&end_date=${end}`)).toMatchObject({
      total_usage: 25,
    });
    // Some apps have no /v1 in their base URL.
    for (const base of ['', '/v1'])
      expect(await get(`${base}/dashboard/billing/subscription`)).toMatchObject({ hard_limit_usd: 100_000_000 });
    expect(await get('/dashboard/billing/usage')).toEqual({ object: 'list', total_usage: 25 });
  });

  test('a period that is too long is refused by the name of its own field', async () => {
    const fields = {
      '/v1/usage?from=2001-01-01': 'from',
      '/v1/dashboard/billing/usage?start_date=2001-01-01': 'start_date',
    };
    for (const [path, param] of Object.entries(fields)) {
      const { status, body } = await ask(`${world.url}${path}`, { token: world.key });
      expect([status, body]).toMatchObject([400, { error: { param, code: 'validation_failed' } }]);
    }
  });

  test('another key’s spending is not shown', async () => {
    const other = await world.admin.createKey({ name: 'other' });
    const { json } = await world.get('/v1/usage', { token: other });
    expect(json).toMatchObject({ usd: 0, succeeded: 0, models: [] });
  });
});

test('the last order that a key could pay for is answered again, and no further one', async () => {
  const order = (token: string, path: string, idempotencyKey: string) =>
    ask(`${world.url}${path}`, {
      token,
      headers: { 'idempotency-key': idempotencyKey },
      body: { model: 'acme-1', prompt: 'the last one' },
    });
  for (const path of ['/v1/tasks/acme', '/v1/videos']) {
    const token = await world.admin.createKey({ unlimited_quota: false, quota: 125_000 });
    const first = await order(token, path, `last ${path}`);
    const again = await order(token, path, `last ${path}`);
    expect([path, again.status, again.headers.get('idempotent-replayed'), again.body.id]).toEqual([
      ...[path, 200, 'true', first.body.id],
    ]);
    const further = await order(token, path, `further ${path}`);
    expect([path, further.status, further.body.error]).toMatchObject([path, 401, { code: 'api_key_exhausted' }]);
  }
});
