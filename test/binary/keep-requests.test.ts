/** A wish to keep a result is heard on every route that creates tasks. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { type ArtifactGateway, startArtifactGateway } from '../http/v1/artifact-harness.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ask } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';

const VENDOR_KEY = 'demo-vendor-key-0123456789';
const PROMPT = 'a [duration=0.1]';

let world: ArtifactGateway;
let vendor: { url: string; stop(): Promise<void> };
const keys = { plain: '', keeping: '' };

beforeAll(async () => {
  world = await startArtifactGateway({ RESULTS_MIN_FREE_MB: '0', TASK_POLL_INTERVAL_SECONDS: '1' });
  vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 100 }).start(0);
  await world.admin.createChannel(vendor.url, { key: VENDOR_KEY });
  await world.addPlugin('pixel', { protocols: [] }, (source) =>
    source.replace(/export const protocols[\s\S]*?\n\} \};/, ''),
  );
  await world.admin.call('PUT', '/api/option', { key: 'results.keep', value: 'asked' });
  keys.plain = world.key;
  keys.keeping = await world.admin.createKey({ keep_results: true });
});
afterAll(async () => {
  await world.stop();
  await vendor.stop();
});

type Call = { path: string; body: Record<string, unknown>; multipart?: boolean };
const image = [{ key: 'first', type: 'image', mimeType: 'image/png' }];
const calls: Record<string, Call> = {
  'JSON to /v1/videos': { path: '/v1/videos', body: { model: 'demo-video', prompt: PROMPT } },
  'a form to /v1/videos': { path: '/v1/videos', body: { model: 'demo-video', prompt: PROMPT }, multipart: true },
  '/v1/responses': { path: '/v1/responses', body: { model: 'demo-video', input: PROMPT, background: true } },
  '/v1/images/generations': { path: '/v1/images/generations', body: { model: 'pixel-1', prompt: 'x', list: image } },
  'JSON to a native route': { path: '/demo/v1/videos', body: { model: 'demo-video', prompt: PROMPT } },
  'a form to a native route': {
    path: '/demo/v1/videos',
    body: { model: 'demo-video', prompt: PROMPT },
    multipart: true,
  },
  '/v1/tasks/:plugin': { path: '/v1/tasks/demo', body: { model: 'demo-video', prompt: PROMPT } },
};

type Asked = { key?: string; header?: string; metadata?: Record<string, string> };

async function send({ path, body, multipart }: Call, { key = keys.plain, header, metadata }: Asked) {
  const headers: Record<string, string> = header === undefined ? {} : { 'x-keep-result': header };
  if (!multipart)
    return ask(`${world.url}${path}`, { token: key, headers, body: { ...body, ...(metadata ? { metadata } : {}) } });
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.set(name, String(value));
  if (metadata) form.set('metadata', JSON.stringify(metadata));
  form.set('input_reference', new File([new Uint8Array(2000)], 'cat.png', { type: 'image/png' }));
  const response = await fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: form,
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}

async function readNewest(key: string): Promise<string> {
  const { body } = await ask(`${world.url}/v1/tasks?limit=1`, { token: key });
  return (body.data as { id: string }[])[0]?.id ?? expect.unreachable();
}

/** The state of a task's first artifact: `kept`, or undefined where nobody keeps it. */
async function readFate(id: string, key: string): Promise<string | undefined> {
  expect((await waitForEnd(world.url, key, id)).status).toBe('SUCCESS');
  return until('its results are kept, or not wanted', async () => {
    const { body: listed } = await ask(`${world.url}/v1/tasks/${id}/artifacts`, { token: key });
    const { kept } = (listed.artifacts as { kept?: string }[])[0] ?? expect.unreachable();
    return kept === 'pending' ? undefined : { kept };
  }).then(({ kept }) => kept);
}

