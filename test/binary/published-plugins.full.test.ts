/**
 * Plugins as strangers publish them, each with newer names of the contract in ways of its own, do
 * their job on the executable without a change: what the vendor reads, what the client reads, and
 * what it costs.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Administrator, type Answer, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Data = any;

const FOLDER = join(import.meta.dir, '../fixtures/published');
const KEYS = readdirSync(FOLDER)
  .sort()
  .map((name) => name.replace('.js', ''));
const BIG = '9007199254740995001';
const film = Buffer.from('film '.repeat(400));

type Call = { method: string; path: string; headers: Headers; text: string };
type Reply = (call: Call & { json: Data; form: FormData | undefined }) => Response | Promise<Response>;

/** The vendors of all plugins, by the first words of a path. */
const REPLIES: [method: string, path: RegExp, reply: Reply][] = [];
const calls: Call[] = [];
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    const copy = request.clone();
    const call = {
      method: request.method,
      path: pathname + search,
      headers: request.headers,
      text: await request.text(),
    };
    calls.push(call);
    const multipart = request.headers.get('content-type')?.startsWith('multipart/');
    const form = multipart ? ((await copy.formData()) as FormData) : undefined;
    let json: Data;
    try {
      json = JSON.parse(call.text);
    } catch {}
    const found = REPLIES.find(([method, path]) => method === request.method && path.test(pathname));
    return (await found?.[2]({ ...call, json, form })) ?? new Response('nothing here', { status: 404 });
  },
});
const on = (method: string, path: RegExp, reply: Reply): void => void REPLIES.unshift([method, path, reply]);
/** JSON as it is written. */
const written = (text: string) => new Response(text, { headers: { 'content-type': 'application/json' } });
const lastCall = (path: string): Call => calls.findLast((call) => call.path.startsWith(path)) as Call;

let gateway: Gateway;
let admin: Administrator;
let key: string;
beforeAll(async () => {
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  key = await admin.createKey();
  for (const name of KEYS) {
    const source = readFileSync(join(FOLDER, `${name}.js`), 'utf8');
    const made = await admin.call<Data>('POST', '/api/plugin/task', {
      source,
      share_models: name === 'drafts' || name === 'claimant',
    });
    expect([name, made.outcome, made.faults ?? []]).toEqual([name, 'serving', []]);
  }
});
afterAll(async () => {
  await gateway?.stop();
  await vendor.stop(true);
});

const channel = (plugin: string, models: string[], more: object = {}) =>
  admin.createChannel(vendor.url.origin, { name: plugin, task_plugin_key: plugin, key: 'k', models, ...more });
const price = (plugin_key: string, model: string, expression: string) =>
  admin.call('PUT', '/api/price', { plugin_key, model, expression });
const send = (path: string, body?: unknown): Promise<Answer> =>
  ask(`${gateway.url}${path}`, { token: key, ...(body === undefined ? {} : { body }) });
