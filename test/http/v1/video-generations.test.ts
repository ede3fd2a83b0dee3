/** The flat video API that most community apps speak, served by plugins. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask } from '../../support/gateway.ts';
import { type ArtifactGateway, FILE, startArtifactGateway } from './artifact-harness.ts';

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway();
});
afterAll(() => world.stop());

const create = (body: object, path = '/v1/video/generations') =>
  ask(`${world.url}${path}`, { token: world.key, body: { model: 'acme-1', prompt: 'a boat', ...body } });
const read = (id: unknown, path = '/v1/video/generations') => world.get(`${path}/${id}`, { token: world.key });

const ORDER = { duration: 5, width: 1280, height: 720, fps: 24, seed: 7, n: 1, response_format: 'url' };

test.each(['/v1/video/generations', '/v1/videos/generations'])('%s answers flat, with a link', async (path) => {
  const { status, body } = await create(ORDER, path);
  const flat = {
    id: body.id,
    task_id: body.id,
    object: 'video',
    model: 'acme-1',
    status: 'completed',
    progress: 100,
    url: expect.stringContaining(`/v1/videos/${body.id}/content?access=`),
    metadata: { duration: 5, fps: 24, width: 1280, height: 720, seed: 7 },
    error: null,
    created_at: expect.any(Number),
    cost: { reserved: 0, charged: 0, currency: 'USD', usd: 0 },
  };
  expect([status, body]).toEqual([200, flat]);
  expect((await read(body.id, path)).json).toEqual(flat);
  const { pathname, search } = new URL(String(body.url));
  expect((await world.get(`${pathname}${search}`)).bytes).toEqual(FILE);
});

test('plugins read the order under the names of OpenAI’s video API too', async () => {
  const { body } = await create({ ...ORDER, image: 'https://x/a.png' });
  expect(world.vendor.submitted()).toMatchObject({
    ...{ prompt: 'a boat', seconds: '5', size: '1280x720', input_reference: 'https://x/a.png', seed: 7 },
  });
  expect(body.status).toBe('completed');
});

test.each<[string, object, object]>([
  ['a size with a star', { size: '1280*720' }, { size: '1280x720' }],
  ['a size with another sign', { size: '1280 × 720' }, { size: '1280x720' }],
  ['a resolution', { size: '720p' }, { resolution: '720p' }],
  ['a ratio', { size: '16:9' }, { aspect_ratio: '16:9' }],
  ['an image as an object', { image: { url: 'https://x/a.png' } }, { input_reference: 'https://x/a.png' }],
  ['an image as in chats', { images: [{ image_url: { url: 'https://x/a.png' } }] }, { image: 'https://x/a.png' }],
  ['a list of one image', { image: ['https://x/a.png'] }, { input_reference: 'https://x/a.png' }],
  [
    'several images',
    { image: ['https://x/a.png', 'https://x/b.png'] },
    { images: ['https://x/a.png', 'https://x/b.png'] },
  ],
])('%s is what plugins know it as', async (_name, order, submitted) => {
  expect((await create(order)).status).toBe(200);
  expect(world.vendor.submitted()).toMatchObject(submitted);
});

test('a failure is flat too, and says why', async () => {
  const { body } = await create({ end: 'FAILURE' });
  const failed = { status: 'failed', url: null, error: { code: 'task_failed', message: 'the vendor gave up' } };
  expect((await read(body.id)).json).toMatchObject(failed);
});

test.each<[string, object, string]>([
  ['several videos', { n: 2 }, 'n'],
  ['bytes in the answer', { response_format: 'b64_json' }, 'response_format'],
])('%s are refused before anything is submitted', async (_name, body, param) => {
  const answer = await create(body);
  expect([answer.status, answer.body.error]).toMatchObject([400, { code: 'video_request_invalid', param }]);
});

test('another user’s video is 404', async () => {
  const { body } = await create({});
  const stranger = await world.admin.createUser({ username: 'stranger' }).then(() => 'task_unknown');
  expect((await read(stranger)).status).toBe(404);
  expect((await read(body.id)).status).toBe(200);
});

test('an unknown path below /v1/videos is 404, not 405', async () => {
  const answer = await create({}, '/v1/videos/unheard-of');
  expect(answer.status).toBe(404);
});

test.each<[string, string, (id: unknown) => object, [number, string]]>([
  ['an edit of a model without edits', 'edits', (id) => ({ video: { id } }), [400, 'remix_unsupported']],
  ['an edit of nobody’s video', 'edits', () => ({ video: { id: 'task_unknown' } }), [404, 'not_found']],
  ['an edit without a video', 'edits', () => ({}), [400, 'edit_invalid']],
  ['an extension', 'extensions', (id) => ({ video: { id } }), [400, 'extension_unsupported']],
])('%s is refused and says why', async (_name, path, order, expected) => {
  const { body } = await create({});
  const answer = await create(order(body.id), `/v1/videos/${path}`);
  expect([answer.status, (answer.body.error as { code?: string }).code]).toEqual(expected as [number, string]);
});

test('shadowing: a new plugin may not take a path that the gateway has since a later release', async () => {
  const route = { method: 'POST', path: '/v1/video/generations', type: 'submit', decode: 'decode', render: 'present' };
  const native = '\nexport const native = { decode() {}, present() {} };';
  const adding = world.addPlugin('taker', { routes: [route] }, (source) => source + native);
  const refused = await adding.catch((error: Error) => error.message);
  expect(refused).toContain('route.reserved');
});
