/** Previews of artifacts over HTTP: who makes them, who may give one, and what is served. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sha256Hex } from '../../../src/kernel/index.ts';
import { ask, signIn } from '../../support/gateway.ts';
import { makeJpeg, makePng, makeWebp, pngChunk, webpExtended, webpFile } from '../../support/still-images.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, startArtifactGateway } from './artifact-harness.ts';

const webp = await makeWebp(64, 36);
let world: ArtifactGateway;
let stranger: Awaited<ReturnType<typeof signIn>>;
beforeAll(async () => {
  world = await startArtifactGateway({ UPSTREAM_ALLOW_PRIVATE: 'true', RESULTS_MIN_FREE_MB: '0' });
  await world.admin.createUser({ username: 'stranger', quota: 0 });
  stranger = await signIn(world.url, { username: 'stranger' });
});
afterAll(() => world.stop());

type Preview = { url: string; width: number; height: number; type: string };
type Listed = { key: string; preview?: Preview; cover?: Preview; kept?: string };

const list = async (id: string): Promise<Listed[]> =>
  (await world.get(`/v1/tasks/${id}/artifacts`, { token: world.key })).json.artifacts as Listed[];
/** Waits until the gateway has made this one. */
const readPreview = (id: string, key: string): Promise<Preview> =>
  until(`a preview of ${key}`, async () => (await list(id)).find((one) => one.key === key)?.preview);
const offer = (id: string, image: Uint8Array, { key = 'video', token = world.admin.token } = {}) =>
  ask(`${world.url}/api/task/${id}/artifacts/${key}/preview`, {
    method: 'POST',
    token,
    body: { image: Buffer.from(image).toString('base64') },
  });
const dataUrl = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
const here = (url: string): string => `${world.url}${new URL(url).pathname}${new URL(url).search}`;

describe('the gateway itself', () => {
  test('takes a small image as its own preview, and the vendor’s picture as that of a video', async () => {
    const png = makePng({ width: 40, height: 30, more: [pngChunk('tEXt', Buffer.from('made by somebody'))] });
    const artifacts = [
      { key: 'video-2', type: 'video' },
      { key: 'cover-2', type: 'image' },
      { key: 'audio-2', type: 'audio' },
      { key: 'text', type: 'file' },
    ];
    const id = await world.finished({ list: artifacts, content: { url: dataUrl('image/png', png) } });
    const preview = await readPreview(id, 'video-2');
    expect(preview).toMatchObject({ width: 40, height: 30, type: 'image/png' });
    const cover = await readPreview(id, 'cover-2');
    const sound = (await list(id)).find(({ key }) => key === 'audio-2');
    expect([sound?.preview, sound?.cover]).toEqual([undefined, cover]);
    const shown = await world.get(here(preview.url));
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(shown.text).not.toContain('somebody');
    expect(shown.bytes.length).toBe(png.length - 28);
  });

  test('leaves an image that is not a still within the limits to the owner’s browser', async () => {
    const id = await world.finished({
      list: [{ key: 'image', type: 'image' }],
      content: { url: dataUrl('image/jpeg', await makeJpeg(600, 400)) },
    });
    await list(id);
    // Lost previews are not lost results.
    await until('it was tried', async () => (await offer(id, webp, { key: 'image' })).status === 200);
    expect((await readPreview(id, 'image')).type).toBe('image/webp');
    const { items } = await world.admin.call<{ items: { id: string; poster?: Preview }[] }>('GET', '/api/task');
    expect(items.find((task) => task.id === id)?.poster).toMatchObject({ width: 64, height: 36 });
    const detail = await world.admin.call<{ artifacts: Listed[] }>('GET', `/api/task/${id}`);
    expect(detail.artifacts[0]?.preview).toMatchObject({ width: 64, height: 36 });
  });
});

