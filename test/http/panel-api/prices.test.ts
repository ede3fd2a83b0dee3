/**
 * Prices over HTTP: quotes, problems of prices, models without a price, and bills that only their
 * owner may read.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const PRICE = '0.02 * u("seconds")';

let panel: PanelCaller;
let vendor: { url: string; stop(): Promise<void> };
const tokens = { root: '', user: '', other: '' };
const keys = { user: '', other: '' };

beforeAll(async () => {
  vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY }).start(0);
  panel = await openPanel();
  tokens.root = (await panel.logIn('root')).token;
  for (const name of ['user', 'other'] as const) {
    panel.addUser(name, 1);
    tokens[name] = (await panel.logIn(name)).token;
    keys[name] = (
      await panel.send('/api/token', { token: tokens[name], body: { name, unlimited_quota: true } })
    ).json.data.key;
  }
  await put('/api/option', { key: 'groups', value: JSON.stringify({ vip: 0.5 }) });
  await put('/api/price', { plugin_key: 'demo', model: 'demo-video', expression: PRICE });
  const channel = { name: 'demo', type: 61, task_plugin_key: 'demo', key: VENDOR_KEY, base_url: vendor.url };
  const models = ['demo-video', 'cheap', 'dear'];
  const mapping = { model_mapping: { cheap: 'demo-video', dear: 'demo-video-pro' } };
  const made = await panel.send('/api/channel', { token: tokens.root, body: { ...channel, models, ...mapping } });
  if (made.status !== 200) throw new Error(made.text);
});
afterAll(async () => {
  await panel.gateway.stop();
  await vendor.stop();
});

async function put(path: string, body: unknown) {
  const answer = await panel.send(path, { method: 'PUT', token: tokens.root, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.data;
}
const quote = (token: string, body: unknown) => panel.send('/api/price/quote', { token, body });
const demo = { plugin_key: 'demo', model: 'demo-video' };

describe('a quote', () => {
  test('computes the price from facts, with its steps', async () => {
    const { status, json } = await quote(tokens.user, { ...demo, facts: { seconds: 5 } });
    expect([status, json.data]).toEqual([
      200,
      {
        usd: 0.1,
        quota: 50_000,
        group_ratio: 1,
        expression: PRICE,
        facts: { seconds: 5 },
        steps: ['0.02 * 5 = 0.1 USD', 'round(0.1 * 500000 * 1) = 50000'],
      },
    ]);
  });

  test('of another group is for administrators', async () => {
    const body = { ...demo, facts: { seconds: 5 }, group: 'vip' };
    expect((await quote(tokens.user, body)).json.code).toBe('AUTH_INSUFFICIENT_PRIVILEGE');
    expect((await quote(tokens.root, body)).json.data).toMatchObject({ quota: 25_000, group_ratio: 0.5 });
    expect((await quote(tokens.user, { ...body, group: 'default' })).status).toBe(200);
  });

  test('of an unsaved expression is for root, and saves nothing', async () => {
    const body = { ...demo, facts: { seconds: 5 }, expression: '1 + u("seconds")' };
    expect((await quote(tokens.user, body)).json.code).toBe('AUTH_INSUFFICIENT_PRIVILEGE');
    expect((await quote(tokens.root, body)).json.data).toMatchObject({ usd: 6, expression: '1 + u("seconds")' });
    expect((await quote(tokens.root, { ...body, model: 'no-such-model' })).json.data.usd).toBe(6);
    const wrong = await quote(tokens.root, { ...body, expression: 'process.exit()' });
    expect([wrong.status, wrong.json.code, wrong.json.details?.field]).toEqual([
      400,
      'BILLING_PRICE_INVALID',
      'expression',
    ]);
    const both = await quote(tokens.root, { ...demo, request: {}, expression: '1' });
    expect([both.status, both.json.details?.field]).toEqual([400, 'expression']);
    expect((await quote(tokens.root, { ...demo, facts: { seconds: 5 } })).json.data.usd).toBe(0.1);
  });

  test('computes the price from a request as the plugin reads it, aliases included, without vendor or charge', async () => {
    const before = (await panel.send('/api/user/self', { token: tokens.user })).json.data.quota;
    for (const model of ['demo-video', 'cheap']) {
      const request = { prompt: 'a cat', seconds: 7 };
      const { json } = await quote(tokens.user, { plugin_key: 'demo', model, request });
      expect(json.data).toMatchObject({ usd: 0.14, quota: 70_000, facts: { seconds: 7 } });
    }
    expect((await panel.send('/api/user/self', { token: tokens.user })).json.data.quota).toBe(before);
    expect((await panel.send('/api/task', { token: tokens.user })).json.data.total).toBe(0);
    const { jobs } = (await (await fetch(`${vendor.url}/stats`)).json()) as { jobs: number };
    expect(jobs).toBe(0);
  });

  const refused: [name: string, body: Record<string, unknown>, status: number, code: string, words: string][] = [
    [
      'a missing fact names the declared ones',
      { ...demo, facts: {} },
      400,
      'BILLING_MODEL_PRICE_ERROR',
      'The plugin declares: seconds, resolution.',
    ],
    [
      'a model without a price',
      { plugin_key: 'demo', model: 'demo-video-pro', facts: {} },
      400,
      'BILLING_MODEL_PRICE_ERROR',
      'has no price',
    ],
    ['what the plugin would refuse', { ...demo, request: { seconds: 7 } }, 400, 'PLUGIN_REQUEST_INVALID', 'prompt'],
    ['a quantity out of range', { ...demo, request: { prompt: 'a', n: 1e6 } }, 400, 'PLUGIN_USAGE_INVALID', '"n"'],
    [
      'a model that no channel has',
      { plugin_key: 'demo', model: 'demo-video-pro', request: { prompt: 'a' } },
      503,
      'NO_AVAILABLE_CHANNEL',
      'demo-video-pro',
    ],
    [
      'a model that nobody knows',
      { plugin_key: 'demo', model: 'nobody-1', request: { prompt: 'a' } },
      404,
      'MODEL_NOT_FOUND',
      'nobody-1',
    ],
    ['a plugin that is not there', { plugin_key: 'none', model: 'm', request: {} }, 400, 'PLUGIN_NOT_FOUND', 'none'],
    ['a request without its plugin', { model: 'demo-video', request: {} }, 400, 'VALIDATION_FAILED', 'plugin_key'],
    ['facts and a request', { ...demo, facts: {}, request: {} }, 400, 'VALIDATION_FAILED', 'facts'],
  ];
  test.each(refused)('is refused for %s', async (_name, body, status, code, words) => {
    const answer = await quote(tokens.user, body);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(answer.json.message).toContain(words);
    expect(answer.text).not.toContain(VENDOR_KEY);
  });
});

describe('prices', () => {
  const problems = async () => {
    const { items } = (await panel.send('/api/price?page_size=100', { token: tokens.root })).json.data;
    return Object.fromEntries(
      items.map((price: { plugin_key: string; model: string; problem: { code: string; facts?: string[] } | null }) => [
        `${price.plugin_key}/${price.model}`,
        price.problem && [price.problem.code, ...(price.problem.facts ?? [])],
      ]),
    );
  };

  test('report a missing plugin, model or fact; a channel’s alias counts as a model', async () => {
    await put('/api/price', { plugin_key: 'gone', model: 'm', expression: '1' });
    await put('/api/price', { plugin_key: 'demo', model: 'old-video', expression: '1' });
    await put('/api/price', { model: 'nobody-has-it', expression: '1' });
    await put('/api/price', { model: 'dear', expression: '0.1 * u("minutes")' });
    await put('/api/price', { model: 'cheap', expression: '0.1 * u("seconds")' });
    expect(await problems()).toEqual({
      '*/cheap': null,
      '*/dear': ['facts_gone', 'minutes'],
      '*/nobody-has-it': ['model_gone'],
      'demo/demo-video': null,
      'demo/old-video': ['model_gone'],
      'gone/m': ['plugin_gone'],
    });
    for (const [key, model] of [
      ['*', 'dear'],
      ['*', 'cheap'],
    ])
      await panel.send(`/api/price?plugin_key=${key}&model=${model}`, { method: 'DELETE', token: tokens.root });
  });

  test('models without a price are listed by plugin, and whether clients can request them', async () => {
    const { data } = (await panel.send('/api/price/missing', { token: tokens.root })).json;
    const mine = data.find((row: { plugin_key: string }) => row.plugin_key === 'demo');
    // `cheap` is priced by the vendor's name of the model.
    expect(mine.models).toContainEqual({ model: 'dear', offered: true });
    expect(mine.models).toContainEqual({ model: 'demo-video-pro', offered: false });
    expect(mine.models.map(({ model }: { model: string }) => model)).not.toContain('cheap');
    expect(mine.models.map(({ model }: { model: string }) => model)).not.toContain('demo-video');
    expect(data.length).toBeGreaterThan(5);
    expect((await panel.send('/api/price/missing', { token: tokens.user })).status).toBe(403);
  });
});

