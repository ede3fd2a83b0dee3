/** Shipped plugins that make audio, behind `POST /v1/audio/speech`: the bytes, and the bill. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import OpenAI from 'openai';
import { type Administrator, type Gateway, setUp, startGateway } from '../support/gateway.ts';

setDefaultTimeout(120_000);

const SOUND = new Uint8Array(64 * 1024).fill(0xff);
const AUDIO = { 'content-type': 'audio/mpeg' };

let gateway: Gateway;
let admin: Administrator;
let client: OpenAI;
const sent: { path: string; body: Record<string, unknown> }[] = [];
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request, { url }) {
    const { pathname } = new URL(request.url);
    if (pathname === '/song.mp3') return new Response(SOUND, { headers: AUDIO });
    sent.push({ path: pathname, body: (await request.json()) as Record<string, unknown> });
    if (pathname.startsWith('/v1/text-to-speech/')) {
      return new Response(SOUND, { headers: { ...AUDIO, 'character-cost': '40', 'request-id': 'r-1' } });
    }
    return Response.json({
      data: { audio: `${url.origin}/song.mp3`, status: 2 },
      extra_info: { music_duration: 25_364 },
      base_resp: { status_code: 0, status_msg: 'success' },
    });
  },
});

beforeAll(async () => {
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  client = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1`, maxRetries: 0 });
}, 120_000);
afterAll(async () => {
  await gateway?.stop();
  await vendor.stop(true);
});

test.each([
  ['elevenlabs', 'eleven_multilingual_v2', '0.001 * u("characters")', 20_000, 'text'],
  ['minimax-music', 'music-2.0', '0.001 * u("seconds")', 13_000, 'prompt'],
])('%s answers the official client', async (plugin, model, expression, quota, field) => {
  await admin.createChannel(vendor.url.origin, { name: plugin, key: 'sk_1', task_plugin_key: plugin, models: [model] });
  await admin.call('PUT', '/api/price', { plugin_key: plugin, model, expression });
  const lyrics = { lyrics: 'la la la' };
  const spoken = await client.audio.speech.create({ model, input: 'Hello there', voice: 'voice1', ...lyrics });
  expect(spoken.headers.get('content-type')).toBe('audio/mpeg');
  expect(new Uint8Array(await spoken.arrayBuffer())).toEqual(SOUND);
  expect(sent.at(-1)?.body[field]).toBe('Hello there');
  const [task] = (await admin.call<{ items: { quota: number }[] }>('GET', '/api/task?page_size=1')).items;
  expect(task?.quota).toBe(quota);
});
