/** What people see of tasks that wait: their owners, administrators, and nobody else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { newTaskId, systemClock } from '../../../src/kernel/index.ts';
import { until } from '../../support/until.ts';
import { type Receiver, startReceiver } from '../../support/webhook-receiver.ts';
import { openPanel, type PanelCaller, type Send } from './panel-caller.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const vendor = createDemoVendor({ clock: systemClock, key: VENDOR_KEY });

let panel: PanelCaller;
let receiver: Receiver;
let stopVendor: () => Promise<void>;
const tokens: Record<'root' | 'anna' | 'carl', string> = { root: '', anna: '', carl: '' };
const keys: Record<'anna' | 'carl', string> = { anna: '', carl: '' };
let carlId: number;

type Who = keyof typeof tokens;
const as = (who: Who, path: string, request: Omit<Send, 'token'> = {}) =>
  panel.send(path, { ...request, token: tokens[who] });
const v1 = (path: string, request: Omit<Send, 'token'> = {}, who: keyof typeof keys = 'anna') =>
  panel.send(path, { ...request, token: keys[who] });
const body = { model: 'demo-video', prompt: 'a slow boat [duration=3600]', seconds: '5' };

/** The account runs one task, so all others wait. */
async function wait(who: keyof typeof keys, headers: Record<string, string> = {}): Promise<string> {
  const answer = await v1('/v1/tasks/demo', { body, headers }, who);
  expect([answer.status, answer.json]).toMatchObject([200, { status: 'queued', queue: { estimated_start_at: null } }]);
  return answer.json.id;
}

