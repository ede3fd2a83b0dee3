/** OpenAI's video API served by a plugin: creation, retrieval and content. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type Backdoor, openBackdoor } from '../../support/backdoor.ts';
import { signIn } from '../../support/gateway.ts';
import { type ArtifactGateway, FILE, startArtifactGateway } from './artifact-harness.ts';

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway();
});
afterAll(() => world.stop());

async function create(body: object | FormData) {
  const form = body instanceof FormData;
  const response = await fetch(`${world.url}/v1/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, ...(form ? {} : { 'content-type': 'application/json' }) },
    body: form ? body : JSON.stringify({ model: 'acme-1', ...body }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}
const retrieve = (id: unknown) => world.get(`/v1/videos/${id}`, { token: world.key });

/** Clients that check answers need every member of OpenAI's object, null where it has no value. */
const host = (id: unknown, status = 'completed') => ({
  id,
  object: 'video',
  model: 'acme-1',
  status,
  progress: 100,
  created_at: expect.any(Number),
  completed_at: expect.any(Number),
  expires_at: null,
  seconds: '0',
  size: '0x0',
  remixed_from_video_id: null,
  error: null,
  cost: { reserved: 0, charged: 0, currency: 'USD', usd: 0 },
  ...(status === 'completed'
    ? { content_url: expect.stringContaining(`/v1/videos/${id}/content?access=`), url: expect.any(String) }
    : {}),
});

describe('creation', () => {
  test('by JSON', async () => {
    const { status, json } = await create({ prompt: 'a boat', seconds: 5, size: '1280x720' });
    expect([status, json]).toEqual([200, { ...host(json.id), prompt: 'a boat', seconds: '5', size: '1280x720' }]);
    expect(json.id).toMatch(/^task_\w{32}$/);
  });

  test('by multipart, with a file', async () => {
    const form = new FormData();
    form.set('model', 'acme-1');
    form.set('prompt', 'a boat');
    form.set('input_reference', new File(['pixels'], 'a.png', { type: 'image/png' }));
    form.set('seconds', '4');
    const { status, json } = await create(form);
    expect([status, json]).toEqual([200, { ...host(json.id), prompt: 'a boat', seconds: '4' }]);
  });

  test('two plugins serve the same path, each its own models', async () => {
    const [one, other] = [await create({}), await create({ model: 'gone-1' })];
    const platform = async (id: unknown) => (await world.get(`/v1/tasks/${id}`, { token: world.key })).json.platform;
    expect([await platform(one.json.id), await platform(other.json.id)]).toEqual(['acme', 'gone']);
    const nobodys = await create({ model: 'unheard-of' });
    expect([nobodys.status, nobodys.json.error]).toMatchObject([404, { code: 'model_not_found' }]);
  });

  test('a channel’s alias of a model works, and stays the model of the video', async () => {
    await world.admin.createChannel(world.vendor.url, {
      models: ['house-name'],
      model_mapping: { 'house-name': 'acme-1' },
      task_plugin_key: 'acme',
    });
    const { status, json } = await create({ model: 'house-name' });
    expect([status, json.model]).toEqual([200, 'house-name']);
    expect((await retrieve(json.id)).json.model).toBe('house-name');
  });
});

