/**
 * An official plugin's life on a gateway that ships the same one under an older key: listed with
 * what it needs, read with its changelog, installed, moved to, priced by profile, used, upgraded,
 * rolled back and moved away from.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { pluginSource } from '../plugins/support.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { type MarketServer, sha256, startMarket } from '../support/market-server.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Data = any;

const ROOM = '/api/plugin/task/marketplace';
const MODEL = 'qwen-image-x';
const meta = {
  ...{ key: 'alibaba', name: 'Alibaba', channelTypes: [17], models: [MODEL, 'wan-x'] },
  protocols: [{ name: 'openai_image', models: [MODEL] }],
  usageSchema: { seconds: { type: 'number', unit: 'second' } },
  usageProfiles: [
    { models: [MODEL], schema: { images: { type: 'number', unit: 'count', unitLabel: { en: 'image' } } } },
  ],
};
const source = (version: string, more: object = {}): string =>
  pluginSource(
    { ...meta, version, ...more },
    `export const protocols = { openai_image: {
       decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: { n: body.value.n || 1, by: '${version}' } }),
       render: (ctx, task) => ({ data: task.data.images.map((url) => ({ url })), by: task.data.by }),
     } };
     export const extractUsage = (ctx) => ({ images: ctx.requestBody.n });
     export const extractUsageOnComplete = (ctx, result, data) => ({ images: data.images.length });`,
  ).replace(
    'return { taskId: response.body.id };',
    "return { taskId: response.body.id, taskData: response.body, immediate: { status: 'SUCCESS' } };",
  );
const changelog = (version: string, migration: string) =>
  `---\nchangelogVersion: 1\nplugin: alibaba\nversion: ${version}\nlocale: en\n---\n# Changes\n\n## [${version}]\n\n### Added\n\n- A thing\n\n### Migration\n\n- ${migration}\n`;

let market: MarketServer;
let gateway: Gateway;
let admin: Administrator;
let key: string;
/** The vendor makes one picture less than was ordered. */
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { n, by } = (await request.json()) as { n: number; by: string };
    const images = Array.from({ length: Math.max(1, n - 1) }, (_, at) => `https://cdn.example/${at}.png`);
    return Response.json({ id: `job-${crypto.randomUUID()}`, images, by });
  },
});

function publish(versions: readonly [version: string, more?: object][]): void {
  for (const [version, more] of versions) {
    market.files.set(`/alibaba/${version}/plugin.js`, source(version, more));
    market.files.set(`/alibaba/${version}/CHANGELOG.md`, changelog(version, `Prices of ${version} count images.`));
  }
  const entry = {
    ...{ key: 'alibaba', name: 'Alibaba', latest: versions.at(-1)?.[0], channelTypes: [17], models: meta.models },
    iconFile: { path: 'alibaba/icon.svg' },
    ...{ usageProfiles: meta.usageProfiles, protocols: meta.protocols, usageSchema: meta.usageSchema },
    versions: versions.map(([version, more]) => ({
      ...{ version, kind: 'task', minApiVersion: 1, path: `alibaba/${version}/plugin.js` },
      ...{ sha256: sha256(source(version, more)), auth: 'api_key', allowedHosts: [] },
    })),
  };
  market.files.set('/index.json', JSON.stringify({ indexVersion: 1, name: 'Official', plugins: [entry] }));
}

