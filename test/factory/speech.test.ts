/**
 * Factory plugins that make audio, behind `POST /v1/audio/speech`: the bytes, and the bill.
 * And one that reads recordings, behind `POST /v1/audio/transcriptions`.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type Administrator, type Gateway, letNothingWait, setUp, startGateway } from '../support/gateway.ts';

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
    if (pathname === '/v1/speech-to-text') return transcribe(await request.formData());
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

/** As ElevenLabs answers: words with their times, and subtitles for those who ask. */
function transcribe(form: FormData): Response {
  const recording = form.get('file') as File;
  sent.push({ path: '/v1/speech-to-text', body: { model: form.get('model_id'), name: recording.name } });
  if (recording.size === 3)
    return Response.json({ detail: { status: 'quota_exceeded', message: 'empty' } }, { status: 401 });
  const subtitles = { requested_format: 'srt', content: '1\n00:00:00,000 --> 00:00:01,000\nHello there\n' };
  return Response.json({
    ...{ text: 'Hello there', language_code: 'eng', transcription_id: 'tr-1', audio_duration_secs: 12.5 },
    words: [{ text: 'Hello', start: 0, end: 0.5, type: 'word' }],
    ...(form.has('additional_formats') ? { additional_formats: [subtitles] } : {}),
  });
}

beforeAll(async () => {
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  await letNothingWait(admin);
  client = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
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

test('elevenlabs transcribes for the official client, billed by the length of the recording', async () => {
  const model = 'scribe_v2';
  await admin.createChannel(vendor.url.origin, {
    name: 'scribe',
    key: 'sk_1',
    task_plugin_key: 'elevenlabs',
    models: [model],
  });
  await admin.call('PUT', '/api/price', {
    plugin_key: 'elevenlabs',
    model,
    expression: '0.001 * u("recorded_seconds")',
  });
  const lastQuota = async () =>
    (await admin.call<{ items: { quota: number; status: string }[] }>('GET', '/api/task?page_size=1')).items[0];
  const file = new File([SOUND], 'meeting.mp3', { type: 'audio/mpeg' });
  const heard = await client.audio.transcriptions.create({ model, file, response_format: 'verbose_json' });
  expect(heard).toMatchObject({ text: 'Hello there', duration: 12.5, words: [{ word: 'Hello', start: 0, end: 0.5 }] });
  expect(sent.at(-1)).toEqual({ path: '/v1/speech-to-text', body: { model, name: 'meeting.mp3' } });
  // 12.5 seconds, in place of the 17 that the size of the file allows.
  expect(await lastQuota()).toMatchObject({ quota: 6250, status: 'SUCCESS' });
  expect(await client.audio.transcriptions.create({ model, file, response_format: 'text' })).toBe(
    'Hello there' as never,
  );
  const subtitles: unknown = await client.audio.transcriptions.create({ model, file, response_format: 'srt' });
  expect(subtitles).toContain('00:00:00,000 --> 00:00:01,000');
  const silent = new File([new Uint8Array(3)], 'silent.mp3', { type: 'audio/mpeg' });
  const refused: unknown = await client.audio.transcriptions.create({ model, file: silent }).catch((error) => error);
  expect(refused).toMatchObject({ status: 503 });
  expect((await lastQuota())?.quota).toBe(0);
});