describe('retrieval', () => {
  const claimed = {
    id: 'job-1',
    task_id: 'job-1',
    object: 'film',
    status: 'queued',
    progress: 3,
    created_at: 1,
    completed_at: 2,
    model: 'another',
  };
  test.each<[string, object, object]>([
    ['nothing', {}, {}],
    ['identity, lifecycle and times, which are the host’s', claimed, {}],
    ['what the standard does not have', { url: 'https://x', video_url: 'https://x', quality: 'high' }, {}],
    [
      'what it has',
      { seconds: '8', size: '1280x720', remixed_from_video_id: 'video_1' },
      { seconds: '8', size: '1280x720', remixed_from_video_id: 'video_1' },
    ],
    ['an expiry of its content, which only the host may set', { expires_at: 1_900_000_000 }, {}],
    ['seconds as a number', { seconds: 8 }, { seconds: '8' }],
    ['other forms', { seconds: {}, size: 7, remixed_from_video_id: 1, metadata: 'none' }, {}],
    ['nulls', { seconds: null, size: null, error: null, metadata: null }, {}],
    [
      'metadata with addresses of the vendor',
      { metadata: { url: 'https://x', URL: 'https://x', Url: 'https://x', seed: 7 } },
      { metadata: { seed: 7 } },
    ],
    [
      'metadata with addresses of the vendor further down',
      { metadata: { seed: 7, output: { URL: 'https://x', clips: [{ Url: 'https://x', seconds: 4 }, 'intro'] } } },
      { metadata: { seed: 7, output: { clips: [{ seconds: 4 }, 'intro'] } } },
    ],
    ['metadata of addresses alone', { metadata: { url: 'https://x' } }, {}],
    [
      'addresses of the vendor under other names',
      { metadata: { video_url: 'https://x', files: ['//x/y', 'HTTP://x'], seed: 7 } },
      { metadata: { seed: 7, files: [] } },
    ],
    ['an error of a task that succeeded', { error: { code: 'x', message: 'y' } }, {}],
  ])('of %s', async (_name, rendered, shown) => {
    const { json } = await create({ rendered });
    expect((await retrieve(json.id)).json).toEqual({ ...host(json.id), ...shown });
  });

  const defaultError = { code: 'task_failed', message: 'the vendor gave up' };
  test.each<[string, unknown, object]>([
    ['nothing', undefined, defaultError],
    ['its own words', { code: 'moderated', message: 'No cats.' }, { code: 'moderated', message: 'No cats.' }],
    ['half of them', { message: 'No cats.' }, { code: 'task_failed', message: 'No cats.' }],
    ['no error object', 'No cats.', defaultError],
  ])('of a failure about which the plugin says %s', async (_name, error, shown) => {
    const { json } = await create({ end: 'FAILURE', rendered: { error } });
    expect((await retrieve(json.id)).json).toEqual({ ...host(json.id, 'failed'), error: shown });
  });

  test('works where the plugin cannot render', async () => {
    const { json } = await create({ render_throws: true });
    const answer = await retrieve(json.id);
    expect([answer.status, answer.json]).toEqual([200, host(json.id)]);
  });

  test.each(['', '/content'])('of an unknown id%s is 404 not_found', async (path) => {
    const answer = await retrieve(`task_unknown${path}`);
    expect([answer.status, answer.code]).toEqual([404, 'not_found']);
  });
});

test('a repeat of an order whose video was deleted says so, and buys nothing', async () => {
  const order = () =>
    fetch(`${world.url}/v1/videos`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
        'idempotency-key': 'to be deleted',
      },
      body: JSON.stringify({ model: 'acme-1', prompt: 'x' }),
    });
  const { id } = (await (await order()).json()) as { id: string };
  const before = world.vendor.orders();
  expect((await world.get(`/v1/videos/${id}`, { token: world.key, method: 'DELETE' })).status).toBe(200);
  const again = await order();
  expect([again.status, again.headers.get('x-should-retry'), await again.json()]).toMatchObject([
    ...[409, 'false', { error: { code: 'idempotency_not_replayable' } }],
  ]);
  expect(world.vendor.orders()).toBe(before);
});

