/** OpenAI's images API served by a plugin that claims it: generations and edits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { ask } from '../../support/gateway.ts';
import { type ArtifactGateway, FILE, startArtifactGateway } from './artifact-harness.ts';

const HOOKS = `export const protocols = { openai_image: {
  decodeRequest({ protocol, operation, model, body, method }) {
    const value = body.kind === 'json' ? body.value : JSON.parse(body.fields.prompt[0]);
    if (value.refuse) throw new Error('prompt is too long.');
    const fields = body.kind === 'json' ? body.value : body.fields;
    const files = body.kind === 'json' ? [] : body.files.map(({ ref, field, size }) => ({ ref, field, size }));
    const images = files.map(({ ref }) => ({ __fileRef: ref, encoding: 'base64' }));
    const seen = { protocol, operation, model, kind: body.kind, names: Object.keys(fields).sort(), files };
    return { kind: 'submit', model, requestBody: { ...value, seen, images } };
  },
  render: (ctx, task) => {
    if (task.data.render === 'throws') throw new Error('no picture');
    return { ...task.data.render, seen: [ctx.operation, ctx.model, task.status, task.task_id.slice(0, 5)] };
  },
} };
function unused() {}
`;

let world: ArtifactGateway;
let client: OpenAI;
beforeAll(async () => {
  world = await startArtifactGateway();
  for (const [key, model] of [
    ['paint', 'paint-1'],
    ['gpt-image', 'gpt-image-1'],
  ] as const) {
    await world.addPlugin(key, { models: [model], protocols: ['openai_image'] }, (source) =>
      source.replace(/export const protocols[\s\S]*?\n\} \};/, HOOKS),
    );
  }
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.url}/v1`, maxRetries: 0 });
});
afterAll(() => world.stop());

const order = (path: string, body: object) =>
  ask(`${world.url}/v1/images/${path}`, { token: world.key, body: { model: 'paint-1', prompt: 'x', ...body } });
const rendered = (...data: object[]) => ({ render: { data } });
const readTasks = async () =>
  ((await world.get('/v1/tasks?limit=100', { token: world.key })).json.data as object[]).length;
/** What the decoder saw, as the vendor got it. */
const seen = () => world.vendor.submitted()?.seen as Record<string, unknown>;

test.each(['SUCCESS', 'IN_PROGRESS'])('images that are there at %s come as the plugin renders them', async (end) => {
  const url = 'https://cdn.example/a.png';
  const { status, body } = await order('generations', {
    ...{ end, n: 2, stream: false },
    ...rendered({ url, revised_prompt: 'A cat.' }, { b64_json: 'AAAA' }),
  });
  expect([status, body]).toMatchObject([
    200,
    {
      data: [{ url, revised_prompt: 'A cat.' }, { b64_json: 'AAAA' }],
      seen: ['generate', 'paint-1', 'SUCCESS', 'task_'],
      cost: { charged: 0 },
    },
  ]);
  expect(body.created).toBeNumber();
  expect(seen()).toMatchObject({ protocol: 'openai_image', operation: 'generate', model: 'paint-1', files: [] });
  expect(seen().names).not.toContain('stream');
});

describe('Base64 where the client wants it', () => {
  const bytes = (text: unknown) => Buffer.from(String(text), 'base64');
  const fetched = { url: '' };
  beforeAll(() => {
    fetched.url = `${world.vendor.url}/file`;
  });

  test('each address is fetched, and stays', async () => {
    const { body } = await order('generations', { response_format: 'b64_json', ...rendered(fetched, fetched) });
    const data = body.data as { url: string; b64_json: string }[];
    expect(data.map(({ url, b64_json }) => [url, bytes(b64_json).equals(FILE)])).toEqual([
      [fetched.url, true],
      [fetched.url, true],
    ]);
  });
  test('an address that gives nothing stays alone', async () => {
    const gone = { url: `${world.vendor.url}/status/404` };
    const { status, body } = await order('generations', { response_format: 'b64_json', ...rendered(gone) });
    expect([status, body.data]).toEqual([200, [gone]]);
  });
  test('models that have no addresses at OpenAI need not name it', async () => {
    const { body } = await order('generations', { model: 'gpt-image-1', ...rendered(fetched) });
    expect((body.data as object[])[0]).toHaveProperty('b64_json');
  });
});

