/** OpenAI's images API for models of a relay channel whose clients do not wait, or ask again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type ChatVendor, startChatVendor } from '../../support/chat-vendor.ts';
import { type Administrator, ask, type Gateway, setUp, signIn, startGateway } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';

let gateway: Gateway;
let vendor: ChatVendor;
let admin: Administrator;
let key: string;
beforeAll(async () => {
  vendor = await startChatVendor();
  gateway = await startGateway();
  admin = await setUp(gateway);
  await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'draw-x', expression: '0.25 * u("images")' });
  await admin.createChannel(vendor.url, {
    ...{ type: 1, name: 'relay', models: ['draw-x'], key: vendor.key, task_plugin_key: undefined },
  });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway.stop();
  await vendor.stop();
});

type Sent = { headers?: Record<string, string>; path?: string; token?: string };
const order = (body: object, { headers = {}, path = '/v1/images/generations', token = key }: Sent = {}) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'draw-x', prompt: 'a boat', ...body }),
  });
const read = async (id: unknown, { query = '', token = key } = {}) =>
  (await ask(`${gateway.url}/v1/tasks/${id}${query}`, { method: 'GET', token })).body;
const readSpent = async () => (await ask(`${gateway.url}/v1/usage`, { method: 'GET', token: key })).body.usd as number;
let spent = 0;
beforeEach(async () => {
  spent = await readSpent();
});
/** US dollars since the test began. */
const costs = async () => Math.round(100 * ((await readSpent()) - spent)) / 100;

describe.each<[string, object, Record<string, string>]>([
  ['a header', {}, { prefer: 'respond-async' }],
  ['a member', { background: true, stream: true, partial_images: 2 }, {}],
])('asked for by %s', (_where, body, headers) => {
  test('a task is answered at once, and followed to the images and their price', async () => {
    const answer = await order({ ...body, n: 2, user: 'hang' }, { headers });
    const task = (await answer.json()) as { id: string };
    expect([answer.status, answer.headers.get('location')]).toEqual([202, `/v1/tasks/${task.id}`]);
    expect(answer.headers.get('preference-applied')).toBe(headers.prefer ?? null);
    expect(task).toMatchObject({ object: 'task', status: 'IN_PROGRESS', model: 'draw-x', cost: { reserved: 0.5 } });
    const waiting = read(task.id, { query: '?wait=60' });
    await until('the vendor has the request', () => vendor.requests.some(({ body: sent }) => sent.user === 'hang'));
    expect(await read(task.id)).toMatchObject({ status: 'IN_PROGRESS', cost: { charged: null } });
    vendor.release();
    const ended = await waiting;
    expect(ended).toMatchObject({ status: 'SUCCESS', progress: '100%', cost: { charged: 0.5, currency: 'USD' } });
    expect((ended.result as { data: object[] }).data).toEqual([
      { b64_json: expect.any(String) },
      { b64_json: expect.any(String) },
    ]);
    expect(await costs()).toBe(0.5);
    // What the gateway heeds itself does not reach the vendor.
    expect(vendor.requests.at(-1)?.body).toEqual({ model: 'draw-x', prompt: 'a boat', n: 2, user: 'hang' });
    vendor.requests.splice(0);
  });
});

test('a form is sent on whole although its client has its answer', async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'draw-x', prompt: 'a boat', background: 'true', user: 'hang' }))
    form.set(name, value);
  form.set('image', new File([new Uint8Array(3_000_000)], 'boat.png', { type: 'image/png' }));
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
  const { id } = (await answer.json()) as { id: string };
  expect(answer.status).toBe(202);
  vendor.release();
  await until('the edit has ended', async () => {
    vendor.release();
    return (await read(id)).status === 'SUCCESS';
  });
  expect(vendor.requests.at(-1)?.body).toEqual({
    ...{ model: 'draw-x', prompt: 'a boat', user: 'hang', image: 'boat.png:image/png:3000000' },
  });
});