test('an edit of what no address can hold is 404', async () => {
  const response = await fetch(`${world.url}/v1/videos/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
    body: '{"video": "\\ud800", "prompt": "x"}',
  });
  expect(response.status).toBe(404);
});

test('the official client deletes each video of a list, over all of its pages', async () => {
  const token = await world.admin.createKey();
  await world.admin.call('PUT', '/api/price', { plugin_key: 'acme', model: 'acme-1', expression: '0' });
  await world.admin.createUser({ username: 'tidy' });
  const own = await (await signIn(world.url, { username: 'tidy' })).createKey();
  const ids: string[] = [];
  for (let made = 0; made < 5; made += 1) ids.unshift(await world.finished({}, 'acme', own));
  const client = new OpenAI({ apiKey: own, baseURL: `${world.url}/v1`, maxRetries: 0 });
  const deleted: string[] = [];
  for await (const { id } of client.videos.list({ limit: 2 })) {
    await client.videos.delete(id);
    deleted.push(id);
  }
  expect(deleted).toEqual(ids);
  const foreign = await world.get(`/v1/videos?after=${ids[0]}`, { token });
  expect([foreign.status, foreign.code]).toEqual([400, 'page_not_found']);
});

describe('retrieval again', () => {
  let database: Backdoor;
  beforeAll(() => {
    database = openBackdoor(world.gateway);
  });
  afterAll(() => database.close());
  const change = (id: unknown, set: string) => database.run(`update tasks set ${set} where task_id = '${id}'`);
  const read = async (id: unknown) => (await retrieve(id)).json;
  const shows = (metadata: object) => (source: string) =>
    source.replace('return task.data.rendered ?? {};', `return { metadata: ${JSON.stringify(metadata)} };`);

  test.each<[string, string, object]>([
    ['status', "status = 'IN_PROGRESS', finish_time = 0", { status: 'in_progress' }],
    ['progress', "progress = '7%'", { progress: 7 }],
    ['answer of the vendor', `data = '{"rendered":{"seconds":9}}'`, { seconds: '9' }],
    ['end', 'finish_time = 1900000000', { completed_at: 1_900_000_000 }],
    ['start', 'created_at = 1700000000', { created_at: 1_700_000_000 }],
    ['words about its failure', "status = 'FAILURE', fail_reason = 'no'", { error: { message: 'no' } }],
    ['prompt', `properties = json_set(properties, '$.input', 'a ship')`, { prompt: 'a ship' }],
    ['model', `properties = json_set(properties, '$.originModelName', 'other')`, { model: 'other' }],
  ])('shows another %s at once', async (_what, set, shown) => {
    const { json } = await create({ prompt: 'a boat' });
    const first = await read(json.id);
    expect(await read(json.id)).toEqual(first);
    await change(json.id, set);
    expect(await read(json.id)).toMatchObject(shown);
  });

  test('of a deleted video, or with the key of another user, is 404', async () => {
    const { json } = await create({});
    await read(json.id);
    await change(json.id, 'user_id = user_id + 1');
    expect((await retrieve(json.id)).status).toBe(404);
    await change(json.id, 'user_id = user_id - 1');
    expect((await retrieve(json.id)).status).toBe(200);
    await world.get(`/v1/videos/${json.id}`, { token: world.key, method: 'DELETE' });
    expect((await retrieve(json.id)).status).toBe(404);
  });

  test('shows what the version renders that adopted it', async () => {
    await world.addPlugin('newer', {}, shows({ version: 1 }));
    const { json } = await create({ model: 'newer-1' });
    const version = async () => (await read(json.id)).metadata;
    for (let i = 0; i < 2; i++) expect(await version()).toEqual({ version: 1 });
    await world.serve('newer', '2.0.0', shows({ version: 2 }));
    expect(await version()).toEqual({ version: 1 });
    await world.adopt('newer', '2.0.0');
    expect(await version()).toEqual({ version: 2 });
  });

  test('asks a plugin again that looks at the query, the clock or random numbers', async () => {
    const edit = (source: string) =>
      source.replace(
        'return task.data.rendered ?? {};',
        'return { metadata: { seen: ctx.query, luck: Math.random() } };',
      );
    await world.addPlugin('lucky', {}, edit);
    const { json } = await create({ model: 'lucky-1' });
    const [first, second] = [await read(json.id), await read(json.id)];
    expect(first.metadata).not.toEqual(second.metadata);
    const asked = await world.get(`/v1/videos/${json.id}?part=2`, { token: world.key });
    expect(asked.json.metadata).toMatchObject({ seen: { part: ['2'] } });
  });

  test('tells two addresses apart', async () => {
    const edit = (source: string) =>
      source.replace('return task.data.rendered ?? {};', 'return { metadata: { seen: ctx.query } };');
    await world.addPlugin('asked', {}, edit);
    const { json } = await create({ model: 'asked-1' });
    for (const part of ['1', '2', '1']) {
      const { json: video } = await world.get(`/v1/videos/${json.id}?part=${part}`, { token: world.key });
      expect(video.metadata).toEqual({ seen: { part: [part] } });
    }
  });
});

describe('content', () => {
  test('is the variant that is asked for, or 400 that says which there are', async () => {
    const list = [
      { key: 'clip', type: 'video' },
      { key: 'thumbnail', type: 'image' },
    ];
    const { json } = await create({ list });
    for (const variant of ['', 'video', 'thumbnail']) {
      expect((await retrieve(`${json.id}/content?variant=${variant}`)).status).toBe(200);
    }
    const { status, code, json: refused } = await retrieve(`${json.id}/content?variant=spritesheet`);
    expect([status, code]).toEqual([400, 'artifact_variant_unknown']);
    expect(JSON.stringify(refused)).toContain('It has: video, thumbnail.');
  });

  test('is the first artifact of type video', async () => {
    const list = [
      { key: 'poster', type: 'image' },
      { key: 'main', type: 'video' },
    ];
    const { json } = await create({ list });
    const path = `/v1/videos/${json.id}/content`;
    const whole = await world.get(path, { token: world.key });
    expect([whole.status, Buffer.compare(whole.bytes, FILE)]).toEqual([200, 0]);
    const part = await world.get(path, { token: world.key, headers: { range: 'bytes=0-9' } });
    expect([part.status, part.bytes.length]).toEqual([206, 10]);
    const head = await world.get(path, { token: world.key, method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, '100000', 0]);
    expect((await world.get(path)).status).toBe(401);
  });

  test('is open to the link in the object, whatever the plugin calls the video', async () => {
    const { json } = await create({ list: [{ key: 'clip', type: 'video' }] });
    const { url, content_url } = (await retrieve(json.id)).json as Record<string, string>;
    expect([url, json.url]).toEqual([content_url, content_url]);
    const { pathname, search } = new URL(url ?? '');
    const opened = await world.get(`${pathname}${search}`);
    expect([opened.status, Buffer.compare(opened.bytes, FILE)]).toEqual([200, 0]);
    const listed = (await world.get('/v1/videos?limit=1', { token: world.key })).json.data as { url: string }[];
    expect(listed[0]?.url).toBe(url ?? '');
  });

  test('is closed to that link once the links of the clip are revoked', async () => {
    const { json } = await create({ list: [{ key: 'clip', type: 'video' }] });
    const { pathname, search } = new URL(String(json.url));
    await world.get(`/v1/tasks/${json.id}/artifacts/clip/links`, { token: world.key, method: 'DELETE' });
    expect((await world.get(`${pathname}${search}`)).status).toBe(404);
    const renewed = new URL(String((await retrieve(json.id)).json.url));
    expect((await world.get(`${renewed.pathname}${renewed.search}`)).status).toBe(200);
  });

  test.each<[string, object, number, string]>([
    ['of a task without a video', { list: [{ key: 'song', type: 'audio' }] }, 404, 'artifact_not_found'],
    ['of a task that failed', { end: 'FAILURE' }, 409, 'artifact_not_ready'],
  ])('%s', async (_name, answer, status, code) => {
    const { json } = await create(answer);
    const refused = await world.get(`/v1/videos/${json.id}/content`, { token: world.key });
    expect([refused.status, refused.code]).toEqual([status, code]);
  });
});
