/**
 * The lists of tasks of signed-in users: filters, orders, and who may see what.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
const tokens = { root: '', user: '' };
const ids = { root: 0, user: 0 };

beforeAll(async () => {
  panel = await openPanel();
  tokens.root = (await panel.logIn('root')).token;
  ids.root = (await panel.send('/api/user/self', { token: tokens.root })).json.data.id;
  ids.user = panel.addUser('user', 1);
  tokens.user = (await panel.logIn('user')).token;
  add('task_cheap', { quota: 5, api_key_id: 9 });
  add('task_blocked', { status: 'FAILURE', fail_reason: 'blocked', quota: 0, finish_time: 1010 });
  add('task_dear', { quota: 900, created_at: 2000, properties: propertiesFor('a Dog'), data: '{"vendor":"<said>"}' });
  add('task_of_root', { user_id: ids.root, finish_time: 1999 });
});
afterAll(() => panel.gateway.stop());

const propertiesFor = (input: string, model = 'demo-video') =>
  JSON.stringify({ input, originModelName: model, upstreamModelName: 'secret-name' });
const add = (id: string, change: Record<string, string | number>) => {
  const task = {
    ...{
      task_id: id,
      platform: 'demo',
      user_id: ids.user,
      '"group"': 'default',
      channel_id: 3,
      action: 'text_to_video',
    },
    ...{
      status: 'SUCCESS',
      progress: '100%',
      created_at: 1000,
      updated_at: 1000,
      submit_time: 1000,
      finish_time: 1060,
    },
    ...{
      quota: 100,
      properties: propertiesFor('a cat'),
      execution: JSON.stringify({ pluginKey: 'demo' }),
      billing: '{}',
    },
    ...change,
  };
  const values = Object.values(task).map((value) => `'${String(value).replaceAll("'", "''")}'`);
  panel.run(`insert into tasks (${Object.keys(task)}) values (${values})`);
};
const list = async (query: string, token = tokens.user) => {
  const { status, json } = await panel.send(`/api/task${query}`, { token });
  if (status !== 200) return status;
  const { items } = json.data as { items: { id: string }[] };
  return items.map(({ id }) => id.slice('task_'.length)).join(' ');
};

describe('the list', () => {
  test.each([
    ['', 'dear blocked cheap'],
    ['?sort=oldest', 'cheap blocked dear'],
    ['?sort=cost', 'dear cheap blocked'],
    ['?sort=duration&status=SUCCESS', 'dear cheap'],
    ['?status=FAILURE', 'blocked'],
    ['?fail_reason=blocked', 'blocked'],
    ['?model=demo-video&platform=demo', 'dear blocked cheap'],
    ['?model=demo', ''],
    ['?api_key_id=9', 'cheap'],
    ['?since=1500', 'dear'],
    ['?until=1500&page_size=1', 'blocked'],
    ['?until=1500&page_size=1&page=2', 'cheap'],
    ['?q=dog', 'dear'],
    ['?q=task_cheap', 'cheap'],
    ['?q=secret-name', ''],
    ['?q=&since=&model=', 'dear blocked cheap'],
    ['/feed?limit=2', 'dear blocked'],
    ['/feed?after=task_blocked', 'cheap'],
    ['/feed?order=asc&status=SUCCESS', 'cheap dear'],
  ])('%s of a user: %s', async (query, found) => {
    expect(await list(query)).toBe(found);
  });

  test.each([
    ['?scope=all', 'of_root dear blocked cheap'],
    ['?scope=all&sort=duration&page_size=1', 'of_root'],
    ['', 'of_root'],
  ])('%s of an administrator: %s', async (query, found) => {
    expect(await list(query, tokens.root)).toBe(found);
  });

  test.each(['scope=all', 'user_id=1', 'channel_id=3'])('an ordinary user may not ask for %s', async (query) => {
    for (const path of ['', '/feed', '/failures']) expect(await list(`${path}?${query}`)).toBe(403);
  });

  test.each(['?sort=name', '?since=x', '?user=1', '/feed?limit=101', '/feed?after=task_of_root', '/feed?page=2'])(
    '%s is refused',
    async (query) => expect(await list(query)).toBe(400),
  );

  test('an administrator sees whose each task is; a user sees neither that nor the channel', async () => {
    const path = '/api/task?q=task_dear';
    const [all, own] = await Promise.all([
      panel.send(`${path}&scope=all&user_id=${ids.user}`, { token: tokens.root }),
      panel.send(path, { token: tokens.user }),
    ]);
    expect(all.json.data).toMatchObject({ total: 1, has_more: false, searched: null });
    expect(all.json.data.items[0]).toMatchObject({ username: 'user', user_id: ids.user, channel_id: 3 });
    expect(Object.keys(own.json.data.items[0]).filter((name) => /user|channel|upstream/.test(name))).toEqual([]);
  });

  test('failures are counted by reason, for administrators also by channel', async () => {
    const { json } = await panel.send('/api/task/failures?since=1', { token: tokens.user });
    const blocked = { reason: 'blocked', reason_sentence: null, count: 1 };
    expect(json.data).toEqual([blocked]);
    const all = await panel.send('/api/task/failures?scope=all', { token: tokens.root });
    expect(all.json.data).toEqual([{ ...blocked, channels: [{ id: 3, name: null, count: 1 }] }]);
  });
});

describe('the answer of a vendor', () => {
  test('is for administrators, who leave a row in the audit log', async () => {
    const path = '/api/task/task_dear/answer';
    expect((await panel.send(path, { token: tokens.user })).status).toBe(403);
    const { json } = await panel.send(path, { token: tokens.root });
    expect(json.data).toEqual({ answer: '{\n  "vendor": "<said>"\n}', is_cut: false });
    const audit = await panel.send('/api/audit?action=task.answer', { token: tokens.root });
    expect(audit.json.data.items).toMatchObject([{ target: 'task:task_dear', username: 'root' }]);
    const none = await panel.send('/api/task/task_cheap/answer', { token: tokens.root });
    expect(none.json.data).toEqual({ answer: null, is_cut: false });
  });
});

describe('a deletion', () => {
  test('takes an ended task of the user from every list, and nobody else can do it', async () => {
    const remove = (token: string) => panel.send('/api/task/task_cheap', { method: 'DELETE', token });
    expect((await remove(tokens.root)).status).toBe(404);
    expect((await remove(tokens.user)).status).toBe(200);
    expect([await list(''), await list('/feed'), (await remove(tokens.user)).status]).toEqual([
      'dear blocked',
      'dear blocked',
      404,
    ]);
  });
});

describe('the latest results of models', () => {
  test("are a user's own, and for an administrator those of all users", async () => {
    add('task_pro', { properties: propertiesFor('a cow', 'demo-video-pro') });
    add('task_pro_failed', { status: 'FAILURE', properties: propertiesFor('a hen', 'demo-video-pro') });
    const read = async (token: string) => (await panel.send('/api/model/results', { token })).json.data;
    const result = { platform: 'demo', status: 'SUCCESS' };
    const pro = { id: 'task_pro', model: 'demo-video-pro', ...result };
    expect(await read(tokens.user)).toEqual([pro, { id: 'task_dear', model: 'demo-video', ...result }]);
    expect(await read(tokens.root)).toEqual([pro, { id: 'task_of_root', model: 'demo-video', ...result }]);
  });
});
