/**
 * Tasks of signed-in users without an API key: models, prices, submission, events and retry.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { playgroundRoutes } from '../../../src/http/panel-api/tasks/playground.ts';
import { AppError, systemClock } from '../../../src/kernel/index.ts';
import { until } from '../../support/until.ts';
import { call, openKit } from '../kit-harness.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

const VENDOR_KEY = 'vendor-key-0123456789';

let panel: PanelCaller;
let vendor: { url: string; stop(): Promise<void> };
/** How far the vendor's clock, which finishes its jobs, is ahead of ours. */
let vendorAheadMs = 0;
const tokens = { root: '', user: '', other: '' };
const ids = { user: 0, other: 0 };

beforeAll(async () => {
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + vendorAheadMs };
  vendor = await createDemoVendor({ clock, key: VENDOR_KEY, durationMs: 300 }).start(0);
  panel = await openPanel({ TASK_POLL_INTERVAL_SECONDS: '1' });
  tokens.root = (await panel.logIn('root')).token;
  for (const name of ['user', 'other'] as const) {
    ids[name] = panel.addUser(name, 1);
    tokens[name] = (await panel.logIn(name)).token;
  }
  const topUp = { action: 'add_quota', id: ids.user, mode: 'add', value: 1_000_000 };
  await must('/api/user/manage', { token: tokens.root, body: topUp });
  const price = { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' };
  await must('/api/price', { method: 'PUT', token: tokens.root, body: price });
  const channel = { type: 61, task_plugin_key: 'demo', key: VENDOR_KEY, base_url: vendor.url };
  const models = ['demo-video', 'demo-video-pro'];
  await must('/api/channel', { token: tokens.root, body: { ...channel, name: 'one', models } });
  await must('/api/channel', { token: tokens.root, body: { ...channel, name: 'two', models: ['demo-video'] } });
  await must('/api/channel', { token: tokens.root, body: { ...channel, name: 'vip', models, groups: ['vip'] } });
  await must('/api/channel', { token: tokens.root, body: { ...channel, name: 'off', models, status: 2 } });
});
afterAll(async () => {
  await panel.gateway.stop();
  await vendor.stop();
});

type Send = Parameters<PanelCaller['send']>[1];
async function must(path: string, request: Send) {
  const answer = await panel.send(path, request);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
  return answer.json.data;
}
const submit = (body: unknown, headers: Record<string, string> = {}, token = tokens.user) =>
  panel.send('/api/task', { token, body: { plugin_key: 'demo', body }, headers });
const finished = (id: string, token = tokens.user) =>
  until('the task has ended', async () => {
    const task = await must(`/api/task/${id}`, { token });
    return (task.status === 'SUCCESS' || task.status === 'FAILURE') && task;
  });
const order = { model: 'demo-video', prompt: 'a cat', seconds: 5, resolution: '480p' };

describe('the models that a user may use', () => {
  const models = async (token: string) => {
    const text = await panel.send('/api/model', { token });
    expect(text.status).toBe(200);
    return JSON.parse(text.text).data as Record<string, unknown>[];
  };

  test('come with API surfaces, a schema for a form, examples, price and channels', async () => {
    const [model, pro, ...rest] = await models(tokens.user);
    expect(rest).toEqual([]);
    expect(model).toMatchObject({
      plugin_key: 'demo',
      plugin_name: 'Demo vendor',
      plugin_description: { en: expect.any(String), zh: expect.any(String) },
      icon: 'text:DV',
      model: 'demo-video',
      surfaces: {
        generic: '/v1/tasks/demo',
        proto_video: '/v1/videos',
        proto_responses: { path: '/v1/responses', modes: ['stream', 'sync', 'background'] },
        native: [{ method: 'POST', path: '/demo/v1/videos' }],
      },
      price: {
        expression: null,
        priced: true,
        summary: { kind: 'amount', usd: 0.02, per: ['seconds'] },
      },
      channels: 2,
      blocked: null,
    });
    expect(model?.schema).toEqual({
      type: 'object',
      required: ['model'],
      properties: {
        model: { type: 'string', const: 'demo-video' },
        prompt: { type: 'string' },
        size: { type: 'string', pattern: '^[0-9]+x[0-9]+$' },
        seconds: {
          type: 'number',
          minimum: 1,
          maximum: 60,
          'x-range': 'plugin',
          'x-unit': 'second',
          'x-description': expect.any(Object),
        },
        resolution: {
          type: 'string',
          enum: ['480p', '720p', '1080p'],
          'x-enum-labels': expect.any(Object),
          'x-description': expect.any(Object),
        },
      },
    });
    expect(model?.examples).toHaveLength(2);
    expect(pro).toMatchObject({ model: 'demo-video-pro', price: { expression: null, priced: false }, channels: 1 });
  });

  test('name models blocked for lack of a price, which administrators may use', async () => {
    expect((await models(tokens.user))[1]?.blocked).toBe('no_price');
    expect((await models(tokens.root))[1]?.blocked).toBeNull();
  });
});

