/** No factory plugin leaves out a file or an image: it reaches the vendor or is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { AppError, type Json, toStream } from '../../src/kernel/index.ts';
import type { ProtocolName } from '../../src/plugins/index.ts';
import type { Caller, ClientRequest } from '../../src/tasks/index.ts';
import { type OpenedStore, openTestStore, startSandbox } from '../plugins/support.ts';
import { addCaller, type Engine, jsonRequest, startEngine } from '../tasks/harness.ts';

const FOLDER = new URL('../../src/plugins/factory/', import.meta.url);
const sources = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.js'))
  .map((name) => readFileSync(new URL(name, FOLDER), 'utf8'));

const [PICTURE, OTHER] = ['https://cdn.example.com/one.png', 'https://cdn.example.com/two.png'];

const sandbox = startSandbox();
let opened: OpenedStore;
let engine: Engine;
let caller: Caller;
let seen: { type: string; text: string }[] = [];
const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    seen.push({ type: request.headers.get('content-type') ?? '', text: await request.text() });
    return Response.json({ id: 'job-1', task_id: 'job-1', status: 'queued' });
  },
});
beforeAll(async () => {
  opened = await openTestStore('sqlite');
  engine = await startEngine(opened.store, sandbox, { factory: sources, allowPrivate: true });
  caller = await addCaller(opened.store);
});
afterAll(async () => {
  await engine.stop();
  await opened.close();
  await sandbox.close();
  await vendor.stop(true);
});

/** The shipped plugins that claim a protocol, with the models for which they do. */
function listMakers(protocol: ProtocolName): [key: string, models: readonly string[]][] {
  const { generation, release } = engine.plugins.pin();
  const plugins = [...generation.plugins.values()];
  release();
  return plugins.flatMap(({ key, manifest }) => {
    const claim = manifest.protocols.find(({ name }) => name === protocol);
    return claim ? [[key, claim.models]] : [];
  });
}

/** Adds a channel of the plugin, where these models cost nothing. */
async function offer(key: string, models: readonly string[]): Promise<void> {
  const settings = { name: key, taskPluginKey: key, models: [...models], baseUrl: vendor.url.origin };
  await engine.addChannel({ ...settings, key: 'key_0123456789|secret_0123456789' });
  for (const model of models) await engine.billing.prices.save({ pluginKey: '*', model, expression: '0' });
}

/** An order, and the texts of it that must reach the vendor. */
type Order = [name: string, texts: readonly string[], order: () => Promise<unknown>];

/** The orders that lose a text on the way and are not refused before anything is sent. */
async function listDropped(orders: readonly Order[]): Promise<string[]> {
  const dropped: string[] = [];
  for (const [name, texts, order] of orders) {
    const refused = await readRefusal(order);
    const isSent = texts.every((text) => seen[0]?.text.includes(text));
    if (!isSent && (seen.length > 0 || refused?.kind !== 'invalid')) dropped.push(name);
  }
  return dropped;
}

/** A form with a file in each of these fields. */
function form(model: string, fields: readonly string[]): ClientRequest {
  const bytes = new TextEncoder().encode('a picture');
  const files = fields.map((field, index) => {
    const earlier = fields.slice(0, index).filter((other) => other === field).length;
    const ref = `request_file:${field}${earlier > 0 ? `#${earlier}` : ''}`;
    const stream = () => toStream(new Blob([bytes]).stream());
    return { ref, field, filename: 'a.png', mimeType: 'image/png', size: bytes.length, stream };
  });
  const body = { kind: 'multipart', fields: { model: [model], prompt: ['a kite'] }, files };
  return { ...jsonRequest({}), contentType: 'multipart/form-data', path: '/v1/videos', body } as never;
}

const submit = (model: string, fields: readonly string[]) => send(form(model, fields));

const send = (request: ClientRequest) => readRefusal(() => engine.surfaces.submitVideo(caller, 'r', request));

async function readRefusal(order: () => Promise<unknown>): Promise<AppError | undefined> {
  seen = [];
  return order().then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof AppError) return error;
      throw error;
    },
  );
}

test('every plugin refuses a file in a field that it does not know, before anything is sent', async () => {
  const makers = listMakers('proto_video');
  expect(makers.length).toBeGreaterThan(10);
  for (const [key, [model = '']] of makers) {
    await offer(key, [model]);
    const refused = await submit(model, key === 'demo' ? ['image', 'nobody_knows'] : ['nobody_knows']);
    expect([key, refused?.kind, seen]).toEqual([key, 'invalid', []]);
  }
});

test('sora sends the file of input_reference, input_reference[] and image, and refuses others by their field', async () => {
  for (const field of ['input_reference', 'input_reference[]', 'image']) {
    expect(await submit('sora-2', [field])).toBeUndefined();
    expect(seen[0]?.text).toContain('name="input_reference"');
    expect(seen[0]?.text).toContain('a picture');
  }
  expect(await submit('sora-2', ['mask'])).toMatchObject({ code: 'tasks.plugin_request_invalid', param: 'mask' });
  const twice = await submit('sora-2', ['input_reference', 'input_reference']);
  expect(twice?.message).toContain('only one file in the field "input_reference"');
  expect(seen).toEqual([]);
});

