/**
 * A channel's own name for a model, on every surface of every vendor. The channels have the type
 * numbers of new-api, and so show as well that these pick the plugin.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { accountKey } from '../support/service-account-cloud.ts';
import { answerFrom, type Call, clients } from './native-clients.ts';

type Mapped = {
  plugin: string;
  /** The type of its channels in new-api, or 61. */
  type: number;
  model: string;
  vendor: Record<string, unknown>;
  submit?: Call;
  nameAtVendor?: string;
  /** What the vendor needs beside a prompt. */
  fields?: Record<string, unknown>;
  /** The key of its channel, where it is not two halves; `url`: the vendor's address. */
  key?: (url: string) => string;
  /** The protocols that it does not have. */
  lacks?: 'videos';
};

const TYPES: Record<string, number> = {
  kling: 50,
  vidu: 52,
  ali: 17,
  hailuo: 35,
  jimeng: 51,
  doubao: 45,
  sunoapi: 36,
  xai: 48,
};
const VEO = 'veo-2.0-generate-001';
const table: Mapped[] = [
  ...clients.map((client) => ({
    ...client,
    type: TYPES[client.plugin] ?? 61,
    ...(client.makes ? { lacks: 'videos' as const } : {}),
    // Its path says what is made, so no name can be given.
    ...(client.plugin === 'sunoapi' ? { lacks: 'videos' as const, submit: undefined } : {}),
  })),
  {
    plugin: 'gemini',
    type: 24,
    model: VEO,
    vendor: { [`POST /v1beta/models/${VEO}:predictLongRunning`]: { name: `models/${VEO}/operations/1` } },
  },
  {
    plugin: 'vertex',
    type: 41,
    model: 'vertex/veo-3.0-generate-001',
    nameAtVendor: 'veo-3.0-generate-001',
    key: accountKey,
    vendor: {
      'POST /token': { access_token: 'ya29.token', expires_in: 3600 },
      'POST /v1/projects/project-7/locations/us-central1/publishers/google/models/veo-3.0-generate-001:predictLongRunning':
        { name: 'projects/p/locations/l/publishers/google/models/m/operations/1' },
    },
  },
  { plugin: 'sora', type: 55, model: 'sora-2', vendor: { 'POST /v1/videos': { id: 'video_1', status: 'queued' } } },
];

let gateway: Gateway;
let admin: Administrator;
let key: string;
const vendors = new Map<string, ReturnType<typeof answerFrom>>();

beforeAll(async () => {
  gateway = await startGateway({
    env: {
      TASK_POLL_INTERVAL_SECONDS: '600',
      TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '100',
      TASK_PLUGIN_PROTOCOL_KEY_CONCURRENCY: '100',
    },
  });
  admin = await setUp(gateway);
  await admin.call('PUT', '/api/option', { key: 'billing.unpriced', value: 'everyone' });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([...vendors.values()].map((vendor) => vendor.stop(true)));
});

test('a plain name of Veo is served by Vertex AI where gemini is narrowed and the name is mapped', async () => {
  const name = 'veo-3.0-generate-001';
  const path = `POST /v1/projects/project-7/locations/us-central1/publishers/google/models/${name}:predictLongRunning`;
  const operation = { name: `projects/p/locations/l/publishers/google/models/m/operations/1` };
  const server = answerFrom({ 'POST /token': { access_token: 'ya29.token', expires_in: 3600 }, [path]: operation });
  vendors.set('narrowed', server);
  await admin.call('PUT', '/api/plugin/task/gemini/models', { models: [VEO] });
  await admin.call('POST', '/api/channel', {
    ...{ name: 'plain', type: 61, task_plugin_key: 'vertex', base_url: server.url.origin, models: [name] },
    ...{ key: accountKey(server.url.origin), model_mapping: { [name]: `vertex/${name}` } },
  });
  const body = { model: name, prompt: 'a cat' };
  const { status, body: answer } = await ask(`${gateway.url}/v1/videos`, { token: key, body });
  expect([status, answer]).toEqual([200, expect.objectContaining({ model: name })]);
});

test.concurrent.each(table.map((entry) => [entry.plugin, entry] as const))(
  '%s: a mapped name reaches the vendor as its own, from every surface',
  async (plugin, {
    type,
    model,
    vendor,
    submit,
    lacks,
    nameAtVendor = model,
    fields,
    key: keyFor = () => 'access|secret',
  }) => {
    const server = answerFrom(vendor);
    vendors.set(plugin, server);
    const mine = `my-${plugin}`;
    const channel = await admin.call<{ type: number }>('POST', '/api/channel', {
      ...{ name: mine, type, base_url: server.url.origin, key: keyFor(server.url.origin) },
      ...{ models: [mine], model_mapping: { [mine]: model } },
      ...(type === 61 ? { task_plugin_key: plugin } : {}),
    });
    expect(channel.type).toBe(type);
    const body = { model: mine, prompt: 'a cat', gpt_description_prompt: 'a cat', ...fields };
    const surfaces: [string, Record<string, unknown>][] = [
      ...(lacks === 'videos' ? [] : [['/v1/videos', body] as [string, Record<string, unknown>]]),
      ['/v1/responses', { model: mine, input: 'a cat', background: true, ...fields }],
      [`/v1/tasks/${plugin}`, body],
      ...(submit
        ? [[submit.path.replace(model, mine), JSON.parse(JSON.stringify(submit.body).replaceAll(model, mine))] as never]
        : []),
    ];
    for (const [path, json] of surfaces) {
      const before = server.received.length;
      const { status, body: answer } = await ask(`${gateway.url}${path}`, { token: key, body: json });
      expect([path, status, status === 200 ? '' : answer]).toEqual([path, 200, '']);
      const sent = server.received.slice(before).join('\n');
      expect([path, sent]).toEqual([path, expect.not.stringContaining(mine)]);
      if (plugin !== 'sunoapi') expect([path, sent]).toEqual([path, expect.stringContaining(nameAtVendor)]);
    }
  },
);