test('reading others’ bills: a bill is in its owner’s usage log and task only', async () => {
  panel.run(
    "update wallets set quota = 1000000 where user_id in (select id from users where username in ('user', 'other'))",
  );
  const submitted = await fetch(`http://127.0.0.1:${panel.gateway.port}/v1/tasks/demo`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.user}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'cheap', prompt: 'a cat [instant] [seconds=3]', seconds: 5 }),
  });
  const { task_id: id } = (await submitted.json()) as { task_id: string };
  const bill = {
    expression: PRICE,
    group: 'default',
    group_ratio: 1,
    quota_per_usd: 500_000,
    facts: { seconds: 5 },
    completion_facts: { seconds: 3 },
    usd: 0.06,
    reserved: 50_000,
    settled: 30_000,
    difference: -20_000,
    steps: ['0.02 * 3 = 0.06 USD', 'round(0.06 * 500000 * 1) = 30000'],
    summary: 'Reserved 50000 for 0.1 USD at group ratio 1; the result is worth 0.06 USD, 20000 was refunded.',
  };
  const own = await panel.send(`/api/task/${id}`, { token: tokens.user });
  expect(own.json.data.bill).toMatchObject(bill);
  const log = await panel.send('/api/log', { token: tokens.user });
  expect(log.json.data.items).toMatchObject([{ task_id: id, kind: 'settle', quota: 30_000, bill }]);
  // The price contains the vendor's name of the model.
  for (const text of [own.text, log.text]) expect(text).not.toContain('demo::demo-video');
  const all = await panel.send('/api/log', { token: tokens.root });
  expect(all.json.data.items).toMatchObject([{ task_id: id, price: 'demo::demo-video' }]);

  expect((await panel.send(`/api/task/${id}`, { token: tokens.other })).json.code).toBe('TASK_NOT_FOUND');
  expect((await panel.send('/api/log', { token: tokens.other })).json.data.total).toBe(0);
  expect((await panel.send('/api/log/token', { token: keys.other })).json.data).toEqual([]);
  expect((await panel.send('/api/log/token', { token: keys.user })).json.data).toMatchObject([{ task_id: id, bill }]);
});

test('flooding: quotes are counted per user', async () => {
  const { paths } = (await panel.send('/api/openapi.json', { token: tokens.root })).json;
  expect(paths['/api/price/quote'].post['x-limit-per-user']).toBe('quote');
});