describe('a submission without an API key', () => {
  test('is quoted, billed to the user and finished, with an audit row', async () => {
    const body = { plugin_key: 'demo', body: order };
    const quote = await must('/api/task/quote', { token: tokens.user, body });
    expect(quote).toMatchObject({ refused: null, usd: 0.1, quota: 50_000, group_ratio: 1, facts: { seconds: 5 } });
    expect(quote.steps.length).toBeGreaterThan(0);
    const { balance } = quote;

    const answer = await submit(order);
    expect([answer.status, answer.json.data]).toMatchObject([
      200,
      { object: 'task', platform: 'demo', model: 'demo-video', quota: 50_000, input: 'a cat', retryable: false },
    ]);
    const task = await finished(answer.json.data.id);
    expect(task).toMatchObject({ status: 'SUCCESS', retryable: true, request: { model: 'demo-video', body: order } });
    const seen = await must(`/api/task/${task.id}`, { token: tokens.root });
    expect(seen).toMatchObject({ id: task.id, request: null, retryable: false });
    expect(task.artifacts).toHaveLength(1);
    expect((await must('/api/user/self', { token: tokens.user })).quota).toBe(balance - 50_000);
    const [row] = await panel.audit('task.submit');
    expect(row).toMatchObject({
      username: 'user',
      target: `task:${task.id}`,
      detail: { plugin_key: 'demo', model: 'demo-video', quota: 50_000 },
    });
  });

  test.each([
    [
      'a plugin’s own rule',
      { ...order, seconds: 61 },
      { code: 'PLUGIN_REQUEST_INVALID', reason: 'plugin', field: null },
    ],
    ['a model that nobody serves', { ...order, model: 'none' }, { code: 'MODEL_NOT_FOUND', field: 'model' }],
  ])('that %s refuses has no price but its reason, and is not a failed request', async (_what, body, refused) => {
    const quote = await must('/api/task/quote', { token: tokens.user, body: { plugin_key: 'demo', body } });
    expect(quote).toMatchObject({ refused: { message: expect.any(String), ...refused } });
    expect((await submit(body)).status).not.toBe(200);
  });

  test('with an Idempotency-Key a repeat buys nothing', async () => {
    const headers = { 'idempotency-key': 'playground-1' };
    const first = await submit(order, headers);
    const again = await submit(order, headers);
    expect(again.json.data.id).toBe(first.json.data.id);
    expect([first, again].map((answer) => answer.headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    const other = await submit({ ...order, seconds: 6 }, headers);
    expect([other.status, other.json.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test.each<[string, unknown, number, string]>([
    ['no body', { plugin_key: 'demo' }, 400, 'VALIDATION_FAILED'],
    ['a list as body', { plugin_key: 'demo', body: [] }, 400, 'VALIDATION_FAILED'],
    ['an unknown field', { plugin_key: 'demo', body: order, key: 'x' }, 400, 'VALIDATION_FAILED'],
    ['no model', { plugin_key: 'demo', body: { prompt: 'x' } }, 400, 'MODEL_REQUIRED'],
    ['no such plugin', { plugin_key: 'nobody', body: order }, 400, 'PLUGIN_NOT_FOUND'],
    ['a model that nobody serves', { plugin_key: 'demo', body: { ...order, model: 'x' } }, 404, 'MODEL_NOT_FOUND'],
    ['what the plugin refuses', { plugin_key: 'demo', body: { ...order, seconds: 99 } }, 400, 'PLUGIN_REQUEST_INVALID'],
    ['no price', { plugin_key: 'demo', body: { ...order, model: 'demo-video-pro' } }, 400, 'BILLING_MODEL_PRICE_ERROR'],
  ])('%s is refused', async (_name, body, status, code) => {
    const answer = await panel.send('/api/task', { token: tokens.user, body });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test('needs quota and a signed-in user', async () => {
    const poor = await submit(order, {}, tokens.other);
    expect([poor.status, poor.json.code]).toEqual([403, 'BILLING_INSUFFICIENT_QUOTA']);
    expect((await submit(order, {}, '')).status).toBe(401);
  });
});

describe('a retry', () => {
  test('an ended task becomes a new one with the same request; only its owner can do it', async () => {
    const first = await finished((await submit(order)).json.data.id);
    const retry = (token: string) => panel.send(`/api/task/${first.id}/retry`, { method: 'POST', token });
    for (const token of [tokens.other, tokens.root]) {
      const answer = await retry(token);
      expect([answer.status, answer.json.code]).toEqual([404, 'TASK_NOT_FOUND']);
    }
    const { id } = (await retry(tokens.user)).json.data;
    expect(id).not.toBe(first.id);
    const { request, quota } = first;
    expect(await finished(id)).toMatchObject({ status: 'SUCCESS', request, quota, repeats: first.id });
    expect(first.repeats).toBeNull();
  });

  test('an edited request says whose edit it is; only of a task of its own', async () => {
    const first = await finished((await submit(order)).json.data.id);
    const edit = (token: string) =>
      panel.send('/api/task', {
        token,
        body: { plugin_key: 'demo', body: { ...order, prompt: 'a dog' }, repeats: first.id },
      });
    expect((await edit(tokens.user)).json.data.repeats).toBe(first.id);
    const foreign = await edit(tokens.other);
    expect([foreign.status, foreign.json.code]).toEqual([404, 'TASK_NOT_FOUND']);
  });

  test('is refused while the task runs, and if its request was not kept', async () => {
    const { id } = (await submit({ ...order, prompt: 'a cat [duration=3600]' })).json.data;
    const running = await panel.send(`/api/task/${id}/retry`, { method: 'POST', token: tokens.user });
    expect([running.status, running.json.code]).toEqual([409, 'TASK_RUNNING']);
    vendorAheadMs += 3_600_000;
    await finished(id);
    panel.run(`update tasks set execution = json_remove(execution, '$.request') where task_id = '${id}'`);
    const lost = await panel.send(`/api/task/${id}/retry`, { method: 'POST', token: tokens.user });
    expect([lost.status, lost.json.code]).toEqual([409, 'REQUEST_NOT_KEPT']);
    expect((await must(`/api/task/${id}`, { token: tokens.user })).retryable).toBe(false);
  });
});

describe('the live view', () => {
  test('is open to the owner and administrators only', async () => {
    const { id } = (await submit(order)).json.data;
    const texts = await Promise.all(
      [tokens.user, tokens.root].map((token) => panel.send(`/api/task/${id}/events`, { token })),
    );
    for (const { status, text, headers } of texts) {
      expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
      expect(text).toContain('event: task.finished');
      expect(text).toContain(`"task_id":"${id}"`);
    }
    expect((await panel.send(`/api/task/${id}/events`, { token: tokens.other })).status).toBe(404);
    expect((await panel.send(`/api/task/${id}/events`)).status).toBe(401);
  });
});

describe('the figures of the home page', () => {
  test('are those of the user; of all users for administrators', async () => {
    const own = await until('nothing runs any more', async () => {
      const stats = await must('/api/stats?days=7', { token: tokens.user });
      return stats.totals.running === 0 && stats;
    });
    expect(own).toMatchObject({ scope: 'own', totals: { failed: 0, running: 0, success_rate: 1 } });
    const { succeeded, spend } = own.totals;
    expect(succeeded).toBeGreaterThan(2);
    expect(spend).toBe(1_000_000 - (await must('/api/user/self', { token: tokens.user })).quota);
    expect(own.by_day).toHaveLength(7);
    const days: { day: number; succeeded: number; spend: number }[] = own.by_day;
    // Midnight may have passed while these tests ran, or since the figures were read.
    const today = Math.floor(Date.now() / 86_400_000) * 86_400;
    expect([today, today - 86_400]).toContain(days.at(-1)?.day ?? 0);
    const latest = days.slice(-2);
    expect(latest.reduce((sum, day) => sum + day.succeeded, 0)).toBe(succeeded);
    expect(latest.reduce((sum, day) => sum + day.spend, 0)).toBe(spend);
    expect(own.by_status).toEqual([
      { status: 'SUCCESS', tasks: succeeded },
      { status: 'FAILURE', tasks: 0 },
    ]);
    const [model] = own.models;
    expect(model).toMatchObject({ plugin_key: 'demo', model: 'demo-video', succeeded, failed: 0 });
    expect(model.p95_seconds).toBeGreaterThan(0);
    expect(own.slowest).toEqual([model]);
    expect(own.failures).toEqual([]);

    const { totals } = await must('/api/stats', { token: tokens.other });
    expect(totals).toEqual({ succeeded: 0, failed: 0, spend: 0, running: 0, success_rate: null });
    expect((await must('/api/stats?scope=all', { token: tokens.root })).totals.succeeded).toBe(succeeded);
  });

  test.each([
    ['/api/stats?scope=all', 403],
    ['/api/task?channel_id=1', 403],
    ['/api/stats?days=0', 400],
    ['/api/stats?days=91', 400],
    ['/api/stats?weeks=1', 400],
  ])('%s is refused with %i', async (path, status) => {
    expect((await panel.send(path, { token: tokens.user })).status).toBe(status);
  });
});

test('submissions count towards the limit of model requests', async () => {
  const options = [
    { key: 'ModelRequestRateLimitEnabled', value: 'true' },
    { key: 'ModelRequestRateLimitCount', value: '1' },
  ];
  await must('/api/option', { method: 'PUT', token: tokens.root, body: { options } });
  const answers = await Promise.all([submit(order), submit(order), submit(order)]);
  expect(answers.map(({ status }) => status)).toContain(429);
});

// The last one: it keeps the figures of all users for a while.
test.each(['/api/model', '/api/model/catalog'])(
  '%s tells prices to all, and their expressions to administrators',
  async (path) => {
    const pricesFor = async (token: string) => {
      const data = await must(path, { token });
      const models = (data.items ?? data) as { model: string; price: Record<string, unknown> }[];
      return models.filter(({ model }) => model === 'demo-video').map(({ price }) => [price.priced, price.expression]);
    };
    expect(await pricesFor(tokens.user)).toEqual([[true, null]]);
    expect(await pricesFor(tokens.root)).toEqual([[true, '0.02 * u("seconds")']]);
  },
);

test('bought twice: a new task that cannot be described is no reason to order again', async () => {
  for (const replayed of [false, true]) {
    const task = { platform: 'demo', userId: 1, quota: 5, properties: { originModelName: 'demo-video' } };
    const order = async () => ({ ...task, taskId: 'task_1', replayed });
    const detail = async () => {
      throw new AppError('store.unavailable', 'unavailable', { message: 'Try again later.', retryAfterSeconds: 5 });
    };
    const deps = { tasks: { detail }, surfaces: { submitBody: order, retry: order }, audit: async () => {} };
    const app = openKit({ routes: (kit) => playgroundRoutes(kit, deps as never) as never });
    const headers = { authorization: 'Bearer user' };
    const body = { plugin_key: 'demo', body: { model: 'demo-video' } };
    for (const request of [{ path: '/api/task', body }, { path: '/api/task/task_0/retry' }]) {
      const answer = await call(app, { method: 'POST', headers, ...request });
      const advice = [answer.headers.get('x-should-retry'), answer.headers.get('retry-after')];
      expect([answer.status, ...advice]).toEqual(replayed ? [503, null, '5'] : [503, 'false', null]);
    }
  }
});
