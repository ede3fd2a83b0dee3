import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import {
  type Administrator,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { until } from '../support/until.ts';

setDefaultTimeout(120_000);

describe('the official openai client', () => {
  let gateway: Gateway;
  let vendor: VendorProcess;
  let client: OpenAI;
  let admin: Administrator;

  beforeAll(async () => {
    vendor = await startVendor();
    gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
    admin = await setUp(gateway);
    await admin.createChannel(vendor.url);
    client = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  }, 120_000);
  afterAll(async () => {
    await gateway?.stop();
    await vendor?.stop();
  });

  // The client's types name OpenAI's own models; ours are the plugins'.
  const model = 'demo-video' as OpenAI.VideoCreateParams['model'];

  test('creates, retrieves and downloads a video', async () => {
    const created = await client.videos.create({ model, prompt: 'a lighthouse [duration=0.3]', seconds: '4' });
    expect(created).toMatchObject({ object: 'video', status: 'queued', model: 'demo-video' });
    expect(created.id).toStartWith('task_');
    const done = await until('the video is there', async () => {
      const video = await client.videos.retrieve(created.id);
      return video.status === 'completed' || video.status === 'failed' ? video : undefined;
    });
    expect(done).toMatchObject({ id: created.id, status: 'completed', progress: 100 });
    expect(done.completed_at).toBeGreaterThanOrEqual(done.created_at);
    const content = await client.videos.downloadContent(created.id);
    expect(content.headers.get('content-type')).toBe('video/mp4');
    expect((await content.arrayBuffer()).byteLength).toBeGreaterThan(500);
  }, 120_000);

  test('creates a video from a file', async () => {
    const image = await toFile(new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), 'start.png', { type: 'image/png' });
    const created = await client.videos.create({ model, prompt: 'it moves [duration=0.3]', input_reference: image });
    const done = await until('the video is there', async () => {
      const video = await client.videos.retrieve(created.id);
      return video.status === 'completed' || video.status === 'failed' ? video : undefined;
    });
    expect(done.status).toBe('completed');
  }, 120_000);

  test('a failed job is a failed video with a reason', async () => {
    const created = await client.videos.create({ model, prompt: 'no [fail] [duration=0.3]' });
    const done = await until('the video has failed', async () => {
      const video = await client.videos.retrieve(created.id);
      return video.status === 'failed' ? video : undefined;
    });
    expect(done.error?.message).toBeTruthy();
  }, 120_000);

  test('lists the models that the key may use, and reads each by its name', async () => {
    await admin.createChannel('http://127.0.0.1:9', {
      name: 'relay',
      type: 1,
      task_plugin_key: undefined,
      models: ['acme/chat/large', 'unpriced', 'demo-video'],
    });
    await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'acme/chat/large', expression: '0.01' });
    const names = async (key: OpenAI) => (await Array.fromAsync(key.models.list())).map(({ id }) => id);
    const all = await names(client);
    expect(all).toEqual([...new Set(all)].sort());
    expect(all).toContain('demo-video');
    expect(all).toContain('acme/chat/large');
    expect(await client.models.retrieve('demo-video')).toEqual({
      id: 'demo-video',
      object: 'model',
      created: expect.any(Number),
      owned_by: expect.stringMatching(/demo/i),
    });
    expect(await client.models.retrieve('acme/chat/large')).toMatchObject({ owned_by: 'relay' });
    const headers = { authorization: `Bearer ${client.apiKey}` };
    const unescaped = await fetch(`${gateway.url}/v1/models/acme/chat/large`, { headers });
    expect(await unescaped.json()).toMatchObject({ id: 'acme/chat/large', object: 'model' });
    const error = await client.models.retrieve('nobody-serves-this').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({ code: 'model_not_found' });
    const narrow = new OpenAI({
      apiKey: await admin.createKey({ models: ['demo-video'] }),
      baseURL: `${gateway.url}/v1`,
    });
    expect(await names(narrow)).toEqual(['demo-video']);
  }, 120_000);

  test('too little money is insufficient_quota, and is not tried again', async () => {
    const apiKey = await admin.createKey({ unlimited_quota: false, quota: 1 });
    let requests = 0;
    const poor = new OpenAI({
      apiKey,
      baseURL: `${gateway.url}/v1`,
      fetch: (url, init) => {
        // The client asks a data: address what its fetch can do.
        if (String(url).startsWith('http')) requests += 1;
        return fetch(url, init);
      },
    });
    await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.5' });
    const error = await poor.videos.create({ model, prompt: 'x' }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, type: 'insufficient_quota', code: 'insufficient_key_quota' });
    expect(requests).toBe(1);
  }, 120_000);

  test('errors are of the client’s own classes', async () => {
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    // The client's promises are not native ones: what they reject with is caught by hand.
    const caught = (call: () => Promise<unknown>) =>
      call().then(
        () => undefined,
        (error: unknown) => error,
      );
    const rows: [() => Promise<unknown>, new (...args: never[]) => Error][] = [
      [() => client.videos.create({ model: 'nobody-serves-this' as typeof model, prompt: 'x' }), OpenAI.NotFoundError],
      [() => client.videos.retrieve('task_unknown'), OpenAI.NotFoundError],
      [() => stranger.videos.retrieve('task_unknown'), OpenAI.AuthenticationError],
      [() => client.videos.create({ model, prompt: 'x [submit=429]' }), OpenAI.RateLimitError],
      [() => client.videos.create({ model, prompt: 'x [submit=400]' }), OpenAI.BadRequestError],
    ];
    for (const [call, kind] of rows) expect(await caught(call)).toBeInstanceOf(kind);
  }, 120_000);
});