beforeAll(async () => {
  const listening = await vendor.start(0);
  stopVendor = () => listening.stop();
  receiver = await startReceiver();
  panel = await openPanel({ WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' });
  for (const name of ['anna', 'carl'] as const) {
    const id = panel.addUser(name, 1);
    panel.run(`update wallets set quota = 100000000 where user_id = ${id}`);
    if (name === 'carl') carlId = id;
  }
  for (const name of Object.keys(tokens) as Who[]) tokens[name] = (await panel.logIn(name)).token;
  const channel = {
    ...{ name: 'demo', type: 61, key: VENDOR_KEY, base_url: listening.url, models: ['demo-video'] },
    ...{ task_plugin_key: 'demo', limits: { max_running: 1 } },
  };
  expect((await as('root', '/api/channel', { body: channel })).status).toBe(200);
  const price = { plugin_key: '*', model: 'demo-video', expression: '0.01' };
  expect((await as('root', '/api/price', { method: 'PUT', body: price })).status).toBe(200);
  for (const who of ['anna', 'carl'] as const)
    keys[who] = (await as(who, '/api/token', { body: { name: 'k', unlimited_quota: true } })).json.data.key;
  const first = await v1('/v1/tasks/demo', { body });
  expect([first.status, first.json.queue]).toEqual([200, undefined]);
});
afterAll(async () => {
  await panel.gateway.stop();
  await stopVendor();
  await receiver.stop();
});

describe('a waiting task', () => {
  test('is queued with its place on every object, and says when to look again', async () => {
    const first = await wait('anna');
    const second = await wait('anna');
    const queue = {
      ...{ position: 2, waiting_since: expect.any(Number), waits_for: 'capacity', estimated_start_at: null },
    };
    for (const [path, status] of [
      [`/v1/tasks/${second}`, 'QUEUED'],
      [`/v1/tasks/${second}?wait=1`, 'QUEUED'],
      [`/v1/videos/${second}`, 'queued'],
      [`/v1/videos/${second}?wait=1`, 'queued'],
    ] as const) {
      const answer = await v1(path);
      expect([path, answer.status, answer.json]).toMatchObject([path, 200, { status, queue }]);
      expect([path, answer.headers.get('openai-poll-after-ms')]).toEqual([path, '5000']);
    }
    const { data } = (await v1('/v1/tasks?limit=2')).json;
    expect(data).toMatchObject([
      { id: second, queue },
      { id: first, queue: { ...queue, position: 1 } },
    ]);
    expect((await v1('/v1/videos?limit=1')).json.data).toMatchObject([{ id: second, queue }]);
    const listed = (await as('anna', '/api/task')).json.data.items;
    expect(listed).toMatchObject([{ id: second, status: 'QUEUED', queue }, { id: first }, {}]);
    expect(listed[2].queue).toBeUndefined();
    expect((await as('anna', `/api/task/${second}`)).json.data.queue).toEqual({ ...queue, channels: [] });
    const shown = (await as('root', `/api/task/${second}`)).json.data;
    expect(shown.queue.channels).toEqual([{ id: expect.any(Number), name: 'demo' }]);
  });

  test('is followed by any number of clients, since they do not count', async () => {
    const id = await wait('anna');
    const streams = await Promise.all(
      Array.from({ length: 6 }, () =>
        fetch(`${panel.gateway.url}/v1/tasks/${id}/events`, { headers: { authorization: `Bearer ${keys.anna}` } }),
      ),
    );
    const waits = await Promise.all(Array.from({ length: 6 }, () => v1(`/v1/tasks/${id}?wait=1`)));
    expect([...streams, ...waits].map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    const [stream, ...others] = streams;
    const reader = stream?.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"queue":{"position":3');
    for (const each of others) await each.body?.cancel();
    await reader?.cancel();
  });

  test('is told of once by a webhook, before all others', async () => {
    const key = (await as('anna', '/api/token', { body: { name: 'hooked', unlimited_quota: true } })).json.data;
    expect((await as('anna', `/api/token/${key.id}/webhook-secret`, { method: 'POST' })).status).toBe(200);
    const headers = { 'x-callback-url': receiver.url };
    const { json } = await panel.send('/v1/tasks/demo', { token: key.key, body, headers });
    const notices = () => receiver.received.filter(({ payload }) => payload.data.id === json.id);
    await until('the task is told of', async () => notices().length > 0);
    expect((await as('anna', `/api/queue/${json.id}/cancel`, { method: 'POST' })).status).toBe(200);
    await until('its end is told of', async () => notices().length > 1);
    expect(notices().map(({ payload }) => [payload.type, payload.data.status])).toEqual([
      ['task.queued', 'QUEUED'],
      ['task.finished', 'FAILURE'],
    ]);
  });
});

describe('the queue', () => {
  test('shows users their own, and administrators all with whose they are and what they wait for', async () => {
    const id = await wait('carl');
    const own = (await as('carl', '/api/queue')).json.data;
    expect(own).toMatchObject({ total: 1, classes: [], items: [{ id, input: body.prompt, api_key_name: 'k' }] });
    expect(Object.keys(own.items[0])).not.toContain('username');
    expect(own.items[0]).toMatchObject({ reason: 'full', reason_until: null });
    const all = (await as('root', '/api/queue')).json.data;
    const channels = [{ name: 'demo' }];
    expect(all.items.at(-1)).toMatchObject({ id, username: 'carl', group: 'default', channels, reason: 'full' });
    expect(all.classes).toMatchObject([
      { model: 'demo-video', platform: 'demo', running: 1, limit: 1, channels, reason: 'full', reason_until: null },
    ]);
    const of = async (query: string) => (await as('root', `/api/queue?${query}`)).json.data.total;
    expect([await of(`user_id=${carlId}`), await of('model=demo-video'), await of('model=none')]).toEqual([
      1,
      all.total,
      0,
    ]);
    // A user's filter shows nothing of others.
    expect((await as('anna', `/api/queue?user_id=${carlId}`)).json.data.total).toBe(all.total - 1);
    expect((await panel.send('/api/queue')).status).toBe(401);
  });

  test('is put in another order by administrators alone, who leave a trace', async () => {
    const id = await wait('anna');
    expect((await as('anna', `/api/queue/${id}/front`, { method: 'POST' })).status).toBe(403);
    expect((await as('root', `/api/queue/${id}/front`, { method: 'POST' })).status).toBe(200);
    const detail = { plugin_key: 'demo', model: expect.any(String), user_id: expect.any(Number) };
    expect(await panel.audit('task.move_to_front')).toMatchObject([{ target: `task:${id}`, username: 'root', detail }]);
    await until('it is the first', async () => (await v1(`/v1/tasks/${id}`)).json.queue.position === 1);
    const gone = await as('root', `/api/queue/${newTaskId(1)}/front`, { method: 'POST' });
    expect([gone.status, gone.json.code]).toEqual([409, 'TASK_NOT_WAITING']);
  });

  test('another user’s task cannot be cancelled by guessing its id; an administrator cancels any', async () => {
    const id = await wait('carl');
    expect((await as('anna', `/api/queue/${id}/cancel`, { method: 'POST' })).status).toBe(404);
    expect((await as('root', `/api/queue/${id}/cancel`, { method: 'POST' })).status).toBe(200);
    expect((await v1(`/v1/tasks/${id}`, {}, 'carl')).json).toMatchObject({ status: 'FAILURE' });
    expect((await panel.audit('task.cancel')).map(({ target }) => target)).toContain(`task:${id}`);
  });

  test('that is full answers 429 with Retry-After in every envelope', async () => {
    const options = [{ key: 'queue.max_waiting_per_user', value: '1' }];
    for (const option of options)
      expect((await as('root', '/api/option', { method: 'PUT', body: option })).status).toBe(200);
    const refused = [
      await v1('/v1/tasks/demo', { body }),
      await v1('/v1/videos', { body }),
      await as('anna', '/api/task', { body: { plugin_key: 'demo', body } }),
    ];
    for (const answer of refused) {
      const code = answer.json.error?.code ?? answer.json.code;
      expect([answer.status, code.toLowerCase(), Number(answer.headers.get('retry-after')) > 0]).toEqual([
        429,
        'queue_full',
        true,
      ]);
    }
  });
});
