/** OpenAI's audio API served by plugins whose artifacts are audio or texts. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { ask } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, FILE, startArtifactGateway, withoutVideo } from './artifact-harness.ts';

let world: ArtifactGateway;
let client: OpenAI;
beforeAll(async () => {
  world = await startArtifactGateway();
  await world.addPlugin('voice', { protocols: [] }, withoutVideo);
  const usageSchema = { images: { type: 'number', unit: 'count' } };
  await world.addPlugin('painter', { protocols: [], usageSchema }, withoutVideo);
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.url}/v1`, maxRetries: 0 });
});
afterAll(() => world.stop());

const SOUND = [
  { key: 'cover', type: 'image' },
  { key: 'song', type: 'audio', mimeType: 'audio/mpeg' },
];
const speak = (body: object) =>
  ask(`${world.url}/v1/audio/speech`, {
    token: world.key,
    body: { model: 'voice-1', input: 'hello', voice: 'v', ...body },
  });

describe('speech', () => {
  test('the official client gets the bytes, and the plugin the text under each name', async () => {
    const order = { model: 'voice-1', input: 'hello', voice: 'v', ...{ list: SOUND, end: 'IN_PROGRESS' } };
    const spoken = await client.audio.speech.create(order);
    expect(new Uint8Array(await spoken.arrayBuffer())).toEqual(FILE);
    expect(world.vendor.submitted()).toMatchObject({ input: 'hello', text: 'hello', prompt: 'hello', voice: 'v' });
  });

  test('an official client that gives up while its order is being sent is answered before, and orders once', async () => {
    const before = world.vendor.orders();
    const order = { model: 'voice-1', input: 'hello', voice: 'v', ...{ list: SOUND, hold: true } };
    const failed = await client.audio.speech.create(order, { timeout: 2000, maxRetries: 2 }).catch((error) => error);
    expect(failed).toMatchObject({ status: 504, code: 'task_timeout' });
    expect(world.vendor.held()).toBe(1);
    world.vendor.answerHeld();
    await until('the vendor has taken the order', () => world.vendor.orders() > before);
    expect(world.vendor.orders()).toBe(before + 1);
  });

  test.each<[string, object, [number, string]]>([
    ['no text', { input: '' }, [400, 'audio_request_invalid']],
    ['events', { stream_format: 'sse' }, [400, 'audio_request_invalid']],
    ['a vendor that gives up', { end: 'FAILURE' }, [400, 'audio_failed']],
    ['a result without sound', { list: [{ key: 'cover', type: 'image' }] }, [502, 'audio_missing']],
    ['a model of videos', { model: 'acme-1' }, [404, 'model_not_found']],
    ['a model that bills images', { model: 'painter-1' }, [404, 'model_not_found']],
    ['a plugin without a channel', { model: 'eleven_v3' }, [503, 'no_available_channel']],
  ])('%s is refused', async (_name, body, expected) => {
    const { status, body: answer } = await speak(body);
    expect([status, (answer.error as { code?: string } | undefined)?.code]).toEqual(expected as [number, string]);
  });
});

describe('transcriptions', () => {
  const transcribe = async (format: 'json' | 'text') => {
    world.vendor.files.set('/words', new TextEncoder().encode('{"text": "hello there", "language": "en"}'));
    const form = new FormData();
    form.set('file', await toFile(new Uint8Array([1, 2, 3]), 'a.mp3'));
    form.set('model', 'voice-1');
    form.set('response_format', format);
    form.set('directive', 'words');
    return fetch(`${world.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}` },
      body: form,
    });
  };

  test('a form without a recording is refused', async () => {
    const { status, body } = await ask(`${world.url}/v1/audio/transcriptions`, {
      token: world.key,
      body: { model: 'voice-1' },
    });
    expect([status, body.error]).toMatchObject([400, { code: 'audio_request_invalid', param: 'file' }]);
  });

  test('events are refused before they cost', async () => {
    const before = world.vendor.orders();
    const file = await toFile(new Uint8Array([1, 2, 3]), 'a.mp3');
    const order = { model: 'voice-1', file };
    expect(await client.audio.transcriptions.create({ ...order, stream: true }).catch((error) => error)).toMatchObject({
      ...{ status: 400, code: 'audio_request_invalid', param: 'stream' },
    });
    expect(world.vendor.orders()).toBe(before);
    // No stream was asked for: this order is bought.
    await client.audio.transcriptions.create({ ...order, stream: false }).catch(() => undefined);
    expect(world.vendor.orders()).toBe(before + 1);
  });

  test('a result without a text is said', async () => {
    const answer = await transcribe('json');
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      502,
      'audio_missing',
    ]);
  });

  test('are the text that the plugin lists', async () => {
    await world.addPlugin('scribe', { protocols: [] }, (source) =>
      source
        .replace(/export const protocols[\s\S]*?\n\} \};/, '')
        .replace(
          "data.list || [{ key: 'video', type: 'video' }]",
          "[{ key: 'words', type: 'file', mimeType: 'application/json' }]",
        )
        .replace('ctx.data.content || {}', "{ url: '/words' }"),
    );
    world.vendor.files.set('/words', new TextEncoder().encode('{"text": "hello there", "language": "en"}'));
    const file = await toFile(new Uint8Array([1, 2, 3]), 'a.mp3');
    expect(await client.audio.transcriptions.create({ model: 'scribe-1', file })).toMatchObject({
      text: 'hello there',
    });
    const text = await client.audio.transcriptions.create({ model: 'scribe-1', file, response_format: 'text' });
    expect(text as unknown as string).toBe('hello there');
  });
});
