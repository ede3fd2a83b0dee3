/**
 * Two nodes over one database: a stream on one of them ends soon after its user, key or session was
 * ended at the other.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  type Administrator,
  ask,
  type Gateway,
  letNothingWait,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { until } from '../support/until.ts';

/** The promised time, with a margin. */
const SOON_MS = 30_000;

let near: Gateway;
let far: Gateway;
let admin: Administrator;
let farAdmin: Administrator;
let vendor: VendorProcess;
let relayCancelled = 0;

/** Begins a stream of events that never ends. */
const relayVendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: (request) => {
    request.signal.addEventListener('abort', () => {
      relayCancelled += 1;
    });
    const begin = 'event: response.created\ndata: {"type":"response.created"}\n\nevent: response.in_pro';
    return new Response(
      new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(begin)) }),
      { headers: { 'content-type': 'text/event-stream' } },
    );
  },
});

beforeAll(async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const env = { UPSTREAM_ALLOW_PRIVATE: 'true', TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '50' };
  [near, far] = await Promise.all([startGateway({ databaseUrl, env }), startGateway({ databaseUrl, env })]);
  vendor = await startVendor();
  admin = await setUp(near);
  await letNothingWait(admin);
  farAdmin = await signIn(far.url);
  await admin.createChannel(vendor.url);
  await admin.call('POST', '/api/channel', {
    ...{ name: 'relay', type: 1, key: 'relay-key', base_url: relayVendor.url.origin, models: ['gpt-x'] },
  });
  for (const model of ['gpt-x', 'demo-video']) {
    await admin.call('PUT', '/api/price', { plugin_key: '*', model, expression: '0' });
  }
});
afterAll(async () => {
  await Promise.all([near.stop(), far.stop(), vendor.stop(), relayVendor.stop(true)]);
});

type Stream = { name: string; text: () => string; over: Promise<void>; isOver: () => boolean };

async function open(
  name: string,
  { token, path, body }: { token: string; path: string; body?: object },
): Promise<Stream> {
  const response = await fetch(`${near.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  expect([name, response.status]).toEqual([name, 200]);
  expect(response.headers.get('content-type')).toStartWith('text/event-stream');
  let text = '';
  let ended = false;
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) text += decoder.decode(chunk);
    ended = true;
  };
  const over = read();
  over.catch(() => undefined);
  await until(`${name} has begun`, async () => (text.includes('event: ') ? true : undefined));
  return { name, text: () => text, over, isOver: () => ended };
}

async function addUser(username: string): Promise<{ id: number; user: Administrator }> {
  const id = await admin.createUser({ username, quota: 1000 });
  return { id, user: await signIn(near.url, { username }) };
}

test('streams end with an error when their key, user or session has ended at another node; others go on', async () => {
  const order = { model: 'demo-video', prompt: 'a cat [duration=600]' };
  const follow = async (
    name: string,
    { key, token = key, prefix = '/v1/tasks' }: { key: string; token?: string; prefix?: string },
  ) => {
    const { body } = await ask(`${near.url}/v1/tasks/demo`, { token: key, body: order });
    return open(name, { token, path: `${prefix}/${body.id}/events` });
  };
  const addKey = (fields: object = {}) =>
    admin.call<{ id: number; key: string }>('POST', '/api/token', { name: 'k', unlimited_quota: true, ...fields });

  const keys = await Promise.all(Array.from({ length: 7 }, () => addKey()));
  const [deleted, disabled, expiring, streaming, relaying, lasting, replaced] = keys.map(({ key }) => key) as string[];
  const gone = await addUser('gone');
  const goneKey = await gone.user.createKey();
  const away = await addUser('away');
  const awayKey = await away.user.createKey();
  const maker = await addUser('maker');
  const makerKey = await maker.user.createKey();
  const { token: personal } = await maker.user.call<{ token: string }>('POST', '/api/user/token');

  const streams = [
    await follow('of a deleted key', { key: String(deleted) }),
    await follow('of a disabled key', { key: String(disabled) }),
    await follow('of an expired key', { key: String(expiring) }),
    await follow('of a disabled user', { key: goneKey }),
    await follow('of a revoked session', { key: awayKey, token: away.user.token, prefix: '/api/task' }),
    await follow('of a replaced key', { key: String(replaced) }),
    await follow('of a replaced personal token', { key: makerKey, token: personal, prefix: '/api/task' }),
    await open('a response', {
      token: String(streaming),
      path: '/v1/responses',
      body: {
        model: 'demo-video',
        input: order.prompt,
        stream: true,
      },
    }),
    await open('a relayed response', {
      token: String(relaying),
      path: '/v1/responses',
      body: { model: 'gpt-x', input: 'x', stream: true },
    }),
  ];
  const control = await follow('of a key that lasts', { key: String(lasting) });

  const lived = startLivedTime();
  const idFor = (index: number) => keys[index]?.id;
  await Promise.all([
    farAdmin.call('DELETE', `/api/token/${idFor(0)}`),
    farAdmin.call('PUT', `/api/token/${idFor(1)}`, { status: 2 }),
    farAdmin.call('PUT', `/api/token/${idFor(2)}`, { expires_at: Math.floor(Date.now() / 1000) + 1 }),
    farAdmin.call('POST', '/api/user/manage', { id: gone.id, action: 'disable' }),
    farAdmin.call('DELETE', `/api/user/${away.id}/sessions`),
    farAdmin.call('DELETE', `/api/token/${idFor(3)}`),
    farAdmin.call('DELETE', `/api/token/${idFor(4)}`),
    farAdmin.call('POST', `/api/token/${idFor(6)}/rotate`, { keep_seconds: 0 }),
    maker.user.call('POST', '/api/user/token'),
  ]);
  const goOn = () => streams.filter(({ isOver }) => !isOver()).map(({ name, text }) => [name, text().slice(-300)]);
  await until('the streams have ended', () => goOn().length === 0).catch(() => expect(goOn()).toEqual([]));
  expect(lived.stop()).toBeLessThan(SOON_MS);
  for (const { name, text } of streams) {
    const [last = ''] = text().split('\n\n').filter(Boolean).slice(-1);
    expect([name, last]).toEqual([name, expect.stringMatching(/^event: error\ndata: .*"code":"access_ended"/)]);
  }
  expect(control.isOver()).toBe(false);
  await until('the relay’s connection to the vendor is closed', async () => (relayCancelled > 0 ? true : undefined));
});

test('a client that waits for a response without a stream is refused once its key has ended', async () => {
  const { id, key } = await admin.call<{ id: number; key: string }>('POST', '/api/token', {
    ...{ name: 'waiting', unlimited_quota: true },
  });
  const answer = ask(`${near.url}/v1/responses`, {
    token: key,
    body: { model: 'demo-video', input: 'a cat [duration=600]' },
  });
  await until('the task exists', async () => {
    const { items } = await admin.call<{ items: { status: string }[] }>('GET', '/api/task?scope=all&page_size=1');
    return items[0]?.status === 'SUBMITTED' || items[0]?.status === 'IN_PROGRESS' ? true : undefined;
  });
  await farAdmin.call('DELETE', `/api/token/${id}`);
  const { status, body } = await answer;
  expect([status, (body.error as { code: string }).code]).toEqual([401, 'access_ended']);
});