test('a failure costs nothing, and the task says why in the words of the vendor', async () => {
  const { id } = (await (await order({ background: true, user: '400' })).json()) as { id: string };
  const ended = await read(id, { query: '?wait=60' });
  expect(ended).toMatchObject({ status: 'FAILURE', fail_reason: 'no', cost: { charged: 0 } });
  expect(ended.result).toBeUndefined();
  expect(await costs()).toBe(0);
});

test.each(['broken', 'whole'])('a %s stream that nobody asked for costs nothing, and ends no process', async (how) => {
  if (how === 'whole') vendor.answerNext('data: {"type":"image_generation.completed"}\n\n', 'text/event-stream');
  const { id } = (await (await order({ background: true, user: how })).json()) as { id: string };
  const ended = await read(id, { query: '?wait=60' });
  expect(ended).toMatchObject({ status: 'FAILURE', fail_reason: expect.stringContaining('stream') });
  expect(await costs()).toBe(0);
  await until('the vendor has ended it', () => vendor.streams.open === 0);
  expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
});

test('an answer that cannot be kept for its client costs nothing', async () => {
  const headers = { 'content-type': 'application/json' };
  const broken = Bun.serve({ port: 0, fetch: () => new Response('{"data":[{"b64_json":"AAAA"}],', { headers }) });
  await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'draw-cut', expression: '0.25 * u("n")' });
  await admin.createChannel(`http://127.0.0.1:${broken.port}`, {
    ...{ type: 1, name: 'cut', models: ['draw-cut'], key: 'sk-cut', task_plugin_key: undefined },
  });
  const { id } = (await (await order({ model: 'draw-cut', n: 1, background: true })).json()) as { id: string };
  expect(await read(id, { query: '?wait=60' })).toMatchObject({ status: 'FAILURE', cost: { charged: 0 } });
  expect(await costs()).toBe(0);
  await broken.stop(true);
});

test('its owner deletes the answer, and a key that ends while it waits gets none', async () => {
  const { id } = (await (await order({ background: true, user: 'hang' })).json()) as { id: string };
  const remove = () => ask(`${gateway.url}/v1/tasks/${id}`, { method: 'DELETE', token: key });
  expect((await remove()).status).toBe(409);
  const { items } = await admin.call<{ items: { id: number }[] }>('GET', '/api/token');
  const other = await admin.createKey();
  const after = await admin.call<{ items: { id: number }[] }>('GET', '/api/token');
  const added = after.items.find((one) => !items.some((known) => known.id === one.id))?.id;
  const waiting = ask(`${gateway.url}/v1/tasks/${id}?wait=60`, { method: 'GET', token: other });
  await until('the vendor has the request', () => vendor.requests.some(({ body: sent }) => sent.user === 'hang'));
  await admin.call('DELETE', `/api/token/${added}`);
  expect((await waiting).status).toBe(401);
  vendor.release();
  expect(await read(id, { query: '?wait=60' })).toMatchObject({ status: 'SUCCESS', result: { data: [{}] } });
  expect((await remove()).status).toBe(200);
  expect(await read(id)).toMatchObject({ error: { code: 'task_not_found' } });
  expect((await remove()).status).toBe(404);
  vendor.requests.splice(0);
});

test('its events tell its begin and its end, without the images', async () => {
  const { id } = (await (await order({ background: true, user: 'hang' })).json()) as { id: string };
  const headers = { authorization: `Bearer ${key}` };
  const events = await fetch(`${gateway.url}/v1/tasks/${id}/events`, { headers });
  const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const readUntil = async (words: string) => {
    while (!text.includes(words)) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) throw new Error(`the stream ended before "${words}": ${text}`);
      text += value;
    }
  };
  await readUntil('task.updated');
  await until('the vendor has the request', () => vendor.requests.some(({ body: sent }) => sent.user === 'hang'));
  vendor.release();
  await readUntil('task.finished');
  while (!(await reader?.read())?.done);
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as object);
  expect(data).toMatchObject([
    { id, object: 'task', status: 'IN_PROGRESS', cost: { charged: null } },
    { id, object: 'task', status: 'SUCCESS', progress: '100%', cost: { charged: 0.25 } },
  ]);
  expect(JSON.stringify(data)).not.toContain('b64_json');
  const again = await (await fetch(`${gateway.url}/v1/tasks/${id}/events`, { headers })).text();
  expect(again.match(/^event: .*$/gm)).toEqual(['event: task.finished']);
  vendor.requests.splice(0);
});

