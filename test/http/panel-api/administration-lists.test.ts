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
}, 60_000);
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

  const wrong = await panel.send('/api/audit?since=yesterday', { token: root });
  expect([wrong.status, wrong.json.details.errors[0].field]).toEqual([400, 'since']);
});
