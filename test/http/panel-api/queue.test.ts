/** What waits, over HTTP: to its owners, to administrators and to nobody else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newTaskId } from '../../../src/kernel/index.ts';
import { openPanel, type PanelCaller, type Send } from './panel-caller.ts';

let panel: PanelCaller;
const tokens: Record<'root' | 'anna' | 'carl', string> = { root: '', anna: '', carl: '' };
const ids: Record<'anna' | 'carl', number> = { anna: 0, carl: 0 };
let key: string;

type Who = keyof typeof tokens;
const as = (who: Who, path: string, request: Omit<Send, 'token'> = {}) =>
  panel.send(path, { ...request, token: tokens[who] });
const v1 = (path: string, request: Omit<Send, 'token'> = {}) => panel.send(path, { ...request, token: key });

/** A task that waits for a channel that is off. */
function wait(who: keyof typeof ids, turn: number): string {
  const taskId = newTaskId(Date.now());
  const now = Math.floor(Date.now() / 1000);
  const json = (value: object) => `'${JSON.stringify(value)}'`;
  panel.run(`insert into tasks (task_id, platform, user_id, wallet_id, "group", channel_id, action, status, progress, created_at,
      updated_at, quota, properties, execution, billing, phase, waiting_since)
    values ('${taskId}', 'demo', ${ids[who]}, (select id from wallets where user_id = ${ids[who]}), 'default', 0, 'text_to_video',
      'NOT_START', '0%', ${now}, ${now}, 0,
      ${json({ input: `a cat of ${who}`, originModelName: 'demo-video', upstreamModelName: 'demo-video' })},
      ${json({ requestId: 'r', pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' })},
      ${json({ expression: null, priceKey: null, facts: {}, groupRatio: 1, usd: 0, model: 'demo-video', action: '' })},
      'waiting', ${now})`);
  panel.run(`insert into waiting (task_id, class, priority, turn, user_id, since, deadline, due_at, request)
    values ('${taskId}', 'c', 0, ${turn}, ${ids[who]}, ${now * 1000}, ${now * 1000 + 3_600_000}, ${now * 1000 + 3_600_000}, '{}')`);
  panel.run(`insert into waiting_classes (class, priority, plugin, model, "group", waiting) values ('c', 0, 'demo', 'demo-video', 'default', 1)
    on conflict (class, priority) do update set waiting = waiting + 1`);
  return taskId;
}

beforeAll(async () => {
  panel = await openPanel();
  for (const name of ['anna', 'carl'] as const) ids[name] = panel.addUser(name, 1);
  for (const name of Object.keys(tokens) as Who[]) tokens[name] = (await panel.logIn(name)).token;
  const channel = { name: 'demo', type: 61, key: 'vendor-key-0123456789', models: ['demo-video'], status: 2 };
  expect((await as('root', '/api/channel', { body: { ...channel, task_plugin_key: 'demo' } })).status).toBe(200);
  key = (await as('anna', '/api/token', { body: { name: 'k', unlimited_quota: true } })).json.data.key;
}, 60_000);
afterAll(() => panel.gateway.stop());

describe('a waiting task', () => {
  test('is queued with its place on every object, and says when to look again', async () => {
    const first = wait('anna', 1);
    const second = wait('anna', 2);
    const queue = { position: 2, waiting_since: expect.any(Number), estimated_start_at: null };
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
    expect(listed).toMatchObject([{ id: second, status: 'QUEUED', queue }, { id: first }]);
    expect((await as('anna', `/api/task/${second}`)).json.data.queue).toEqual({ ...queue, channels: [] });
  });

  test('is followed by any number of clients, since they do not count', async () => {
    const id = wait('anna', 3);
    const streams = await Promise.all(
      Array.from({ length: 6 }, () =>
        fetch(`${panel.gateway.url}/v1/tasks/${id}/events`, { headers: { authorization: `Bearer ${key}` } }),
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
});

describe('the queue', () => {
  test('shows users their own, and administrators all with whose they are and what they wait for', async () => {
    const id = wait('carl', 0);
    const own = (await as('carl', '/api/queue')).json.data;
    expect(own).toMatchObject({ total: 1, classes: [], items: [{ id, position: 1, input: 'a cat of carl' }] });
    expect(Object.keys(own.items[0])).not.toContain('username');
    const all = (await as('root', '/api/queue')).json.data;
    expect(all.items.at(-1)).toMatchObject({
      id,
      username: 'carl',
      group: 'default',
      channels: [],
      reason: 'no_channel',
    });
    expect(all.classes).toMatchObject([
      { model: 'demo-video', platform: 'demo', waiting: expect.any(Number), running: 0 },
    ]);
    const of = async (query: string) => (await as('root', `/api/queue?${query}`)).json.data.total;
    expect([await of(`user_id=${ids.carl}`), await of('model=demo-video'), await of('model=none')]).toEqual([
      1,
      all.total,
      0,
    ]);
    // A user's filter shows nothing of others.
    expect((await as('anna', `/api/queue?user_id=${ids.carl}`)).json.data.total).toBe(all.total - 1);
    expect((await panel.send('/api/queue')).status).toBe(401);
  });

  test('is put in another order by administrators alone, who leave a trace', async () => {
    const id = wait('carl', 900);
    expect((await as('carl', `/api/queue/${id}/front`, { method: 'POST' })).status).toBe(403);
    expect((await as('root', `/api/queue/${id}/front`, { method: 'POST' })).status).toBe(200);
    expect(await panel.audit('task.move_to_front')).toMatchObject([{ target: `task:${id}`, username: 'root' }]);
    const gone = await as('root', `/api/queue/${newTaskId(1)}/front`, { method: 'POST' });
    expect([gone.status, gone.json.code]).toEqual([409, 'TASK_NOT_WAITING']);
  });

  test('another user’s task cannot be cancelled by guessing its id', async () => {
    const id = wait('carl', 901);
    expect((await as('anna', `/api/queue/${id}/cancel`, { method: 'POST' })).status).toBe(404);
  });
});