test('what its vendor does not offer is refused with the reason', async () => {
  const { id } = (await (await order({ background: true, user: 'hang' })).json()) as { id: string };
  const call = async (method: string, path: string, token = key) => {
    const { status, body } = await ask(`${gateway.url}/v1/tasks/${id}${path}`, { method, token });
    return [status, (body.error as { code: string }).code];
  };
  const artifacts: [string, string][] = [
    ['GET', '/artifacts'],
    ['GET', '/artifacts/image/content'],
    ['DELETE', '/artifacts/links'],
    ['DELETE', '/artifacts/image/links'],
  ];
  expect(await call('POST', '/cancel')).toEqual([409, 'cancel_unsupported']);
  for (const [method, path] of artifacts)
    expect([path, ...(await call(method, path))]).toEqual([path, 409, 'artifacts_unsupported']);
  await until('the vendor has the request', () => vendor.requests.some(({ body: sent }) => sent.user === 'hang'));
  vendor.release();
  expect(await read(id, { query: '?wait=60' })).toMatchObject({ status: 'SUCCESS', cost: { charged: 0.25 } });
  expect(await call('POST', '/cancel')).toEqual([409, 'task_finished']);
  // What was refused has moved no money.
  expect(await costs()).toBe(0.25);
  await admin.createUser({ username: 'stranger' });
  const token = await (await signIn(gateway.url, { username: 'stranger' })).createKey();
  for (const [method, path] of [['POST', '/cancel'], ['GET', '/events'], ['DELETE', ''], ...artifacts] as const)
    expect([path, ...(await call(method, path, token))]).toEqual([path, 404, 'task_not_found']);
  vendor.requests.splice(0);
});

test('they are a list of their own, page by page, and only for their owner', async () => {
  await admin.createUser({ username: 'lister', quota: 10_000_000 });
  const token = await (await signIn(gateway.url, { username: 'lister' })).createKey();
  const ids: string[] = [];
  for (const body of [{}, { user: '400' }, {}]) {
    const made = (await (await order({ background: true, ...body }, { token })).json()) as { id: string };
    ids.unshift(made.id);
  }
  await Promise.all(ids.slice(0, 2).map((id) => read(id, { query: '?wait=60', token })));
  const list = async (query: string, by = token) =>
    (await ask(`${gateway.url}/v1/tasks?${query}`, { method: 'GET', token: by })).body;
  const [newest, failed, oldest] = ids;
  const first = await list('relayed=true&limit=2');
  expect(first).toMatchObject({ object: 'list', first_id: newest, last_id: failed, has_more: true });
  expect(first.data).toMatchObject([
    { id: newest, object: 'task', status: 'SUCCESS', cost: { charged: 0.25 } },
    { id: failed, status: 'FAILURE', cost: { charged: 0 } },
  ]);
  expect(await list(`relayed=true&after=${failed}`)).toMatchObject({ data: [{ id: oldest }], has_more: false });
  expect(await list(`relayed=true&order=asc&limit=1`)).toMatchObject({ data: [{ id: oldest }], has_more: true });
  expect((await list('limit=9')).data).toEqual([]);
  expect(JSON.stringify((await list('relayed=true', key)).data)).not.toContain(newest);
  expect(await list(`relayed=true&after=${newest}`, key)).toMatchObject({ error: { code: 'page_not_found' } });
  await ask(`${gateway.url}/v1/tasks/${newest}`, { method: 'DELETE', token });
  expect((await list('relayed=true')).data).toMatchObject([{ id: failed }, { id: oldest }]);
});

test('what cannot be ordered is refused at once', async () => {
  await admin.createUser({ username: 'poor', quota: 0 });
  const token = await (await signIn(gateway.url, { username: 'poor' })).createKey();
  const answer = await order({ background: true }, { token });
  expect([answer.status, await answer.json()]).toMatchObject([429, { error: { code: 'insufficient_quota' } }]);
});

