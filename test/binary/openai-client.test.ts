import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { type Gateway, setUp, startGateway, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';

setDefaultTimeout(120_000);

describe('the official openai client', () => {
  let gateway: Gateway;
  let vendor: VendorProcess;
  let client: OpenAI;

  beforeAll(async () => {
    vendor = await startVendor();
    gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
    const admin = await setUp(gateway);
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
