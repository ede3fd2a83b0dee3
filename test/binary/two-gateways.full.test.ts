/**
 * A channel of type 60 is an account at another gateway of this kind, ours or new-api: three
 * factory plugins do the main job through it, with one key for all.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';

const env = { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' };
const MODELS = { sora: 'sora-2', kling: 'kling-v2-master', doubao: 'doubao-seedance-1-0-pro-250528' } as const;
type Plugin = keyof typeof MODELS;
const PLUGINS = Object.keys(MODELS) as Plugin[];
const film = (plugin: string) => Buffer.from(`film of ${plugin}`);

type Call = { method: string; path: string; authorization: string | null };
/** Answers in the words of the three vendors, below `prefix` of each. */
function startVendors(prefixes: Record<'kling' | 'doubao', string>, id: (plugin: Plugin) => string) {
  const calls: Call[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, { url }) {
      const { pathname: path } = new URL(request.url);
      calls.push({ method: request.method, path, authorization: request.headers.get('authorization') });
      const isNew = request.method === 'POST';
      const file = /^\/cdn\/(\w+)$/.exec(path)?.[1];
      if (file) return new Response(film(file), { headers: { 'content-type': 'video/mp4' } });
      if (path.startsWith(`${prefixes.kling}/v1/videos/text2video`)) {
        const made = { task_result: { videos: [{ id: '1', url: `${url.origin}/cdn/kling`, duration: '5' }] } };
        const data = { task_id: id('kling'), task_status: isNew ? 'submitted' : 'succeed', ...(isNew ? {} : made) };
        return Response.json({ code: 0, message: 'SUCCEED', request_id: 'r', data });
      }
      if (path.startsWith(`${prefixes.doubao}/api/v3/contents/generations/tasks`)) {
        const made = { status: 'succeeded', content: { video_url: `${url.origin}/cdn/doubao` }, duration: 5 };
        return Response.json({ id: id('doubao'), ...(isNew ? {} : made) });
      }
      if (path === `/v1/videos/${id('sora')}/content`) {
        return new Response(film('sora'), { headers: { 'content-type': 'video/mp4' } });
      }
      if (path.startsWith('/v1/videos')) {
        const state = isNew ? { status: 'queued', progress: 0 } : { status: 'completed', progress: 100 };
        return Response.json({ id: id('sora'), object: 'video', model: 'sora-2', created_at: 1, ...state });
      }
      return Response.json({ error: { message: `nothing at ${path}` } }, { status: 404 });
    },
  });
  return { url: server.url.origin, calls, stop: () => server.stop(true) };
}

let front: Gateway;
let back: Gateway;
let admin: Administrator;
let key: string;
/** The key of the back gateway, which the front one has as its channel's. */
let backKey: string;
const vendors = startVendors({ kling: '', doubao: '' }, (plugin) => `vendor-${plugin}`);
const reference = startVendors({ kling: '/kling', doubao: '/doubao' }, (plugin) => `task_${plugin}`);

beforeAll(async () => {
  [front, back] = await Promise.all([startGateway({ env }), startGateway({ env })]);
  admin = await setUp(front);
  key = await admin.createKey();
  const other = await setUp(back);
  backKey = await other.createKey();
  for (const [plugin, type] of [
    ['sora', 55],
    ['kling', 50],
    ['doubao', 54],
  ] as const) {
    await other.createChannel(vendors.url, {
      ...{ name: plugin, type, task_plugin_key: undefined, key: 'vendor-key', models: [MODELS[plugin]] },
    });
  }
});
afterAll(async () => {
  await Promise.all([front?.stop(), back?.stop()]);
  await Promise.all([vendors.stop(), reference.stop()]);
});

const account = (name: string, { url, key }: { url: string; key: string }) =>
  admin.createChannel(url, {
    ...{ name, type: 60, key, task_plugin_key: 'sora' },
    settings: { task_extend_plugin_keys: ['kling', 'doubao'] },
    models: PLUGINS.map((plugin) => `${name}-${plugin}`),
    model_mapping: Object.fromEntries(PLUGINS.map((plugin) => [`${name}-${plugin}`, MODELS[plugin]])),
  });

async function order(model: string): Promise<{ bytes: Buffer; task: { platform: string } }> {
  const { status, body } = await ask(`${front.url}/v1/videos`, { token: key, body: { model, prompt: 'a cat' } });
  expect([status, body.error ?? null]).toEqual([200, null]);
  const { status: end, fail_reason: why } = await waitForEnd(front.url, key, String(body.id));
  expect([end, why]).toEqual(['SUCCESS', '']);
  const content = await fetch(`${front.url}/v1/videos/${body.id}/content`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return {
    bytes: Buffer.from(await content.arrayBuffer()),
    task: await admin.call('GET', `/api/task/${body.id}`),
  };
}

test('two gateways in a row do the main job', async () => {
  await account('ours', { url: back.url, key: backKey });
  for (const plugin of PLUGINS) {
    const { bytes, task } = await order(`ours-${plugin}`);
    expect([plugin, bytes.toString(), task.platform]).toEqual([plugin, film(plugin).toString(), plugin]);
  }
  // Each vendor was called by the back gateway alone, with the key that it has there.
  expect(
    vendors.calls.every(({ authorization }) => authorization === null || authorization.includes('vendor-key')),
  ).toBe(true);
});

test('a gateway of the reference does it too, with its key for every plugin', async () => {
  await account('theirs', { url: reference.url, key: 'key-of-the-reference' });
  for (const plugin of PLUGINS) {
    const { bytes, task } = await order(`theirs-${plugin}`);
    expect([plugin, bytes.toString(), task.platform]).toEqual([plugin, film(plugin).toString(), plugin]);
  }
  const paths = reference.calls.filter(({ path }) => !path.startsWith('/cdn/'));
  expect(new Set(paths.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer key-of-the-reference']));
  expect(paths.map(({ path }) => path)).toContain('/kling/v1/videos/text2video/task_kling');
  expect(paths.map(({ path }) => path)).toContain('/doubao/api/v3/contents/generations/tasks/task_doubao');
});

test('a plugin that addresses its vendor alone is bound to no such channel, nor is one without key', async () => {
  const create = (fields: object) =>
    ask(`${front.url}/api/channel`, {
      token: admin.token,
      body: { name: 'x', type: 60, key: 'k', base_url: back.url, models: ['m'], ...fields },
    });
  for (const [fields, param] of [
    [{ task_plugin_key: 'vidu' }, 'task_plugin_key'],
    [{ task_plugin_key: 'sora', settings: { task_extend_plugin_keys: ['vidu'] } }, 'settings.task_extend_plugin_keys'],
    [{}, 'task_plugin_key'],
  ] as const) {
    const { status, body } = await create(fields);
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(param)]);
  }
});
