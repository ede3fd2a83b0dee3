/**
 * Plugins that make images behind `POST /v1/images/generations`, under a channel's own name for the
 * model: answered with the bytes, billed; a failure says why and costs nothing.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';

type Maker = {
  plugin: string;
  model: string;
  price: string;
  /** In quota units. */
  bill: number;
  /** A function where the vendor answers with the image at once. */
  job: unknown;
  made: (url: string) => unknown;
  failed: unknown;
  reason: string;
  size?: string;
  /** It changes given images too. */
  edits?: true;
};

const makers: Maker[] = [
  {
    plugin: 'flux',
    model: 'flux-2-pro',
    price: '0.01 * u("megapixels")',
    bill: 5000,
    job: { id: 'job-1' },
    made: (sample) => ({ id: 'job-1', status: 'Ready', result: { sample } }),
    failed: { id: 'job-1', status: 'Error', error: 'worker lost' },
    reason: 'worker lost',
    edits: true,
  },
  {
    plugin: 'runway',
    model: 'gen4_image',
    price: '0.01 * u("images")',
    bill: 5000,
    job: { id: 'job-1' },
    made: (url) => ({ id: 'job-1', status: 'SUCCEEDED', output: [url] }),
    failed: { id: 'job-1', status: 'FAILED', failure: 'Flagged.' },
    reason: 'Flagged.',
  },
  {
    plugin: 'luma',
    model: 'photon-1',
    price: '0.01 * u("images")',
    bill: 5000,
    job: { id: 'job-1', state: 'queued' },
    made: (image) => ({ id: 'job-1', state: 'completed', assets: { image } }),
    failed: { id: 'job-1', state: 'failed', failure_reason: 'not allowed' },
    reason: 'not allowed',
  },
  {
    plugin: 'seedream',
    model: 'doubao-seedream-4-5-251128',
    price: '0.01 * u("images")',
    bill: 5000,
    job: (url: string) => ({ data: [{ url }], usage: { generated_images: 1 } }),
    made: () => ({}),
    failed: { data: [{ error: { code: 'OutputImageSensitiveContentDetected', message: 'Withheld.' } }] },
    reason: 'Withheld.',
    size: '2048x2048',
    edits: true,
  },
  {
    plugin: 'replicate',
    model: 'black-forest-labs/flux-schnell',
    price: '0.01 * u("images")',
    bill: 5000,
    job: { id: 'job-1', status: 'starting' },
    made: (output) => ({ id: 'job-1', status: 'succeeded', output: [output] }),
    failed: { id: 'job-1', status: 'failed', error: 'NSFW content detected.' },
    reason: 'NSFW content detected.',
  },
];

let gateway: Gateway;
let admin: Administrator;
let key: string;
const vendors: { stop(now: boolean): Promise<void> }[] = [];
/** The last request to each maker. */
const ordered = new Map<string, string>();

beforeAll(async () => {
  gateway = await startGateway({
    env: {
      TASK_POLL_INTERVAL_SECONDS: '1',
      UPSTREAM_ALLOW_PRIVATE: 'true',
      TASK_PLUGIN_PROTOCOL_KEY_CONCURRENCY: '10',
      TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '10',
    },
  });
  admin = await setUp(gateway);
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all(vendors.map((vendor) => vendor.stop(true)));
});

/** A vendor whose jobs succeed, unless the prompt asks for the failure. */
function startMaker({ plugin, job, made, failed }: Maker): string {
  let fails = false;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, { url }) {
      if (request.url.endsWith('/result.png')) return new Response('PNG', { headers: { 'content-type': 'image/png' } });
      if (request.method === 'GET') return Response.json(fails ? failed : made(`${url.origin}/result.png`));
      const order = await request.text();
      ordered.set(plugin, order);
      fails = order.includes('[fail]');
      if (typeof job !== 'function') return Response.json(job);
      return Response.json(fails ? failed : job(`${url.origin}/result.png`));
    },
  });
  vendors.push(server);
  return server.url.origin;
}

test.concurrent.each(makers.map((maker) => [maker.plugin, maker] as const))(
  '%s makes images, billed when they are made',
  async (plugin, maker) => {
    const mine = `my-${plugin}`;
    await admin.createChannel(startMaker(maker), {
      ...{ name: mine, task_plugin_key: plugin, models: [mine], model_mapping: { [mine]: maker.model } },
    });
    await admin.call('PUT', '/api/price', { plugin_key: plugin, model: mine, expression: maker.price });
    const make = (prompt: string) =>
      ask(`${gateway.url}/v1/images/generations`, {
        token: key,
        body: { model: mine, prompt, size: maker.size ?? '1024x1024', response_format: 'b64_json' },
      });
    const readBill = async (id: unknown) => {
      const { ledger } = await admin.call<{ ledger: { amount: number }[] }>('GET', `/api/task/${id}`);
      return -ledger.reduce((sum, { amount }) => sum + amount, 0) || 0;
    };
    const { status, body } = await make('a cat');
    expect([status, body.data]).toEqual([200, [{ b64_json: btoa('PNG') }]]);
    expect(await readBill(body.id)).toBe(maker.bill);
    if (maker.edits) {
      const form = new FormData();
      for (const [name, value] of Object.entries({ model: mine, prompt: 'in snow', size: maker.size ?? '1024x1024' })) {
        form.append(name, value);
      }
      form.append('response_format', 'b64_json');
      form.append('image', new File(['a picture'], 'a.png', { type: 'image/png' }));
      const headers = { authorization: `Bearer ${key}` };
      const edited = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
      expect([edited.status, await edited.json()]).toEqual([
        200,
        expect.objectContaining({ data: [{ b64_json: btoa('PNG') }] }),
      ]);
      expect(ordered.get(plugin)).toContain(btoa('a picture'));
    }
    const refused = await make('[fail]');
    expect(refused.body).toMatchObject({ error: { message: maker.reason } });
    const failed = /task_\w{20,}/.exec(JSON.stringify(refused.body))?.[0];
    if (failed) expect(await readBill(failed)).toBe(0);
  },
);