beforeAll(async () => {
  market = startMarket();
  gateway = await startGateway({ env: { UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  key = await admin.createKey();
  await admin.call('PUT', `${ROOM}/sources`, [{ name: 'official', index_url: `${market.url}/index.json` }]);
  await admin.createChannel(vendor.url.origin, {
    ...{ name: 'legacy', type: 17, task_plugin_key: undefined, models: [MODEL, 'wan2.2-t2v-plus'] },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await market?.stop();
  await vendor.stop(true);
});

const listed = async (): Promise<Data> => (await admin.call<Data>('GET', `${ROOM}?refresh=true`))[0].plugins[0];
const serving = async (): Promise<string[]> =>
  (await admin.call<Data>('GET', '/api/plugin/task'))
    .filter((plugin: Data) => ['ali', 'alibaba'].includes(plugin.key) && plugin.runtime_status === 'registered')
    .map((plugin: Data) => `${plugin.key}@${plugin.version}`);
async function order(n: number): Promise<[images: number, by: string, charged: number]> {
  const { status, body } = await ask(`${gateway.url}/v1/images/generations`, {
    token: key,
    body: { model: MODEL, prompt: 'x', n },
  });
  expect([status, body.error]).toEqual([200, undefined]);
  return [(body.data as object[]).length, String(body.by), (body.cost as { charged: number }).charged];
}
const install = (version: string, more: object = {}): Promise<Data> =>
  admin.call('POST', `${ROOM}/install`, { source: 'official', key: 'alibaba', version, ...more });
const move = async (from: string, to: string): Promise<Data> => {
  const path = `/api/plugin/task/${from}/move`;
  const { digest } = await admin.call<Data>('GET', `${path}?to=${to}`);
  return admin.call('POST', path, { to, digest });
};

test('from the list to the last roll-back', async () => {
  publish([['1.0.0'], ['1.9.0', { requiredCapabilities: ['telepathy@1'] }]]);
  // What the list could not check in time it knows later.
  const offer = await until('the newest version is known as one that is not taken', async () => {
    const plugin = await listed();
    return plugin.offered === '1.0.0' ? plugin : undefined;
  });
  expect([offer.offered, offer.latest, offer.replaces, offer.state]).toEqual([
    '1.0.0',
    '1.9.0',
    'ali',
    'not_installed',
  ]);
  expect(offer.versions.map(({ version, taken, needs }: Data) => [version, taken, needs])).toEqual([
    ['1.9.0', false, [{ code: 'capability', name: 'telepathy@1' }]],
    ['1.0.0', true, []],
  ]);
  const read = await admin.call<Data>('GET', `${ROOM}/source?source=official&key=alibaba&version=1.0.0`);
  expect(read.changelog.en).toEqual([
    { name: 'Migration', items: ['Prices of 1.0.0 count images.'] },
    { name: 'Added', items: ['A thing'] },
  ]);

  // Its types are those of the one that ships: it is stored, and takes its place by a move.
  const { status, body } = await ask(`${gateway.url}${ROOM}/install`, {
    token: admin.token,
    body: { source: 'official', key: 'alibaba', version: '1.0.0' },
  });
  expect([status, body.code]).toEqual([409, 'PLUGIN_CONFLICT']);
  expect((await install('1.0.0', { force: true })).outcome).toBe('not_registered');
  expect(await serving()).toHaveLength(1);
  const moved = await move('ali', 'alibaba');
  expect(moved.channels).toMatchObject([{ name: 'legacy', lost: ['wan2.2-t2v-plus'] }]);
  expect(await serving()).toEqual(['alibaba@1.0.0']);

  const price = (expression: string) =>
    ask(`${gateway.url}/api/price`, {
      ...{ method: 'PUT', token: admin.token, body: { plugin_key: 'alibaba', model: MODEL, expression } },
    });
  expect((await price('0.01 * u("seconds")')).status).toBe(400);
  expect((await price('0.01 * u("images")')).status).toBe(200);
  expect(await order(3)).toEqual([2, '1.0.0', 0.02]);

  publish([['1.0.0'], ['1.1.0']]);
  expect((await listed()).state).toBe('upgradable');
  const upgrade = await install('1.1.0');
  expect([upgrade.outcome, upgrade.preview.changelog.en[0]]).toEqual([
    'waits_for_activation',
    { name: 'Migration', items: ['Prices of 1.1.0 count images.'] },
  ]);
  const activate = (version: string, more: object = {}) =>
    admin.call('POST', '/api/plugin/task/alibaba/activate', { version, ...more });
  await activate('1.1.0', { preview_digest: upgrade.preview.digest });
  expect(await order(2)).toEqual([1, '1.1.0', 0.01]);
  const history = await admin.call<Data>('GET', '/api/plugin/task/alibaba/versions');
  expect(history.map(({ version, changelog: told }: Data) => [version, told.en[0].name])).toEqual([
    ['1.1.0', 'Migration'],
    ['1.0.0', 'Migration'],
  ]);

  await activate('1.0.0');
  expect(await order(4)).toEqual([3, '1.0.0', 0.03]);
  await move('alibaba', 'ali');
  expect((await serving()).map((name) => name.split('@')[0])).toEqual(['ali']);
});