describe('edits by the official client', () => {
  const image = (name: string) => toFile(Buffer.from(name), `${name}.png`, { type: 'image/png' });
  const edit = async (more: object, render = rendered({ url: 'https://cdn.example/e.png' })) =>
    client.images.edit({
      ...{ model: 'paint-1', image: [await image('one'), await image('two')], mask: await image('mask') },
      ...{ prompt: JSON.stringify(render), ...more },
    } as OpenAI.ImageEditParamsNonStreaming);

  test('a form reaches the plugin with its files, and the vendor with their bytes', async () => {
    const made = await edit({ n: 2 });
    expect(made.data).toEqual([{ url: 'https://cdn.example/e.png' }]);
    expect(seen()).toMatchObject({
      ...{ operation: 'edit', kind: 'multipart', names: ['model', 'n', 'prompt'] },
      files: [
        { ref: 'request_file:image[]', field: 'image[]', size: 3 },
        { ref: 'request_file:image[]#1', field: 'image[]', size: 3 },
        { ref: 'request_file:mask', field: 'mask', size: 4 },
      ],
    });
    expect(world.vendor.submitted()?.images).toEqual(['one', 'two', 'mask'].map((text) => btoa(text)));
  });
  test('a stream has each image as its last event', async () => {
    const render = rendered({ url: `${world.vendor.url}/file` });
    const stream = (await edit({ stream: true, partial_images: 1 }, render)) as unknown as AsyncIterable<{
      type: string;
      b64_json: string;
    }>;
    const events: [string, boolean][] = [];
    for await (const { type, b64_json } of stream) events.push([type, Buffer.from(b64_json, 'base64').equals(FILE)]);
    expect(events).toEqual([['image_edit.completed', true]]);
  });
  test('JSON is an edit too', async () => {
    const { status } = await order('edits', { image: 'data:image/png;base64,AAAA', ...rendered({ b64_json: 'AAAA' }) });
    expect([status, seen().operation, seen().kind]).toEqual([200, 'edit', 'json']);
  });
  test('a task to follow is given where the client asks for it', async () => {
    const { status, body } = await order('edits', { background: true, ...rendered({ b64_json: 'AAAA' }) });
    expect([status, body.object, seen().names]).toEqual([202, 'task', ['model', 'prompt', 'render']]);
  });
});

test('a repeat with its Idempotency-Key answers with the same images', async () => {
  const before = await readTasks();
  const ordered = async () => {
    const response = await fetch(`${world.url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
        'idempotency-key': 'painted-1',
      },
      body: JSON.stringify({ model: 'paint-1', prompt: 'x', ...rendered({ b64_json: 'AAAA' }) }),
    });
    return response.json();
  };
  expect(await ordered()).toEqual(await ordered());
  expect(await readTasks()).toBe(before + 1);
});

describe('what cannot be answered with images', () => {
  test.each<[string, string, object, [number, string], number]>([
    ['a refusal of the plugin', 'generations', { refuse: true }, [400, 'plugin_request_invalid'], 0],
    ['a model that no plugin edits', 'edits', { model: 'acme-1' }, [404, 'model_not_found'], 0],
    ['another format', 'edits', { response_format: 'gif' }, [400, 'image_request_invalid'], 0],
    ['a failed task', 'generations', { end: 'FAILURE' }, [400, 'image_failed'], 1],
    ['a rendering that throws', 'generations', { render: 'throws' }, [500, 'plugin_presenter_failed'], 1],
    ['a rendering without a picture', 'generations', rendered({ text: 'x' }), [500, 'plugin_presenter_failed'], 1],
    ['no picture at all', 'generations', rendered(), [502, 'images_missing'], 1],
  ])('%s', async (_name, path, body, expected, bought) => {
    const before = await readTasks();
    const answer = await order(path, body);
    expect([answer.status, (answer.body.error as { code?: string }).code]).toEqual(expected);
    expect(await readTasks()).toBe(before + bought);
    if (bought > 0) expect(answer.headers.get('x-should-retry')).toBe('false');
  });
});