test('IDOR: another user’s request is not a task of theirs', async () => {
  const { id } = (await (await order({ background: true })).json()) as { id: string };
  await admin.createUser({ username: 'other' });
  const token = await (await signIn(gateway.url, { username: 'other' })).createKey();
  expect(await read(id, { token })).toMatchObject({ error: { code: 'task_not_found' } });
  expect(await read(id, { query: '?wait=60' })).toMatchObject({ status: 'SUCCESS' });
});

describe('the same Idempotency-Key', () => {
  const headers = (name: string) => ({ headers: { 'idempotency-key': name } });
  const count = () => vendor.requests.length;

  test('a request that a proxy cut off is asked again, and gets the one purchase', async () => {
    const before = count();
    const proxy = new AbortController();
    const cut = fetch(`${gateway.url}/v1/images/generations`, {
      ...{ method: 'POST', signal: proxy.signal },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'cut' },
      body: JSON.stringify({ model: 'draw-x', prompt: 'a boat', user: 'hang' }),
    }).catch((error: Error) => error.name);
    await until('the vendor has the request', () => count() > before);
    proxy.abort();
    expect(await cut).toBe('AbortError');
    const again = order({ user: 'hang' }, headers('cut'));
    vendor.release();
    const answer = await again;
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const images = await answer.json();
    expect(images).toMatchObject({ created: 1, data: [{ b64_json: expect.any(String) }] });
    expect(await (await order({ user: 'hang' }, headers('cut'))).json()).toEqual(images);
    expect([count() - before, await costs()]).toEqual([1, 0.25]);
  });

  test('a repeat that prefers not to wait gets the task of the first request', async () => {
    const before = count();
    await order({}, headers('first'));
    const answer = await order({}, { headers: { ...headers('first').headers, prefer: 'respond-async' } });
    const { id } = (await answer.json()) as { id: string };
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect(await read(id)).toMatchObject({ status: 'SUCCESS', result: { created: 1 } });
    expect([count() - before, await costs()]).toEqual([1, 0.25]);
  });

  test('a repeat of a request that its user has deleted orders nothing, and shows nothing of it', async () => {
    const before = count();
    const ordered = () => order({ background: true }, headers('deleted'));
    const { id } = (await (await ordered()).json()) as { id: string };
    await read(id, { query: '?wait=60' });
    await ask(`${gateway.url}/v1/tasks/${id}`, { method: 'DELETE', token: key });
    const again = await ordered();
    expect([again.status, await again.json()]).toMatchObject([409, { error: { code: 'idempotency_not_replayable' } }]);
    expect([count() - before, await costs()]).toEqual([1, 0.25]);
  });

  test('a refused request leaves the key free, followed or not', async () => {
    const first = (await (await order({ background: true, user: '400' }, headers('free'))).json()) as { id: string };
    await read(first.id, { query: '?wait=60' });
    const second = (await (await order({ background: true, user: '400' }, headers('free'))).json()) as { id: string };
    expect(second.id).not.toBe(first.id);
  });
});

test('partial images of a relayed stream reach the client as they come', async () => {
  const answer = await order({ stream: true, partial_images: 1, n: 2 });
  const text = await answer.text();
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  expect(text.match(/event: image_generation\.completed/g)).toHaveLength(2);
  expect(vendor.requests.at(-1)?.body).toMatchObject({ stream: true, partial_images: 1 });
});

test('a process that dies refunds what nobody will answer, and the task says so', async () => {
  const { id } = (await (await order({ background: true, user: 'hang' })).json()) as { id: string };
  await gateway.kill();
  gateway = await startGateway({ dataDir: gateway.dataDir });
  await until('it is refunded', async () => (await read(id)).status === 'FAILURE');
  expect(await read(id)).toMatchObject({ fail_reason: expect.stringContaining('stopped'), cost: { charged: 0 } });
  expect(await costs()).toBe(0);
});