/** What OpenAI's clients make of `input_reference: {…}`: they send videos as forms. */
const written = (model: string, reference: Record<string, string>): ClientRequest => {
  const named = Object.entries(reference).map(([name, value]) => [`input_reference[${name}]`, [value]]);
  const fields = { model: [model], prompt: ['a kite'], ...Object.fromEntries(named) };
  const body = { kind: 'multipart', fields, files: [] };
  return { ...jsonRequest({}), contentType: 'multipart/form-data', path: '/v1/videos', body } as never;
};

test('every model sends image and images of a JSON request, or refuses them', async () => {
  const dropped: string[] = [];
  for (const [key, models] of listMakers('proto_video').filter(([maker]) => maker !== 'demo')) {
    await offer(key, models);
    for (const model of models) {
      const json = (images: object) =>
        ({ ...jsonRequest({ model, prompt: 'a kite', ...images } as Json), path: '/v1/videos' }) as ClientRequest;
      const reference = { image_url: PICTURE };
      const requests: [name: string, urls: string[], request: ClientRequest][] = [
        ['image', [PICTURE], json({ image: PICTURE })],
        ['images', [PICTURE, OTHER], json({ images: [PICTURE, OTHER] })],
        ['input_reference', [PICTURE], json({ input_reference: reference })],
        ['input_reference of a form', [PICTURE], written(model, reference)],
      ];
      const orders = requests.map(
        ([name, urls, request]): Order => [
          `${model} ${name}`,
          urls,
          () => engine.surfaces.submitVideo(caller, 'r', request),
        ],
      );
      dropped.push(...(await listDropped(orders)));
    }
  }
  expect(dropped).toEqual([]);
}, 60_000);

test('no model makes a video without the image that a request names by its file_id', async () => {
  const reference = { file_id: 'file-1' };
  const json = {
    ...jsonRequest({ model: 'sora-2', prompt: 'a kite', input_reference: reference }),
    path: '/v1/videos',
  };
  for (const request of [json, written('sora-2', reference), written('kling-v2-6', reference)]) {
    expect(await send(request)).toMatchObject({ kind: 'invalid', param: 'input_reference' });
    expect(seen).toEqual([]);
  }
});

test('every model of responses sends what its input has beside texts, or refuses it', async () => {
  const makers = listMakers('proto_responses');
  expect(makers.length).toBeGreaterThan(15);
  const image = (url: string) => ({ type: 'input_image', image_url: url });
  const inputs: [name: string, urls: string[], parts: object[]][] = [
    ['an image', [PICTURE], [image(PICTURE)]],
    ['two images', [PICTURE, OTHER], [image(PICTURE), image(OTHER)]],
    ['an image without an address', ['nothing'], [{ type: 'input_image' }]],
    ['a file of OpenAI', ['file-1'], [{ type: 'input_image', file_id: 'file-1' }]],
    ['a text of chats', ['a red hat'], [{ type: 'text', text: 'a red hat' }]],
    ['a document', [OTHER], [{ type: 'input_file', file_url: OTHER }]],
    ['a recording', ['c291bmQ='], [{ type: 'input_audio', input_audio: { data: 'c291bmQ=', format: 'mp3' } }]],
  ];
  const dropped: string[] = [];
  for (const [key, [model = '']] of makers) {
    await offer(key, [model]);
    const orders = inputs.map(([name, urls, parts]): Order => {
      const input = [{ role: 'user', content: [{ type: 'input_text', text: 'a kite' }, ...parts] }] as Json;
      const request = { ...jsonRequest({ model, input, background: true }), path: '/v1/responses' } as ClientRequest;
      return [`${model} ${name}`, urls, () => engine.surfaces.createResponse(caller, 'r', request)];
    });
    dropped.push(...(await listDropped(orders)));
  }
  expect(dropped).toEqual([]);
}, 60_000);

test('every model of images sends what a JSON request has beside its prompt, or refuses it', async () => {
  const makers = listMakers('proto_image').filter(([key]) => key !== 'comfyui');
  expect(makers.length).toBeGreaterThan(3);
  const edits: [name: string, urls: string[], fields: object][] = [
    ['an image', [PICTURE], { image: PICTURE }],
    ['images', [PICTURE, OTHER], { images: [{ image_url: PICTURE }, { image_url: OTHER }] }],
    ['a mask', [PICTURE, OTHER], { image: PICTURE, mask: { image_url: OTHER } }],
    ['a file of OpenAI', ['file-1'], { images: [{ file_id: 'file-1' }] }],
  ];
  const dropped: string[] = [];
  for (const [key, models] of makers) {
    await offer(key, models);
    for (const model of models) {
      const orders = edits.map(([name, urls, fields]): Order => {
        const value = { model, prompt: 'a kite', background: true, ...fields } as Json;
        const request = { ...jsonRequest(value), path: '/v1/images/edits' } as ClientRequest;
        const creation = { requestId: 'r', request, operation: 'edit', isAsync: true } as const;
        return [`${model} ${name}`, urls, () => engine.surfaces.createImages(caller, creation)];
      });
      dropped.push(...(await listDropped(orders)));
    }
  }
  expect(dropped).toEqual([]);
}, 60_000);
