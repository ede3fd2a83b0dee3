/**
 * The demo channel: from nothing to a finished video without a network, over a restart, until it is
 * deleted.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
let { gateway }: Pick<PanelCaller, 'gateway'> = {} as PanelCaller;
let token = '';
let admin = '';

beforeAll(async () => {
  panel = await openPanel({ TASK_POLL_INTERVAL_SECONDS: '1' });
  gateway = panel.gateway;
  token = (await panel.logIn('root')).token;
  panel.addUser('admin', 10);
  admin = (await panel.logIn('admin')).token;
});
afterAll(() => gateway.stop());

async function send(
  path: string,
  { method = 'GET', body, bearer = token }: { method?: string; body?: unknown; bearer?: string } = {},
) {
  const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${bearer}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, data: JSON.parse(text).data, text };
}
async function makeVideo(): Promise<void> {
  const body = { plugin_key: 'demo', body: { model: 'demo-video', prompt: 'a cat [duration=0]' } };
  const submitted = await send('/api/task', { method: 'POST', body });
  expect([submitted.status, submitted.text]).toEqual([200, expect.stringContaining('task_')]);
  const task = await until('the video is there', async () => {
    const { data } = await send(`/api/task/${submitted.data.id}`);
    return data.status === 'SUCCESS' && data;
  });
  const video = await fetch(new URL(task.artifacts[0].content_url, `http://127.0.0.1:${gateway.port}`));
  expect([video.status, video.headers.get('content-type')]).toEqual([200, 'video/mp4']);
}

test('only root creates it, once; it survives a restart, even if its port is taken, and ends with its deletion', async () => {
  expect((await send('/api/setup/demo-channel', { method: 'POST', bearer: admin })).status).toBe(403);

  const both = await Promise.all([
    send('/api/setup/demo-channel', { method: 'POST' }),
    send('/api/setup/demo-channel', { method: 'POST' }),
  ]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(both.map(({ data }) => data.created).sort()).toEqual([false, true]);
  const { channel } = both[0]?.data ?? {};
  expect(channel).toMatchObject({ name: 'Demo', task_plugin_key: 'demo', models: ['demo-video', 'demo-video-pro'] });
  expect((await send('/api/channel')).data.total).toBe(1);
  await makeVideo();

  // The vendor accepts only the channel's key, and listens on loopback.
  const { base_url: address } = (await send(`/api/channel/${channel.id}`)).data;
  expect(address).toStartWith('http://127.0.0.1:');
  expect((await fetch(`${address}/v1/jobs?ids=a`, { headers: { authorization: 'Bearer guessed' } })).status).toBe(401);

  expect(await gateway.stop()).toBe(0);
  await expect(fetch(address)).rejects.toThrow();
  const squatter = Bun.serve({
    hostname: '127.0.0.1',
    port: Number(new URL(address).port),
    fetch: () => new Response(),
  });
  gateway = await startGateway({ dataDir: panel.gateway.dataDir, env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  await makeVideo();
  const moved = (await send(`/api/channel/${channel.id}`)).data.base_url;
  expect(moved).not.toBe(address);
  await squatter.stop(true);
  expect((await send('/api/setup/demo-channel', { method: 'POST' })).data).toMatchObject({
    created: false,
    channel: { id: channel.id },
  });

  expect((await send(`/api/channel/${channel.id}`, { method: 'DELETE' })).status).toBe(200);
  await until('the vendor has ended', () =>
    fetch(moved).then(
      () => false,
      () => true,
    ),
  );
  expect((await send('/api/setup/demo-channel', { method: 'POST' })).data.created).toBe(true);
  await makeVideo();
});

test('changes of administrators stay: a new key is used, a new address is kept, the demo mark alone has no effect', async () => {
  const { id } = (await send('/api/setup/demo-channel', { method: 'POST' })).data.channel;
  const { base_url: address } = (await send(`/api/channel/${id}`)).data;

  expect((await send(`/api/channel/${id}`, { method: 'PUT', body: { key: 'a-key-of-my-own' } })).status).toBe(200);
  const asMe = { headers: { authorization: 'Bearer a-key-of-my-own' } };
  await until('the vendor takes the new key', () =>
    fetch(`${address}/v1/jobs?ids=a`, asMe).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  await makeVideo();

  // The operator's own demo vendor on the same machine.
  const own = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const elsewhere = `http://127.0.0.1:${own.port}`;
  expect(
    (await send(`/api/channel/${id}`, { method: 'PUT', body: { base_url: elsewhere, key: 'the-key-of-that-one' } }))
      .status,
  ).toBe(200);
  await until('the built-in vendor has ended', () =>
    fetch(address).then(
      () => false,
      () => true,
    ),
  );
  const { built_in_demo_vendor: copied } = (await send(`/api/channel/${id}`)).data.settings;
  const marked: number[] = [];
  for (const mark of [true, elsewhere, copied]) {
    const body = { name: 'marked', type: 61, key: 'k', base_url: elsewhere, models: ['demo-video'] };
    const settings = { built_in_demo_vendor: mark };
    const created = await send('/api/channel', {
      method: 'POST',
      body: { ...body, task_plugin_key: 'demo', settings },
      bearer: admin,
    });
    marked.push(created.data.id);
  }
  expect(await gateway.stop()).toBe(0);
  gateway = await startGateway({ dataDir: panel.gateway.dataDir, env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  for (const left of [id, ...marked]) expect((await send(`/api/channel/${left}`)).data.base_url).toBe(elsewhere);
  await own.stop(true);

  const again = (await send('/api/setup/demo-channel', { method: 'POST' })).data;
  expect([again.created, [id, ...marked].includes(again.channel.id)]).toEqual([true, false]);
});
