import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
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
    // A refusal is told at once; with waiting, the task would wait for a free slot.
    await admin.call('PUT', '/api/option', { key: 'queue.max_wait_seconds', value: '0' });
    client = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });
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
  });

  test('creates a video from a file', async () => {
    const image = await toFile(new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), 'start.png', { type: 'image/png' });
    const created = await client.videos.create({ model, prompt: 'it moves [duration=0.3]', input_reference: image });
    const done = await until('the video is there', async () => {
      const video = await client.videos.retrieve(created.id);
      return video.status === 'completed' || video.status === 'failed' ? video : undefined;
    });
    expect(done.status).toBe('completed');
  });

  test('a failed job is a failed video with a reason', async () => {
    const created = await client.videos.create({ model, prompt: 'no [fail] [duration=0.3]' });
    const done = await until('the video has failed', async () => {
      const video = await client.videos.retrieve(created.id);
      return video.status === 'failed' ? video : undefined;
    });
    expect(done.error?.message).toBeTruthy();
  });

  test('a video shows what was asked for, at once', async () => {
    const asked = { model, prompt: 'a paper boat [duration=0.3]', seconds: '8', size: '1280x720' } as const;
    const created = await client.videos.create(asked);
    expect(created).toMatchObject({ prompt: asked.prompt, seconds: '8', size: '1280x720' });
    expect(await client.videos.retrieve(created.id)).toMatchObject({ prompt: asked.prompt, seconds: '8' });
  });

  test('lists videos page by page, and deletes them with their files', async () => {
    const reader = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1` });
    const headers = { authorization: `Bearer ${reader.apiKey}` };
    const made: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      made.push((await reader.videos.create({ model, prompt: `${name} [duration=0.3]` })).id);
    }
    const [oldest, middle, newest] = made as [string, string, string];
    const page = await reader.videos.list({ limit: 2 });
    expect(page.data.map(({ id }) => id)).toEqual([newest, middle]);
    expect(page).toMatchObject({ last_id: middle, has_more: true });
    const ids = async (list: AsyncIterable<{ id: string }>) => (await Array.fromAsync(list)).map(({ id }) => id);
    const all = await ids(reader.videos.list({ limit: 2 }));
    expect(all.slice(0, 3)).toEqual([newest, middle, oldest]);
    expect(await ids(reader.videos.list({ order: 'asc', after: oldest }))).toEqual([middle, newest]);
    const tasks = await fetch(`${gateway.url}/v1/tasks?limit=1`, { headers });
    expect(await tasks.json()).toMatchObject({
      object: 'list',
      data: [{ id: newest, object: 'task' }],
      has_more: true,
    });
    for (const [query, param] of [
      ['after=task_unknown', 'after'],
      ['limit=0', 'limit'],
      ['limit=1000', 'limit'],
      ['order=up', 'order'],
    ] as const) {
      const answer = await fetch(`${gateway.url}/v1/videos?${query}`, { headers });
      expect([answer.status, ((await answer.json()) as { error: { param: string } }).error.param]).toEqual([
        400,
        param,
      ]);
    }

    const running = (await reader.videos.create({ model, prompt: 'long [duration=600]' })).id;
    const refused = await reader.videos.delete(running).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.ConflictError);
    await until('the video is there', async () => (await reader.videos.retrieve(newest)).status === 'completed');
    const artifacts = await fetch(`${gateway.url}/v1/tasks/${newest}/artifacts`, { headers });
    const { artifacts: listed } = (await artifacts.json()) as { artifacts: { content_url: string }[] };
    const link = String(listed[0]?.content_url);
    expect((await fetch(link)).status).toBe(200);
    expect(await reader.videos.delete(newest)).toEqual({ id: newest, object: 'video.deleted', deleted: true });
    for (const path of ['', '/content']) {
      expect((await fetch(`${gateway.url}/v1/videos/${newest}${path}`, { headers })).status).toBe(404);
    }
    for (const path of ['', '/artifacts', '/events', '/artifacts/video/content']) {
      expect((await fetch(`${gateway.url}/v1/tasks/${newest}${path}`, { headers })).status).toBe(404);
    }
    expect((await fetch(link)).status).toBe(404);
    expect(await ids(reader.videos.list())).not.toContain(newest);
    const again = await reader.videos.delete(newest).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(OpenAI.NotFoundError);
    const stranger = await fetch(`${gateway.url}/v1/tasks/${oldest}`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer sk-x' },
    });
    expect(stranger.status).toBe(401);
    await until('the oldest is there', async () => (await reader.videos.retrieve(oldest)).status === 'completed');
    const deleted = await fetch(`${gateway.url}/v1/tasks/${oldest}`, { method: 'DELETE', headers });
    expect(await deleted.json()).toEqual({ id: oldest, object: 'task.deleted', deleted: true });
    const { items } = await admin.call<{ items: { task_id: string }[] }>('GET', '/api/task?page_size=100');
    expect(items.map(({ task_id: id }) => id)).not.toContain(oldest);
    const kept = await admin.call<{ items: { task_id: string }[] }>('GET', '/api/task?scope=all&page_size=100');
    expect(kept.items.map(({ task_id: id }) => id)).toContain(oldest);
  });

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
    const model: object = await client.models.retrieve('demo-video');
    expect(model).toEqual({
      id: 'demo-video',
      object: 'model',
      created: expect.any(Number),
      owned_by: expect.stringMatching(/demo/i),
      supported_endpoint_types: ['openai-video', 'openai-response', 'task'],
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
  });

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
  });

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
  });
});
