/**
 * Images in clients' JSON on their way through factory plugins to a vendor, and floods that no
 * plugin sees.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../../support/gateway.ts';

const MIB = 1024 * 1024;
const image = Buffer.from(Uint8Array.from({ length: 5 * MIB }, (_, i) => (i * 31 + (i >> 9)) & 255)).toString('base64');
const dataUrl = `data:image/png;base64,${image}`;

let gateway: Gateway;
let admin: Administrator;
let key: string;
const bodies: { path: string; length: string | null; text: string }[] = [];
const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url);
    const text = await request.text();
    // Polls of earlier tasks arrive at any time.
    if (request.method === 'POST') bodies.push({ path: pathname, length: request.headers.get('content-length'), text });
    const id = `job-${bodies.length}`;
    return Response.json({ code: 0, data: { task_id: id, task_status: 'submitted' }, output: { task_id: id }, id });
  },
});

beforeAll(async () => {
  gateway = await startGateway({ env: { UPSTREAM_ALLOW_PRIVATE: 'true', NODE_TYPE: 'slave' } });
  admin = await setUp(gateway);
  const channel = { base_url: vendor.url.origin, type: 61 };
  const channels = [
    { name: 'kling', task_plugin_key: 'kling', key: 'access|secret', models: ['kling-v2-1'] },
    { name: 'ali', task_plugin_key: 'ali', key: 'secret', models: ['wan2.2-i2v-plus'] },
    { name: 'jimeng', task_plugin_key: 'jimeng', key: 'access|secret', models: ['jimeng-video-3.0'] },
    { name: 'relay', type: 1, key: 'secret', models: ['any-llm'] },
  ];
  for (const each of channels)
    await admin.createChannel(vendor.url.origin, { ...channel, task_plugin_key: undefined, ...each });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway.stop();
  await vendor.stop(true);
});

const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(`${admin.url}${path}`, { token: key, body, headers });

async function hookCalls(): Promise<number> {
  const metrics = await (await fetch(`${admin.url}/metrics`)).text();
  return Number(/^taskgate_sandbox\{figure="calls"\} (\d+)/m.exec(metrics)?.[1]);
}

test('8 MB of empty objects, 100,000 levels and 1 MiB of text never reach a plugin', async () => {
  const before = await hookCalls();
  const floods: [string, number, string][] = [
    [`{"model":"kling-v2-1","x":[${'{},'.repeat(2_700_000)}{}]}`, 413, '20,000'],
    [`{"model":"kling-v2-1","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400, '64 levels'],
    [JSON.stringify({ model: 'kling-v2-1', prompt: 'a b '.repeat(MIB / 4) }), 413, '1 MB'],
  ];
  for (const [body, status, says] of floods) {
    const response = await fetch(`${admin.url}/v1/tasks/kling`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)]);
  }
  expect(await hookCalls()).toBe(before);
});

test('an image of 5 MB as a data URL reaches the vendor byte for byte, with or without its prefix', async () => {
  const order = { prompt: 'a cat', image: dataUrl };
  expect((await send('/v1/tasks/kling', { ...order, model: 'kling-v2-1' })).status).toBe(200);
  const kling = bodies.at(-1);
  // This vendor wants plain Base64: the plugin removes the prefix.
  expect((JSON.parse(kling?.text ?? '') as { image: string }).image === image).toBe(true);
  expect(kling?.length).toBe(String(kling?.text.length));

  expect((await send('/v1/tasks/ali', { ...order, model: 'wan2.2-i2v-plus' })).status).toBe(200);
  const ali = JSON.parse(bodies.at(-1)?.text ?? '') as { input: { img_url: string } };
  expect(ali.input.img_url === dataUrl).toBe(true);
});

test('a vendor whose requests are signed with their body does not get a request it would refuse', async () => {
  const count = bodies.length;
  const order = { model: 'jimeng-video-3.0', prompt: 'a cat', image: dataUrl };
  const { status, body } = await send('/v1/tasks/jimeng', order);
  expect([status, JSON.stringify(body), bodies.length]).toEqual([400, expect.stringContaining('signed'), count]);
});

test('the playground accepts the same image, quotes it, and answers a repeat with the first task', async () => {
  const body = { plugin_key: 'kling', body: { model: 'kling-v2-1', prompt: 'a cat', image: dataUrl } };
  const panel = (path: string) =>
    ask(`${admin.url}${path}`, { token: admin.token, body, headers: { 'idempotency-key': 'once' } });
  expect((await panel('/api/task/quote')).status).toBe(200);
  const count = bodies.length;
  const first = await panel('/api/task');
  expect([first.status, bodies.length]).toEqual([200, count + 1]);
  expect((JSON.parse(bodies.at(-1)?.text ?? '') as { image: string }).image === image).toBe(true);
  const again = await panel('/api/task');
  const readId = ({ body: answer }: typeof first) => (answer.data as { task_id: string }).task_id;
  expect([again.status, readId(again), bodies.length]).toEqual([200, readId(first), count + 1]);
  // Its files are gone with the request, so it cannot be retried from the stored request.
  const shown = JSON.stringify(first.body);
  expect(shown.length).toBeLessThan(10_000);
});

test('the relay forwards the image within a conversation', async () => {
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: dataUrl }] }];
  expect((await send('/v1/responses', { model: 'any-llm', input })).status).toBe(200);
  expect(JSON.parse(bodies.at(-1)?.text ?? '')).toEqual({ model: 'any-llm', input });
});