/** What a call cost, in dollars. */
async function cost<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = await admin.quota();
  const value = await work();
  return [value, (before - (await admin.quota())) / 500_000];
}
const finish = (id: unknown) => waitForEnd(gateway.url, key, String(id));
const download = async (path: string) =>
  Buffer.from(
    await (await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer(),
  );

/** Decisions at once, and the same through a channel of type 60 that is this gateway itself. */
describe('verdicts', () => {
  const text =
    '{"model":"MODEL","state":{"zeta":1,"alpha":{"y":2,"x":3}},"questions":{"b":{"type":"score"},"a":{"type":"noul"}}}';
  const order = (model: string) => send('/verdicts/v1/decide', text.replace('MODEL', model));
  beforeAll(async () => {
    on('POST', /^\/v1\/decide$/, ({ text }) =>
      written(
        `{"answers":{"b":{"score":1.0},"a":{"value":null}},"model":"verdict-1","id":${BIG},"usage":{"input_tokens":${text.length}}}`,
      ),
    );
    await channel('verdicts', ['verdict-1', 'verdict-2']);
    await price('verdicts', 'verdict-1', 'u("input_tokens") / 1000');
    await price('verdicts', 'verdict-2', 'u("input_tokens") / 1000');
  });

  test('members keep their order in both directions, and the vendor’s count is the bill', async () => {
    const [{ status, body }, charged] = await cost(() => order('verdict-1'));
    expect([status, Object.keys(body.answers as object)]).toEqual([200, ['b', 'a']]);
    const sent = lastCall('/v1/decide').text;
    expect(sent).toBe(text.replace('MODEL', 'verdict-1'));
    expect(charged).toBeCloseTo(sent.length / 1000, 6);
  });

  test('a refusal has the form of its vendor, and nothing is found afterwards', async () => {
    const refused = await send('/verdicts/v1/decide', { model: 'verdict-1', state: null });
    expect([refused.status, refused.body]).toEqual([400, { detail: 'questions must be an object' }]);
    await order('verdict-1');
    const task = await admin.call<Data>('GET', '/api/task?scope=all&platform=verdicts');
    const { task_id: id } = task.items[0];
    const read = await send(`/verdicts/v1/decisions/${id}`);
    expect([read.status, Object.keys(read.body)]).toEqual([404, ['detail']]);
    expect((await send(`/v1/tasks/${id}`)).status).toBe(404);
  });

  test('another gateway does it on its native route', async () => {
    await admin.createChannel(gateway.url, {
      ...{ name: 'itself', type: 60, key, task_plugin_key: 'verdicts', models: ['verdict-far'] },
      ...{ settings: { task_extend_plugin_keys: ['vectors', 'reels'] }, model_mapping: { 'verdict-far': 'verdict-1' } },
    });
    const { status, body } = await order('verdict-far');
    expect([status, Object.keys((body.answers as object) ?? body)]).toEqual([200, ['b', 'a']]);
  });
});

describe('vectors', () => {
  const vector = `[${Array.from({ length: 1024 }, (_, at) => (at % 7) - 0.123456789).join(',')}]`;
  beforeAll(async () => {
    on('POST', /^\/v1\/embeddings$/, ({ json }) =>
      written(
        `{"data":[${[].concat(json.input).map((_: unknown, index: number) => `{"index":${index},"embedding":${vector}}`)}],"usage":{"total_tokens":7}}`,
      ),
    );
    on('POST', /^\/v1\/multimodalembeddings$/, () =>
      written('{"data":[{"embedding":[1]}],"usage":{"text_tokens":3,"image_pixels":200000000}}'),
    );
    await channel('vectors', ['vec-lite', 'vec-multi']);
    await price('vectors', 'vec-lite', 'u("tokens") / 1000000');
    await price('vectors', 'vec-multi', 'u("text_tokens") / 1000000 + u("pixels") / 1000000000');
  });

  test('an answer of nearly a mebibyte arrives completely, and is not stored', async () => {
    const input = Array.from({ length: 60 }, () => 'word');
    const { status, body } = await send('/vectors/v1/embeddings', { model: 'vec-lite', input, encoding_format: null });
    expect([status, (body.data as object[]).length, JSON.stringify((body.data as Data)[59].embedding)]).toEqual([
      200,
      60,
      vector,
    ]);
    expect(JSON.parse(lastCall('/v1/embeddings').text)).toEqual({ model: 'vec-lite', input });
  });

  test('counts of a profile may be large, and its price is read by its own facts', async () => {
    const [{ status }, charged] = await cost(() =>
      send('/vectors/v1/multimodalembeddings', { model: 'vec-multi', inputs: [{ content: [] }] }),
    );
    expect(status).toBe(200);
    expect(charged).toBeCloseTo(0.200004, 6);
    const wrong = await ask(`${gateway.url}/api/price`, {
      ...{ method: 'PUT', token: admin.token },
      body: { plugin_key: 'vectors', model: 'vec-multi', expression: 'u("tokens")' },
    });
    expect(wrong.status).toBe(400);
  });

  test('a route serves its own models alone', async () => {
    const { status, body } = await send('/vectors/v1/embeddings', { model: 'vec-multi', input: 'x' });
    expect([status, typeof body.detail]).toEqual([400, 'string']);
  });
});

describe('pictures', () => {
  const png = (name: string, bytes: string) => new File([bytes], name, { type: 'image/png' });
  const edit = async (form: FormData) =>
    fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${key}` },
    });
  const toForm = (fields: [string, string | File][]) => {
    const form = new FormData();
    for (const [name, value] of fields) form.append(name, value);
    return form;
  };
  beforeAll(async () => {
    const made = ({ json, form }: { json: Data; form: FormData | undefined }) =>
      Response.json({
        created: 5,
        data: Array.from({ length: Number(json?.n ?? form?.get('n')) }, (_, at) => ({
          url: `${vendor.url}pixel/${at}`,
        })),
        usage: { total_tokens: 1 },
      });
    on('POST', /^\/v1\/images\/(generations|edits)$/, made);
    on('GET', /^\/pixel\//, () => new Response('PNG', { headers: { 'content-type': 'image/png' } }));
    await channel('pictures', ['picture-1', 'picture-1-mini']);
    await price('pictures', 'picture-1', '(u("resolution") == "auto" ? 2 : 1) * 0.01 * u("image_count")');
  });

  test('several uploads and a mask reach the vendor as they came', async () => {
    const images: [string, File][] = ['one', 'two', 'three'].map((name) => ['image[]', png(`${name}.png`, name)]);
    const response = await edit(
      toForm([
        ['model', 'picture-1'],
        ['prompt', 'a "hat"'],
        ['n', '2'],
        ['size', 'auto'],
        ...images,
        ['mask', png('m.png', 'mask')],
      ]),
    );
    const body = (await response.json()) as Data;
    expect([response.status, body.data?.length, body.cost?.charged]).toEqual([200, 2, 0.04]);
    const call = lastCall('/v1/images/edits');
    const form = await new Response(call.text, {
      headers: { 'content-type': call.headers.get('content-type') ?? '' },
    }).formData();
    expect(await Promise.all(form.getAll('image[]').map((file) => (file as File).text()))).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(await (form.get('mask') as File).text()).toBe('mask');
    expect([form.get('prompt'), form.get('n')]).toEqual(['a "hat"', '2']);
  });

  test('one upload has the plain name, and a repeated plain name is several', async () => {
    for (const [count, field] of [
      [1, 'image'],
      [2, 'image[]'],
    ] as const) {
      const files = Array.from({ length: count }, (_, at): [string, File] => ['image', png(`${at}.png`, `${at}`)]);
      const response = await edit(toForm([['model', 'picture-1'], ['prompt', 'x'], ['size', ''], ...files]));
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      const call = lastCall('/v1/images/edits');
      const form = await new Response(call.text, {
        headers: { 'content-type': call.headers.get('content-type') ?? '' },
      }).formData();
      expect(form.getAll(field)).toHaveLength(count);
    }
  });

  test('what is counted is named where a form asks for it', async () => {
    const offered = await admin.call<Data>('GET', '/api/model');
    const { schema } = offered.find(({ model }: Data) => model === 'picture-1');
    expect(schema.properties.image_count).toMatchObject({
      'x-unit': 'count',
      'x-unit-label': { en: 'image', zh: '张' },
    });
  });

  test('addresses in JSON, Base64 on request, and refusals in the plugin’s words', async () => {
    const images = [{ image_url: 'https://a.example/1.png' }, { image_url: 'data:image/png;base64,AAAA' }];
    const made = await send('/v1/images/edits', {
      model: 'picture-1',
      prompt: 'x',
      images,
      response_format: 'b64_json',
    });
    expect([made.status, (made.body.data as Data)?.[0].b64_json]).toEqual([200, Buffer.from('PNG').toString('base64')]);
    expect(JSON.parse(lastCall('/v1/images/edits').text).images).toEqual(images);
    for (const [path, body, words] of [
      ['edits', {}, 'image is required for edits'],
      ['generations', { n: 11 }, 'n must be an integer between 1 and 10'],
      ['generations', { size: '9x9' }, 'size must be one of'],
    ] as const) {
      const { status, body: said } = await send(`/v1/images/${path}`, { model: 'picture-1', prompt: 'x', ...body });
      expect([status, (said.error as Data).message]).toEqual([400, expect.stringContaining(words)]);
    }
  });
});

describe('reels', () => {
  beforeAll(async () => {
    let count = 0;
    const kinds = new Map<string, string>();
    on('POST', /^\/v1\/videos\/(generations|extensions)$/, ({ json, path }) => {
      count += 1;
      const id = `req=${count}/a+b|é`;
      kinds.set(id, json.prompt === 'blocked' ? 'blocked' : path.includes('extensions') ? 'extension' : 'made');
      return Response.json({ request_id: id });
    });
    const polled = new Set<string>();
    on('GET', /^\/v1\/videos\//, ({ path }) => {
      const id = decodeURIComponent(path.split('/').at(-1) ?? '');
      if (!polled.has(id)) {
        polled.add(id);
        return new Response(null, { status: 202 });
      }
      const kind = kinds.get(id);
      const video =
        kind === 'blocked'
          ? { respect_moderation: false }
          : { url: `${vendor.url}film`, duration: kind === 'extension' ? 13 : 7 };
      return Response.json({ status: 'done', request_id: id, video, usage: { cost_in_usd_ticks: 5 } });
    });
    on('GET', /^\/film$/, () => new Response(film, { headers: { 'content-type': 'video/mp4' } }));
    await channel('reels', ['reel-1', 'reel-2']);
    await price('reels', 'reel-1', 'u("moderated") ? 0.5 : 0.01 * u("seconds") + 0.001 * u("input_video_seconds")');
    await price('reels', 'reel-2', '0.1 * u("seconds") + 0.01 * u("input_images")');
  });
  const native = async (path: string, body: object) => {
    const { status, body: said } = await send(`/reels/v1/videos/${path}`, body);
    expect([status, said.error ?? null]).toEqual([200, null]);
    const id = String(said.request_id);
    await finish(id);
    return id;
  };

  test('an extension is billed by what its state kept', async () => {
    const [id, charged] = await cost(() =>
      native('extensions', { model: 'reel-1', prompt: 'on', video: { url: 'https://a.example/v.mp4' }, duration: 5 }),
    );
    expect(charged).toBeCloseTo(0.05 + 0.008, 6);
    const { body } = await send(`/reels/v1/videos/${id}`);
    expect(body).toEqual({ status: 'done', request_id: id, video: expect.objectContaining({ duration: 13 }) });
    const { status } = await send('/reels/v1/videos/extensions', {
      model: 'reel-2',
      prompt: 'on',
      video: 'https://a.example/v.mp4',
    });
    expect(status).toBe(400);
  });

  test('a blocked video is charged, and has no file', async () => {
    const [id, charged] = await cost(() => native('generations', { model: 'reel-1', prompt: 'blocked' }));
    expect(charged).toBeCloseTo(0.5, 6);
    expect((await send(`/v1/videos/${id}/content`)).status).toBe(404);
  });

  test('an upload in a form goes into a nested place, and the file comes back', async () => {
    const form = new FormData();
    for (const [name, value] of [
      ['model', 'reel-2'],
      ['prompt', 'x'],
      ['seconds', '6'],
      ['resolution', '1080p'],
    ] as const)
      form.append(name, value);
    form.append('input_reference', new File(['frame'], 'f.png', { type: 'image/png' }));
    const [id, charged] = await cost(async () => {
      const response = await fetch(`${gateway.url}/v1/videos`, {
        method: 'POST',
        body: form,
        headers: { authorization: `Bearer ${key}` },
      });
      const made = (await response.json()) as Data;
      expect([response.status, made.error ?? null]).toEqual([200, null]);
      await finish(made.id);
      return made.id;
    });
    expect(charged).toBeCloseTo(0.7 + 0.01, 6);
    expect(JSON.parse(lastCall('/v1/videos/generations').text).image).toEqual({
      url: `data:image/png;base64,${Buffer.from('frame').toString('base64')}`,
    });
    expect((await download(`/v1/videos/${id}/content`)).equals(film)).toBe(true);
    const { body } = await send(`/v1/videos/${id}`);
    expect([body.id, body.status, body.request_id]).toEqual([id, 'completed', undefined]);
  });

  test('responses stream, and metadata of the plugin stays', async () => {
    const input = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'a cat' },
          { type: 'input_image', image_url: 'https://a.example/i.png' },
        ],
      },
    ];
    const { status, body } = await send('/v1/responses', { model: 'reel-2', input, metadata: { resolution: '720p' } });
    expect([status, body.status]).toEqual([200, 'completed']);
    expect(JSON.parse(lastCall('/v1/videos/generations').text)).toMatchObject({
      resolution: '720p',
      image: { url: 'https://a.example/i.png' },
    });
    expect(JSON.stringify(body.output)).toContain('/v1/');
    const stream = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'reel-1', input: 'a cat', stream: true }),
    });
    expect(await stream.text()).toContain('response.completed');
  });
});

describe('canvas', () => {
  const events = (...parts: string[]) =>
    new Response(parts.join(''), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': `r/${BIG}` },
    });
  const part = (content: object) => `: beat\r\ndata: ${JSON.stringify({ content })}\r\n\r\n`;
  beforeAll(async () => {
    on('POST', /^\/canvas$/, ({ json }) =>
      json.prompt === 'empty'
        ? events('data: [DONE]\n\n')
        : json.prompt === 'nothing'
          ? events(
              part({ type: 'text', text: 'x' })
                .replace(
                  /data.*/,
                  `data: ${JSON.stringify({ content: { type: 'image', url: 'https://c.example/1.png' } })}`,
                )
                .slice(0, -4),
            )
          : events(
              part({ type: 'text', text: 'A' }),
              part({ type: 'text', text: ' cat: ' }),
              part({ type: 'image', url: 'https://c.example/1.png' }),
              part({ type: 'text', text: ' and ' }),
              part({ type: 'image', url: 'https://c.example/2.png' }),
              'event: usage\ndata: {"words":\ndata: 3}\n\n',
              'data: [DONE]\n\n',
              'data: never read\n\n',
            ),
    );
    await channel('canvas', ['canvas-1', 'canvas-text']);
    await price('canvas', 'canvas-1', '0.02 * u("images")');
    await price('canvas', 'canvas-text', '0.001 * u("words")');
  });

  test('what is streamed in turns becomes images, each with its bill', async () => {
    const { status, body } = await send('/v1/images/generations', { model: 'canvas-1', prompt: 'x' });
    expect([status, (body.data as Data)?.map(({ url }: Data) => url), (body.cost as Data)?.charged]).toEqual([
      200,
      ['https://c.example/1.png', 'https://c.example/2.png'],
      0.04,
    ]);
    expect((body.data as Data)[0].revised_prompt).toBe(
      'A cat: ![](https://c.example/1.png) and ![](https://c.example/2.png)',
    );
  });

  test('and a response, by the facts of the other models', async () => {
    const [{ status, body }, charged] = await cost(() => send('/v1/responses', { model: 'canvas-text', input: 'x' }));
    expect([status, JSON.stringify(body.output)]).toEqual([200, expect.stringContaining('A cat: ')]);
    expect(charged).toBeCloseTo(0.003, 6);
    const { status: refused } = await send('/v1/images/generations', { model: 'canvas-text', prompt: 'x' });
    expect(refused).toBe(404);
  });

  test('why nothing came, in an answer of 200, reaches the client, and nothing is charged', async () => {
    const [{ status, body }, charged] = await cost(() =>
      send('/v1/images/generations', { model: 'canvas-1', prompt: 'empty' }),
    );
    expect([status, (body.error as Data).message, charged]).toEqual([
      400,
      expect.stringContaining('Nothing was drawn.'),
      0,
    ]);
  });

  test('a stream that breaks costs nothing', async () => {
    const [{ status }, charged] = await cost(() =>
      send('/v1/images/generations', { model: 'canvas-1', prompt: 'nothing' }),
    );
    expect([status >= 400, charged]).toEqual([true, 0]);
  });
});

describe('operations', () => {
  beforeAll(async () => {
    let polls = 0;
    on('POST', /^\/operations\/op-video$/, () =>
      written(`{"operation_id":${BIG},"request_id":"${BIG}","phase":"Enqueued"}`),
    );
    on('POST', /^\/operations\/poll$/, ({ json }) => {
      polls += 1;
      const head = `"operation_id":${BIG},"request_id":"${json.operation_id}"`;
      if (polls === 1) return written(`{${head},"phase":"Working","percent":37.6}`);
      return written(
        `{${head},"phase":"Finished","made":4,"outputs":[{"name":"main.mp4","kind":"video","path":"/files/main"},{"name":"words","kind":"file","inline":"WEBVTT"}]}`,
      );
    });
    on('GET', /^\/files\/main$/, ({ headers }) =>
      headers.get('range')
        ? new Response(film.subarray(0, 4), {
            status: 206,
            headers: { 'content-range': `bytes 0-3/${film.length}`, 'content-type': 'video/mp4' },
          })
        : new Response(film, { headers: { 'content-type': 'video/mp4' } }),
    );
    await channel('operations', ['op-video'], { key: 'access|secret' });
    await price('operations', 'op-video', '0.1 * u("seconds")');
  });

  test('a verb in the path submits, another looks up, and a list is a list', async () => {
    const [id, charged] = await cost(async () => {
      const { status, body } = await send('/operations/v1/models/op-video/generate/long', { prompt: 'x', seconds: 5 });
      expect([status, body.operation_id, body.name]).toEqual([200, body.name, expect.stringMatching(/^task_/)]);
      await finish(body.name);
      return String(body.name);
    });
    expect(charged).toBeCloseTo(0.4, 6);
    expect(JSON.parse(lastCall('/operations/poll').text)).toEqual({ operation_id: BIG });
    expect(lastCall('/operations/op-video').headers.get('authorization')).toMatch(/^Bearer ey/);
    const one = await send('/operations/v1/models/op-video/fetch', { name: id });
    expect([
      one.status,
      one.body.done,
      (one.body.response as Data).operation_id,
      (one.body.response as Data).request_id,
    ]).toEqual([200, true, id, id]);
    const all = await send('/operations/v1/lookup', { names: [id, id] });
    expect([all.status, (all.body.operations as Data).map(({ name }: Data) => name)]).toEqual([
      200,
      expect.arrayContaining([id]),
    ]);
    const unknown = await send('/operations/v1/models/op-video/delete', { name: id });
    expect([unknown.status, (unknown.body.error as Data).message]).toEqual([400, 'unknown verb delete']);
    const list = (await send(`/v1/tasks/${id}/artifacts`)).body;
    expect((list.artifacts as Data).map(({ key: name, type }: Data) => [name, type])).toEqual([
      ['main.mp4', 'video'],
      ['words', 'file'],
    ]);
    expect((await download(`/v1/tasks/${id}/artifacts/main.mp4/content`)).equals(film)).toBe(true);
    expect((await download(`/v1/tasks/${id}/artifacts/words/content`)).toString()).toBe('WEBVTT');
  });
});

describe('songs', () => {
  beforeAll(async () => {
    const seen = new Map<string, number>();
    let count = 0;
    on('POST', /^\/songs\/submit\//, () => {
      count += 1;
      return Response.json({ code: 'success', data: `song-${count}`, message: '' });
    });
    on('POST', /^\/songs\/fetch$/, ({ json }) =>
      Response.json({
        code: 'success',
        data: json.ids.map((id: string) => {
          const round = seen.get(id) ?? 0;
          seen.set(id, round + 1);
          const clip = (name: string) => ({
            id: name,
            audio_url: `${vendor.url}song/${id}-${name}`,
            cover_url: `${vendor.url}song/cover`,
          });
          return {
            task_id: id,
            state: ['SUBMITTED', 'TEXT_SUCCESS', 'FIRST_SUCCESS', 'DONE'][Math.min(round, 3)],
            progress: `${round * 25}%`,
            clips: round < 3 ? [] : [clip('c1')],
          };
        }),
      }),
    );
    on('GET', /^\/song\//, ({ path }) => new Response(path, { headers: { 'content-type': 'audio/mpeg' } }));
    await channel('songs', ['song-1', 'lyrics-1']);
    await price('songs', 'song-1', '(u("action") == "music" ? 0.05 : 0.01) * u("clips")');
    await price('songs', 'lyrics-1', '0.01');
  });

  test('many are asked for at once, and each has its files', async () => {
    const ids: string[] = [];
    const [, charged] = await cost(async () => {
      for (let at = 0; at < 3; at += 1) {
        const { status, body } = await send('/songs/submit/music', { prompt: `song ${at}` });
        expect([status, body.code]).toEqual([200, 'success']);
        ids.push(String(body.data));
      }
      for (const id of ids) expect((await finish(id)).status).toBe('SUCCESS');
    });
    expect(charged).toBeCloseTo(0.15, 6);
    const { body } = await send('/songs/fetch', { ids });
    expect((body.data as Data).map(({ task_id: id, status }: Data) => [id, status])).toEqual(
      ids.map((id) => [id, 'SUCCESS']),
    );
    expect((await download(`/v1/tasks/${ids[0]}/artifacts/c1.mp3/content`)).toString()).toMatch(/^\/song\/song-\d-c1$/);
    const task = await admin.call<Data>('GET', `/api/task/${ids[0]}`);
    expect(task.action).toBe('MUSIC');
  });
});

describe('drafts, and a second plugin for one of its models', () => {
  beforeAll(async () => {
    let count = 0n;
    on('POST', /^\/api\/v3\/tasks$/, () => {
      count += 1n;
      return written(`{"id":${BigInt(BIG) + count},"status":"queued","seed":${BIG}}`);
    });
    on('GET', /^\/api\/v3\/tasks\//, ({ path }) =>
      written(
        `{"id":${path.split('/').at(-1)},"status":"succeeded","content":{"video_url":"${vendor.url}film"},"usage":{"total_tokens":50000}}`,
      ),
    );
    on('POST', /^\/claimant$/, () => written(`{"id":12,"url":"${vendor.url}film","shots":2}`));
    await channel('drafts', ['draft-1', 'draft-1-fast'], { priority: 5 });
    await channel('claimant', ['draft-1'], { priority: 9 });
    await price('*', 'draft-1', '0.5');
    await price('drafts', 'draft-1-fast', 'u("tokens") / 1000000');
    await price('claimant', 'draft-1', '0.1 * u("shots")');
  });

  test('a draft is named to the vendor by its own id, a number beyond 2^53', async () => {
    const first = await send('/drafts/api/v3/tasks', {
      model: 'draft-1-fast',
      content: [{ type: 'text', text: 'x' }],
      duration: -1,
    });
    expect([first.status, String(first.body.id)]).toEqual([200, expect.stringMatching(/^task_/)]);
    await finish(first.body.id);
    const upstream = String(BigInt(BIG) + 1n);
    const second = await send('/drafts/api/v3/tasks', {
      model: 'draft-1-fast',
      content: [{ type: 'draft_task', draft_task: { id: first.body.id } }],
    });
    expect(second.status).toBe(200);
    const { text: sent } = calls.findLast(({ path, method }) => path === '/api/v3/tasks' && method === 'POST') as Call;
    expect(JSON.parse(sent.replace(/"id":"?(\d+)"?/, '"id":"$1"')).content[0].draft_task.id).toBe(upstream);
    await finish(second.body.id);
    const alien = await send('/drafts/api/v3/tasks', {
      model: 'draft-1-fast',
      content: [{ type: 'draft_task', draft_task: { id: 'task_nobody' } }],
    });
    expect([alien.status >= 400 && alien.status < 500, Object.keys(alien.body)]).toEqual([true, ['error']]);
    const { body } = await send(`/drafts/api/v3/tasks/${first.body.id}`);
    expect(body.id).toBe(first.body.id);
  });

  test('the channel says which of two plugins serves, at its own price', async () => {
    const [made, charged] = await cost(async () => {
      const { status, body } = await send('/v1/videos', { model: 'draft-1', prompt: 'x' });
      expect([status, body.error ?? null]).toEqual([200, null]);
      return body;
    });
    expect(charged).toBeCloseTo(0.2, 6);
    expect((await admin.call<Data>('GET', `/api/task/${made.id}`)).platform).toBe('claimant');
    const { body: read } = await send(`/v1/videos/${made.id}`);
    expect([read.id, read.status, read.remixed_from]).toEqual([made.id, 'completed', undefined]);
    const image = { image_url: 'https://a.example/i.png' };
    const [other, paid] = await cost(async () => {
      const { body } = await send('/v1/videos', { model: 'draft-1', prompt: 'x', input_reference: image });
      await finish(body.id);
      return body;
    });
    expect([(await admin.call<Data>('GET', `/api/task/${other.id}`)).platform, paid]).toEqual(['drafts', 0.5]);
  });
});

describe('account', () => {
  beforeAll(async () => {
    on('POST', /^\/account\/jobs$/, ({ text }) =>
      text.includes('no%20no')
        ? new Response('ok=0\nreason=Words are refused.')
        : new Response('ok=1\njob=a b/c?d&e=f'),
    );
    on(
      'GET',
      /^\/account\/jobs$/,
      () => new Response('state=ready\npercent=100', { headers: { 'content-type': 'text/plain' } }),
    );
    on('GET', /^\/account\/film\//, () => new Response(film, { headers: { 'content-type': 'video/mp4' } }));
    on('GET', /^\/account\/balance$/, () => written('{"left_usd":12.5}'));
    await channel('account', ['acct-1']);
    await price('account', 'acct-1', '(u("hd") ? 0.02 : 0.01) * u("credits")');
  });

  test('a form is sent, a text is read, and the balance is the vendor’s', async () => {
    const [id, charged] = await cost(async () => {
      const { status, body } = await send('/v1/videos', { model: 'acct-1', prompt: 'a & b', size: '1920x1080' });
      expect([status, body.error ?? null]).toEqual([200, null]);
      await finish(body.id);
      return body.id;
    });
    expect(charged).toBeCloseTo(0.2, 6);
    expect(lastCall('/account/jobs?job').path).toBe(`/account/jobs?job=${encodeURIComponent('a b/c?d&e')}`);
    expect((await download(`/v1/videos/${id}/content`)).equals(film)).toBe(true);
    const refused = await send('/v1/videos', { model: 'acct-1', prompt: 'no no' });
    expect([refused.status >= 400, JSON.stringify(refused.body)]).toEqual([
      true,
      expect.stringContaining('Words are refused.'),
    ]);
  });

  test('the channel shows what is left', async () => {
    const { items } = await admin.call<Data>('GET', '/api/channel?page_size=100');
    const { id } = items.find(({ name }: Data) => name === 'account');
    const read = await until('the balance is read', async () => {
      const answer = await ask(`${gateway.url}/api/channel/${id}/balance`, {
        method: 'POST',
        token: admin.token,
        body: {},
      });
      return answer.status === 200 ? answer.body : undefined;
    });
    expect(JSON.stringify(read)).toContain('12.5');
  });
});
