/**
 * The lists of administrators: plugins and groups for a channel, and the audit log by actor, action
 * and time.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
let root: string;

beforeAll(async () => {
  panel = await openPanel();
  root = (await panel.logIn('root')).token;
});
afterAll(() => panel.gateway.stop());

test('an administrator gets the choices for a channel, and nothing of plugin sources and options', async () => {
  panel.addUser('ada', 10);
  panel.addUser('ulf', 1);
  const groups = { key: 'groups', value: '{"default":1,"vip":0.8}' };
  await panel.send('/api/option', { method: 'PUT', token: root, body: groups });

  const { status, json, text } = await panel.send('/api/channel/choices', { token: (await panel.logIn('ada')).token });
  expect(status).toBe(200);
  const plugin = (key: string) => json.data.plugins.find((each: { key: string }) => each.key === key);
  expect(plugin('demo')).toMatchObject({
    name: 'Demo vendor',
    icon: 'text:DV',
    base_url: 'http://127.0.0.1:4010',
    models: ['demo-video', 'demo-video-pro'],
    credential: 'key',
    serves: true,
  });
  expect(json.data.groups).toEqual([
    { name: 'default', ratio: 1 },
    { name: 'vip', ratio: 0.8 },
  ]);
  expect(text).not.toMatch(/source|SMTP/);

  const user = await panel.send('/api/channel/choices', { token: (await panel.logIn('ulf')).token });
  expect([user.status, user.json.code]).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
});

test('the audit log is filtered by actor, action, target and time', async () => {
  const body = { name: 'demo', type: 61, key: 'vendor-key', models: ['demo-video'], task_plugin_key: 'demo' };
  const made = await panel.send('/api/channel', { token: root, body });
  const { id } = made.json.data;
  await panel.send(`/api/channel/${id}`, { method: 'PUT', token: root, body: { weight: 5 } });
  const [{ created_at: at } = { created_at: 0 }] = (await panel.send('/api/audit', { token: root })).json.data.items;

  const actions = async (query: string): Promise<string[]> => {
    const { json } = await panel.send(`/api/audit?${query}`, { token: root });
    return json.data.items.map(({ action }: { action: string }) => action);
  };
  const both = ['channel.update', 'channel.create'];
  expect(await actions('action=channel')).toEqual(both);
  expect(await actions('action=channel.create&user=ROO')).toEqual(['channel.create']);
  expect(await actions('action=channel&user=ada')).toEqual([]);
  expect(await actions(`target=channel:${id}&since=&until=`)).toEqual(both);
  expect(await actions(`action=channel&since=${Number(at) - 60}&until=${at}`)).toEqual(both);
  expect(await actions(`action=channel&since=${Number(at) + 60}`)).toEqual([]);

  await panel.send('/api/user/login', { body: { username: 'root', password: 'not the password' } });
  const signIns = await actions('action=auth.&page_size=100');
  expect(new Set(signIns)).toEqual(new Set(['auth.login', 'auth.login_failed']));
  // The whole name of an action finds none that begins with it.
  expect(new Set(await actions('action=auth.login&page_size=100'))).toEqual(new Set(['auth.login']));

  const wrong = await panel.send('/api/audit?since=yesterday', { token: root });
  expect([wrong.status, wrong.json.details.errors[0].field]).toEqual([400, 'since']);
});

test('names are found for filters, those of others by administrators only, and never with a key', async () => {
  const { json: self } = await panel.send('/api/user/self', { token: root });
  const ada = (await panel.logIn('ada')).token;
  const ulf = (await panel.logIn('ulf')).token;
  const make = async (token: string, name: string): Promise<{ id: number; key: string }> =>
    (await panel.send('/api/token', { token, body: { name, unlimited_quota: true } })).json.data;
  const farm = await make(ulf, 'Render farm');
  const own = await make(ada, 'Render room');
  const names = async (path: string, token = ada): Promise<unknown> => {
    const { status, json } = await panel.send(path, { token });
    return status === 200 ? json.data.map(({ name }: { name: string }) => name) : [status, json.code];
  };
  expect(await names('/api/token/names?keyword=render')).toEqual(['Render room']);
  expect(await names('/api/token/names?scope=all&keyword=RENDER&user_id=')).toEqual(['Render room', 'Render farm']);
  expect(await names('/api/token/names?scope=all&keyword=ulf')).toEqual(['Render farm']);
  const { json: users } = await panel.send('/api/user/names?keyword=ulf', { token: ada });
  expect(await names(`/api/token/names?user_id=${users.data[0].id}`)).toEqual(['Render farm']);
  expect(await names(`/api/token/names?id=${farm.id}`)).toEqual([]);
  const { text } = await panel.send(`/api/token/names?scope=all&id=${farm.id}`, { token: ada });
  expect(JSON.parse(text).data).toEqual([
    {
      ...{ id: farm.id, name: 'Render farm', user_id: users.data[0].id, username: 'ulf' },
      ...{ last_used_at: 0, last_used_ip: '' },
    },
  ]);
  expect(text).not.toContain(farm.key.slice(0, 8));
  expect(await names(`/api/user/names?id=${self.data.id}`)).toEqual(['root']);
  for (const path of [
    '/api/token/names?scope=all',
    '/api/token/names?user_id=1',
    '/api/user/names',
    '/api/channel/names',
  ])
    expect(await names(path, ulf)).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
  expect(await names(`/api/token/names?id=${own.id}`, ulf)).toEqual([]);

  const channel = { name: 'Kling agency', type: 61, key: 'k', models: ['demo-video'], task_plugin_key: 'demo' };
  const { id } = (await panel.send('/api/channel', { token: root, body: channel })).json.data;
  expect(await names('/api/channel/names?keyword=AGENCY')).toEqual(['Kling agency']);
  expect(await names(`/api/channel/names?id=${id}`)).toEqual(['Kling agency']);
  expect(await names('/api/channel/names?keyword=nothing')).toEqual([]);
  await panel.send(`/api/channel/${id}`, { method: 'DELETE', token: root });
});

test('views of the task list belong to an account, up to a limit', async () => {
  const [ada, ulf] = [(await panel.logIn('ada')).token, (await panel.logIn('ulf')).token];
  const save = async (token: string, body: object) => {
    const { status, json } = await panel.send('/api/user/self/views', { method: 'PUT', token, body });
    return status === 200 ? json.data : [status, json.code];
  };
  const list = async (token: string) => (await panel.send('/api/user/self/views', { token })).json.data;
  const view = await save(ulf, { name: ' Failed ', query: 'status=FAILURE' });
  expect(view).toEqual({ id: expect.any(Number), name: 'Failed', query: 'status=FAILURE' });
  expect(await save(ulf, { name: 'Failed', query: 'q=1' })).toEqual({ ...view, query: 'q=1' });
  expect([await list(ulf), await list(ada)]).toEqual([[{ ...view, query: 'q=1' }], []]);
  const remove = async (token: string) =>
    (await panel.send(`/api/user/self/views/${view.id}`, { method: 'DELETE', token })).status;
  expect([await remove(ada), await remove(ulf), await remove(ulf)]).toEqual([404, 200, 404]);
  for (const name of ['', ' ', 'x'.repeat(61), 'a\nb', 'a\u202eb'])
    expect((await save(ulf, { name, query: '' }))[0]).toBe(400);
  expect((await save(ulf, { name: 'long', query: 'x'.repeat(2001) }))[0]).toBe(400);
  for (let made = 0; made < 50; made += 1) await save(ulf, { name: `view ${made}`, query: '' });
  expect(await save(ulf, { name: 'one more', query: '' })).toEqual([409, 'AUTH_TASK_VIEW_LIMIT']);
  expect(await save(ulf, { name: 'view 7', query: 'q=2' })).toMatchObject({ query: 'q=2' });
  expect(await panel.audit('user.view.delete')).toMatchObject([
    { username: 'ulf', detail: { before: { name: 'Failed' } } },
  ]);
});

test('channels are found by name, model, group and address, and by their status', async () => {
  const channel = { type: 61, key: 'vendor-key', task_plugin_key: 'demo', models: ['demo-video'] };
  const make = (body: object) => panel.send('/api/channel', { token: root, body: { ...channel, ...body } });
  await make({ name: 'North', base_url: 'https://north.example.com' });
  await make({ name: 'South', models: ['demo-video-pro'], groups: ['vip'], status: 2 });
  const find = async (query: string): Promise<[total: number, names: string[]]> => {
    const { json } = await panel.send(`/api/channel?${query}`, { token: root });
    return [json.data.total, json.data.items.map(({ name }: { name: string }) => name)];
  };
  expect(await find('keyword=NORTH.example')).toEqual([1, ['North']]);
  expect(await find('keyword=video-pro')).toEqual([1, ['South']]);
  expect(await find('keyword=vip')).toEqual([1, ['South']]);
  expect(await find('keyword=th')).toEqual([2, ['North', 'South']]);
  expect(await find('status=2')).toEqual([1, ['South']]);
  expect(await find('keyword=th&status=1')).toEqual([1, ['North']]);
  expect(await find('keyword=th&page=2&page_size=1')).toEqual([2, ['South']]);
  expect(await find('keyword=west')).toEqual([0, []]);
});
