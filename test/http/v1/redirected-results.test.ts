/** Kept results in a bucket, to which downloads are redirected. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type S3StandIn, startS3StandIn } from '../../support/s3-stand-in.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, FILE, startArtifactGateway } from './artifact-harness.ts';

let bucket: S3StandIn;
let world: ArtifactGateway;
beforeAll(async () => {
  bucket = startS3StandIn();
  world = await startArtifactGateway({
    RESULTS_URL: `s3://results/kept?endpoint=${bucket.url}`,
    RESULTS_S3_ACCESS_KEY_ID: 'key',
    RESULTS_S3_SECRET_ACCESS_KEY: 'secret',
    RESULTS_MIN_FREE_MB: '0',
  });
  const withoutVideo = (source: string) => source.replace(/export const protocols[\s\S]*?\n\} \};/, '');
  await world.addPlugin('pixel', { protocols: [] }, withoutVideo);
  await world.addPlugin('scribe', { protocols: [] }, (source) =>
    withoutVideo(source)
      .replace("[{ key: 'video', type: 'video' }]", "[{ key: 'words', type: 'file', mimeType: 'application/json' }]")
      .replace('ctx.data.content || {}', "{ url: '/words' }"),
  );
  world.vendor.files.set('/words', new TextEncoder().encode('{"text": "hello there"}'));
  for (const key of ['results.keep', 'results.s3_redirect'])
    await world.admin.call('PUT', '/api/option', { key, value: key === 'results.keep' ? 'all' : 'true' });
});
afterAll(async () => {
  await world.stop();
  await bucket.stop();
});

const PICTURE = [{ key: 'first', type: 'image', mimeType: 'image/png' }];
const SOUND = [{ key: 'song', type: 'audio', mimeType: 'audio/mpeg' }];

const order = (path: string, body: object | FormData, key: string) =>
  fetch(`${world.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...{ authorization: `Bearer ${world.key}`, 'idempotency-key': key },
      ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  });

/** Waits until the result of the newest task is in the bucket; its links are redirected then. */
async function awaitKept(): Promise<void> {
  const [task] = (await world.get('/v1/tasks?limit=1', { token: world.key })).json.data as { id: string }[];
  const [link = ''] = await until('the result is kept', async () => {
    const { json } = await world.get(`/v1/tasks/${task?.id}/artifacts`, { token: world.key });
    const [artifact] = json.artifacts as { kept: string; content_url: string }[];
    return artifact?.kept === 'kept' && [artifact.content_url];
  });
  const { pathname, search } = new URL(link);
  const ask = (more = '') => fetch(`${world.url}${pathname}${search}${more}`, { redirect: 'manual' });
  expect((await ask()).status).toBe(302);
  expect((await ask('&redirect=false')).status).toBe(200);
}

test('images in Base64 have their bytes', async () => {
  const body = { model: 'pixel-1', prompt: 'x', response_format: 'b64_json', list: PICTURE };
  const ask = async () =>
    (await (await order('/v1/images/generations', body, 'images')).json()) as { data: { b64_json: string }[] };
  const first = await ask();
  await awaitKept();
  for (const { data } of [first, await ask()])
    expect(Buffer.from(data[0]?.b64_json ?? '', 'base64').equals(FILE)).toBe(true);
});

test('speech is answered with its sound', async () => {
  const ask = () => order('/v1/audio/speech', { model: 'pixel-1', input: 'hello', voice: 'v', list: SOUND }, 'speech');
  await (await ask()).bytes();
  await awaitKept();
  const again = await ask();
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(Buffer.from(FILE).equals(await again.bytes())).toBe(true);
});

test('a transcription has its text', async () => {
  const ask = () => {
    const form = new FormData();
    form.set('file', new File([new Uint8Array([1, 2, 3])], 'a.mp3'));
    form.set('model', 'scribe-1');
    return order('/v1/audio/transcriptions', form, 'words');
  };
  expect(await (await ask()).json()).toEqual({ text: 'hello there' });
  await awaitKept();
  expect(await (await ask()).json()).toEqual({ text: 'hello there' });
});