describe('a preview that a browser made', () => {
  test('is served under a link with the rules of artifacts, cached, with its digest as entity tag', async () => {
    const id = await world.finished();
    expect((await offer(id, webp)).status).toBe(200);
    const { url, ...size } = await readPreview(id, 'video');
    expect(size).toEqual({ width: 64, height: 36, type: 'image/webp' });
    const shown = await world.get(here(url));
    const etag = shown.headers.get('etag') ?? '';
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "sandbox; default-src 'none'",
      'content-type': 'image/webp',
      'x-content-type-options': 'nosniff',
      etag: `"${sha256Hex(shown.bytes)}"`,
    });
    expect((await world.get(here(url), { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await world.get(here(url), { method: 'HEAD' })).status).toBe(200);
    expect((await world.get(here(url).replace('preview%3Avideo', 'video'))).status).toBe(404);
    const byKey = `/v1/tasks/${id}/artifacts/preview:video/content`;
    expect((await world.get(byKey, { token: world.key })).status).toBe(200);
    expect((await world.get(byKey, { token: await stranger.createKey() })).status).toBe(404);
    // The artifact itself is handed through as before.
    expect((await world.get(`/v1/videos/${id}/content`, { token: world.key })).headers.get('etag')).toBe('"v1"');
  });

  test('its link ends with the links of its artifact, at the asked time, and with its task', async () => {
    const id = await world.finished();
    expect((await offer(id, webp)).status).toBe(200);
    const { url } = await readPreview(id, 'video');
    const asked = await world.get(`/v1/tasks/${id}/artifacts?expires_in=900`, { token: world.key });
    const [{ preview, expires_at }] = asked.json.artifacts as [Listed & { expires_at: number }];
    expect(new URL(preview?.url ?? '').searchParams.get('access')).toStartWith(`${expires_at}.`);
    const revoke = () =>
      ask(`${world.url}/v1/tasks/${id}/artifacts/video/links`, { method: 'DELETE', token: world.key });
    expect((await revoke()).status).toBe(200);
    expect((await world.get(here(url))).status).toBe(404);
    const { url: next } = await readPreview(id, 'video');
    expect((await world.get(here(next))).status).toBe(200);
    await ask(`${world.url}/v1/tasks/${id}`, { method: 'DELETE', token: world.key });
    expect((await world.get(here(next))).status).toBe(404);
    expect((await offer(id, webp)).status).toBe(404);
  });

  test('second upload: of many at once one is taken, and it stays', async () => {
    const id = await world.finished();
    const images = await Promise.all([40, 50, 60].map((width) => makeWebp(width, 20)));
    const statuses = await Promise.all(images.map(async (image) => (await offer(id, image)).status));
    expect(statuses.toSorted()).toEqual([200, 409, 409]);
    const before = await readPreview(id, 'video');
    expect((await offer(id, webp)).body).toMatchObject({ code: 'PREVIEW_EXISTS' });
    expect(await readPreview(id, 'video')).toEqual(before);
  });

  test('another user’s task: it does not exist, but for administrators, who see it', async () => {
    await world.admin.call('PUT', '/api/price', { model: 'acme-1', expression: '0' });
    const theirs = await world.finished({}, 'acme', await stranger.createKey());
    const mine = await world.finished();
    expect((await offer(mine, webp, { token: stranger.token })).body).toMatchObject({ code: 'TASK_NOT_FOUND' });
    expect((await offer('task_of_nobody', webp)).status).toBe(404);
    expect((await offer(mine, webp, { token: '' })).status).toBe(401);
    expect((await offer(theirs, webp)).status).toBe(200);
    const { items } = await stranger.call<{ items: { id: string; poster?: Preview }[] }>('GET', '/api/task');
    expect(items.find(({ id }) => id === theirs)?.poster).toMatchObject({ width: 64, height: 36 });
    expect((await offer(theirs, webp, { token: stranger.token })).body).toMatchObject({ code: 'PREVIEW_EXISTS' });
  });

  test.each<[string, Uint8Array, number]>([
    ['polyglot: a page behind an image', Buffer.concat([webp, Buffer.from('<script>')]), 400],
    ['decompression bomb', makePng({ width: 60_000, height: 60_000, pixels: Buffer.alloc(9) }), 400],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 400],
    ['animated WebP', webpFile(webpExtended(2, 64, 36), webp.subarray(12)), 400],
    ['animated PNG', makePng({ more: [pngChunk('acTL', Buffer.alloc(8))] }), 400],
    ['oversize: 65,537 bytes', Buffer.alloc(65_537), 400],
    ['oversize: a body that is not parsed', Buffer.alloc(80_000), 413],
  ])('%s is refused', async (_name, image, status) => {
    const id = await world.finished();
    const answer = await offer(id, image);
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body).toMatchObject({ code: 'PREVIEW_INVALID' });
    expect((await list(id))[0]?.preview).toBeUndefined();
    const detail = await world.admin.call<{ artifacts: Listed[] }>('GET', `/api/task/${id}`);
    expect(detail.artifacts[0]?.preview).toBeUndefined();
  });

  test('of what is not an artifact, no picture or not finished is refused', async () => {
    const id = await world.finished({ list: [{ key: 'text', type: 'file' }] });
    expect((await offer(id, webp, { key: 'text' })).body).toMatchObject({ code: 'ARTIFACT_NOT_FOUND' });
    expect((await offer(id, webp, { key: 'preview:text' })).status).toBe(404);
    const failed = await world.finished({ end: 'FAILURE' });
    expect((await offer(failed, webp)).body).toMatchObject({ code: 'ARTIFACT_NOT_READY' });
  });

  test('none are taken or made without room for them', async () => {
    await world.admin.call('PUT', '/api/option', { key: 'results.previews_mb', value: '0' });
    const png = makePng();
    const id = await world.finished({
      list: [{ key: 'image', type: 'image' }],
      content: { url: dataUrl('image/png', png) },
    });
    await list(id);
    expect((await offer(id, webp, { key: 'image' })).body).toMatchObject({ code: 'PREVIEW_UNAVAILABLE' });
    await world.admin.call('PUT', '/api/option', { key: 'results.previews_mb', value: '256' });
    await readPreview(id, 'image');
  });
});