describe('a wish to keep a result', () => {
  const wishes = (): [string, Asked, string | undefined][] => [
    ['by header', { header: 'true' }, 'kept'],
    ['by metadata', { metadata: { keep_result: 'true' } }, 'kept'],
    ['by nobody', {}, undefined],
    ['by the key', { key: keys.keeping }, 'kept'],
    ['by the key, not by the header', { key: keys.keeping, header: 'false' }, undefined],
  ];
  for (const [index, [name, call]] of Object.entries(calls).entries()) {
    // The surfaces share the code that hears the wish: `npm test` asks JSON and a form.
    const testIt = index < 2 ? test : testInFullRun;
    testIt(`is heard on ${name}`, async () => {
      // The tasks run side by side.
      const fates: Promise<[string, string | undefined]>[] = [];
      for (const [who, asked] of wishes()) {
        expect([who, (await send(call, asked)).status]).toEqual([who, 200]);
        const key = asked.key ?? keys.plain;
        const id = await readNewest(key);
        fates.push(readFate(id, key).then((fate) => [who, fate]));
      }
      expect(await Promise.all(fates)).toEqual(wishes().map(([who, , fate]) => [who, fate]));
    });

    test(`that is neither true nor false is refused on ${name}, before anything is bought`, async () => {
      for (const [asked, param] of [
        [{ header: 'yes' }, 'X-Keep-Result'],
        [{ metadata: { keep_result: '1' } }, 'metadata.keep_result'],
      ] as const) {
        const { status, body } = await send(call, asked);
        const error = (call.path.startsWith('/demo/') ? (body.error ?? body) : body.error) as Record<string, unknown>;
        expect([status, error.message]).toEqual([400, `${param} must be true or false.`]);
        if (call.path.startsWith('/v1/')) expect(error).toMatchObject({ code: 'keep_result_invalid', param });
      }
    });
  }

  test('may be sent by a page of another origin, and is in the document of the API', async () => {
    const preflight = await fetch(`${world.url}/v1/videos`, {
      method: 'OPTIONS',
      headers: {
        ...{ origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
        'access-control-request-headers': 'authorization,x-keep-result',
      },
    });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-keep-result');
    const { body } = await ask(`${world.url}/api/openapi.json`, { token: world.admin.token });
    const paths = Object.entries(body.paths as Record<string, { post?: { parameters?: { name: string }[] } }>);
    const having = (name: string) =>
      paths
        .filter(([, { post }]) => post?.parameters?.some((parameter) => parameter.name === name))
        .map(([path]) => path);
    expect(having('X-Keep-Result')).toContain('/v1/videos/{task_id}/remix');
    // It is on all routes that submit; the requests of a batch say it themselves.
    expect([...having('X-Keep-Result'), '/v1/batches']).toEqual(having('X-Callback-Url'));
  });
});

describe('deleting a video', () => {
  test('deletes its kept result and the files of its request; until then it can be run again', async () => {
    await world.admin.call('PUT', '/api/option', { key: 'results.keep_inputs', value: 'true' });
    const answer = await send(calls['a form to /v1/videos'] as Call, { header: 'true' });
    const id = String(answer.body.id);
    expect(await readFate(id, keys.plain)).toBe('kept');
    const storage = () => world.admin.call<{ files: number; is_offered: boolean }>('GET', '/api/user/self/storage');
    const before = await storage();
    const task = await world.admin.call<{ retryable: boolean; retry_block: null }>('GET', `/api/task/${id}`);
    expect(task).toMatchObject({ retryable: true, retry_block: null });
    const again = await world.admin.call<{ id: string }>('POST', `/api/task/${id}/retry`);
    expect((await waitForEnd(world.url, keys.plain, again.id)).status).toBe('SUCCESS');
    const files = (await storage()).files;
    expect([before.is_offered, files]).toEqual([true, before.files + 1]);
    for (const each of [id, again.id]) {
      const deleted = await ask(`${world.url}/v1/videos/${each}`, { token: keys.plain, method: 'DELETE' });
      expect([deleted.status, deleted.body.deleted]).toEqual([200, true]);
    }
    // The result and the file of the first, the file of the second.
    expect((await storage()).files).toBe(files - 3);
  });
});
