/** The Model Context Protocol, message by message, as its official clients send them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSpendCaps } from '../../../src/surfaces/index.ts';
import { type ArtifactGateway, startArtifactGateway } from './artifact-harness.ts';

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway();
  await world.admin.call('PUT', '/api/price', { plugin_key: 'acme', model: 'acme-1', expression: '0.25' });
});
afterAll(() => world.stop());

type Reply = { result?: Record<string, never>; error?: { code: number; message: string } };
let count = 0;
async function send(method: string, params: object = {}, { path = '/mcp', headers = {}, token = world.key } = {}) {
  const response = await fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', ...headers },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++count, method, params }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: (text === '' ? {} : JSON.parse(text)) as Reply };
}
type ToolAnswer = { isError?: boolean; structuredContent: Record<string, unknown>; content: Record<string, string>[] };
const call = async (name: string, args: object = {}, options: Parameters<typeof send>[2] = {}) =>
  (await send('tools/call', { name, arguments: args }, options)).json.result as unknown as ToolAnswer;
const initialize = (path = '/mcp') =>
  send(
    'initialize',
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    { path },
  );

describe('the protocol', () => {
  test('a session begins with the revision that the client speaks', async () => {
    const { json, headers } = await initialize();
    expect(json.result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'taskgate' } });
    expect(headers.get('mcp-session-id')).toBeNull();
  });

  test('a notification is taken without a reply', async () => {
    const response = await fetch(`${world.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    });
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  test.each<[string, string, object, number]>([
    ['an unknown method', 'nothing/here', {}, -32_601],
    ['an unknown tool', 'tools/call', { name: 'nothing' }, -32_602],
    ['arguments that are not an object', 'tools/call', { name: 'quote', arguments: [1] }, -32_602],
    ['an unknown resource', 'resources/read', { uri: 'taskgate://tasks/task_unknown' }, -32_002],
    ['a resource of another kind', 'resources/read', { uri: 'file:///etc/passwd' }, -32_002],
  ])('%s is an error of the protocol', async (_name, method, params, code) => {
    const { status, json } = await send(method, params);
    expect([status, json.error?.code]).toEqual([200, code]);
  });

  test('a stream of messages is not offered, and without a key nothing is', async () => {
    expect((await world.get('/mcp', { token: world.key })).status).toBe(405);
    expect((await send('tools/list', {}, { token: 'sk-wrong' })).status).toBe(401);
  });

  test('an unknown revision in the header is refused', async () => {
    expect((await send('ping', {}, { headers: { 'mcp-protocol-version': '1999-01-01' } })).status).toBe(400);
  });
});

describe('a list of messages', () => {
  const post = async (messages: object[]) => {
    const response = await fetch(`${world.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(messages),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  };
  const message = (id: number, method: string) => ({ jsonrpc: '2.0', id, method });

  test('is answered with a list, without what needs no reply', async () => {
    const { status, json } = await post([
      message(1, 'ping'),
      { jsonrpc: '2.0', method: 'notifications/progress' },
      message(2, 'nothing/here'),
      message(3, 'initialize'),
    ]);
    expect([status, json]).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 1, result: {} },
        expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32_601 }) }),
        expect.objectContaining({ id: 3, error: expect.objectContaining({ code: -32_600 }) }),
      ],
    ]);
  });

  test('of notifications alone is taken, and an empty one is not', async () => {
    expect(await post([{ jsonrpc: '2.0', method: 'notifications/initialized' }])).toEqual({
      status: 202,
      json: undefined,
    });
    expect((await post([])).json).toMatchObject({ id: null, error: { code: -32_600 } });
  });
});

test('pages of other sites may read the session that they have begun', async () => {
  const { headers } = await send(
    'initialize',
    { protocolVersion: '2025-06-18' },
    { path: '/mcp?spend_cap_usd=1', headers: { origin: 'https://agent.example' } },
  );
  expect(headers.get('mcp-session-id')).not.toBeNull();
  expect(headers.get('access-control-expose-headers')?.split(', ')).toContain('mcp-session-id');
});

describe('tools', () => {
  test('have schemas with the models that they may name', async () => {
    const { json } = await send('tools/list');
    const { tools } = json.result as unknown as { tools: { name: string; inputSchema: object }[] };
    expect(tools.map(({ name }) => name)).toEqual([
      ...['list_models', 'quote', 'create_video', 'create_image', 'create_audio', 'get_task', 'wait_for_task'],
      'cancel_task',
    ]);
    expect(tools.find(({ name }) => name === 'create_video')?.inputSchema).toMatchObject({
      required: ['model'],
      properties: { model: { enum: ['acme-1', 'gone-1'] }, prompt: { type: 'string' } },
    });
  });

  test('an agent finds a model, asks for the price, orders, waits and gets a link', async () => {
    const { models } = (await call('list_models')).structuredContent as { models: { id: string }[] };
    expect(models.map(({ id }) => id)).toContain('acme-1');
    const order = { model: 'acme-1', prompt: 'a boat', seconds: 5 };
    expect((await call('quote', order)).structuredContent).toMatchObject({ cost: { reserved: 0.25, charged: null } });
    const { structuredContent: task } = await call('create_video', { ...order, end: 'IN_PROGRESS' });
    expect(world.vendor.submitted()).toMatchObject({ prompt: 'a boat', seconds: '5' });
    const done = await call('wait_for_task', { id: task.id, seconds: 60 });
    expect(done.structuredContent).toMatchObject({ id: task.id, status: 'SUCCESS', cost: { charged: 0.25 } });
    const { uri = '' } = done.content.find(({ type }) => type === 'resource_link') ?? {};
    const { pathname, search } = new URL(uri);
    expect((await world.get(`${pathname}${search}`)).status).toBe(200);
    const { json } = await send('resources/list');
    const { resources } = json.result as unknown as { resources: { uri: string }[] };
    expect(resources.map((resource) => resource.uri)).toContain(`taskgate://tasks/${task.id}`);
    const read = await send('resources/read', { uri: `taskgate://tasks/${task.id}` });
    expect(JSON.stringify(read.json.result)).toContain('content_url');
  });

  test('a refusal is a result that the agent can read', async () => {
    const refused = await call('create_video', { model: 'nobody-1', prompt: 'x' });
    expect([refused.isError, refused.content[0]?.text]).toEqual([true, expect.stringContaining('list_models')]);
    expect((await call('cancel_task', { id: 'task_unknown' })).isError).toBe(true);
  });

  test('an order is answered with its task even where its results cannot be listed', async () => {
    const made = await call('create_video', { model: 'acme-1', prompt: 'a kite', list_throws: 'not today' });
    expect([made.isError, made.structuredContent]).toMatchObject([undefined, { status: 'SUCCESS', artifacts: [] }]);
    expect(made.content[1]?.text).toBe('not today');
    const { json } = await send('resources/read', { uri: `taskgate://tasks/${made.structuredContent.id}` });
    expect(JSON.stringify(json.result)).toContain('SUCCESS');
  });

  test('an agent whose key has spent its budget gets what it paid for, and orders nothing more', async () => {
    const token = await world.admin.createKey({ unlimited_quota: false, quota: 125_000 });
    const order = { model: 'acme-1', prompt: 'the last one' };
    const { structuredContent: task } = await call('create_video', order, { token });
    const done = await call('wait_for_task', { id: task.id }, { token });
    expect(done.structuredContent).toMatchObject({ id: task.id, status: 'SUCCESS' });
    const refused = await call('create_video', { ...order, prompt: 'one too many' }, { token });
    expect([refused.isError, refused.content[0]?.text]).toEqual([true, expect.stringContaining('quota')]);
    expect(world.vendor.submitted()).toMatchObject({ prompt: 'the last one' });
  });

  test('bought twice: a message that is sent again with its Idempotency-Key is answered with its task', async () => {
    const token = await world.admin.createKey({ unlimited_quota: false, quota: 125_000 });
    const options = { token, headers: { 'idempotency-key': 'the-one-order' } };
    const order = { model: 'acme-1', prompt: 'sent again' };
    const before = world.vendor.orders();
    const ids = [];
    for (let sent = 0; sent < 3; sent += 1) ids.push((await call('create_video', order, options)).structuredContent.id);
    expect([new Set(ids).size, world.vendor.orders() - before]).toEqual([1, 1]);
    const other = await call('create_video', { ...order, prompt: 'another' }, options);
    expect([other.isError, other.content[0]?.text]).toEqual([true, expect.stringContaining('Idempotency-Key')]);
  });

  test('what makes no videos gets the order in its own words', async () => {
    await world.addPlugin('painter', { protocols: [] }, (source) =>
      source.replace(/export const protocols[\s\S]*?\n\} \};/, ''),
    );
    const order = { n: 2, images: 3, width: 640, height: 480, duration: 7, response_format: 'mp3' };
    const made = await call('create_image', { model: 'painter-1', prompt: 'a harbour', ...order });
    expect([made.isError, world.vendor.submitted()]).toMatchObject([undefined, { prompt: 'a harbour', ...order }]);
    expect((await call('quote', { model: 'painter-1', prompt: 'a harbour', ...order })).isError).toBeUndefined();
  });

  test('privilege escalation: an agent orders no model that its key may not use', async () => {
    const token = await world.admin.createKey({ models: ['gone-1'] });
    const refused = await call('create_video', { model: 'acme-1', prompt: 'x' }, { token });
    expect(refused.isError).toBe(true);
  });
});

test('an order that is refused is not one of the successes that a limit counts', async () => {
  const set = (enabled: string, success: string) =>
    world.admin.call('PUT', '/api/option', {
      options: [
        { key: 'ModelRequestRateLimitEnabled', value: enabled },
        { key: 'ModelRequestRateLimitSuccessCount', value: success },
      ],
    });
  await set('true', '1');
  try {
    const order = { model: 'acme-1', prompt: 'a kite' };
    expect((await call('create_video', { ...order, id: '' })).isError).toBe(true);
    expect((await call('create_video', order)).isError).toBeUndefined();
    expect((await call('create_video', order)).isError).toBe(true);
  } finally {
    await set('false', '1000');
  }
});

describe('a spend cap', () => {
  const path = '/mcp?spend_cap_usd=0.3';

  test('ends what a session may order, and nothing is sent beyond it', async () => {
    const id = (await initialize(path)).headers.get('mcp-session-id') ?? '';
    const options = { path, headers: { 'mcp-session-id': id } };
    expect((await call('create_video', { model: 'acme-1', prompt: 'x' }, options)).isError).toBeUndefined();
    const second = await call('create_video', { model: 'acme-1', prompt: 'too much' }, options);
    expect([second.isError, second.content[0]?.text]).toEqual([true, expect.stringContaining('0.0500 USD more')]);
    expect(world.vendor.submitted()).not.toMatchObject({ prompt: 'too much' });
    await fetch(`${world.url}${path}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${world.key}`, 'mcp-session-id': id },
    });
    expect((await send('ping', {}, options)).status).toBe(404);
  });

  test('is not used up by repeats of an order', async () => {
    const wide = '/mcp?spend_cap_usd=0.6';
    const id = (await initialize(wide)).headers.get('mcp-session-id') ?? '';
    const order = async (prompt: string): Promise<boolean> => {
      const headers = { 'mcp-session-id': id, 'idempotency-key': `cap-${prompt}` };
      return (await call('create_video', { model: 'acme-1', prompt }, { path: wide, headers })).isError !== true;
    };
    const taken = [];
    for (const prompt of ['a', 'a', 'a', 'b', 'c']) taken.push(await order(prompt));
    expect(taken).toEqual([true, true, true, true, false]);
    // Its agent finds a lost answer also where nothing more may be spent.
    expect([await order('a'), await order('b'), await order('c')]).toEqual([true, true, false]);
  });

  test('evasion: no user pushes out the sessions of another', () => {
    const caps = createSpendCaps();
    const [victim, own] = [caps.open(1, 5), caps.open(2, 5)];
    for (let opened = 0; opened < 3000; opened++) caps.open(2, 5);
    expect(caps.find(1, victim)).toBeDefined();
    expect(caps.find(2, own)).toBeUndefined();
  });

  test('evasion: a message without its session, or with another user’s, orders nothing', async () => {
    expect((await send('tools/call', { name: 'list_models' }, { path })).status).toBe(400);
    const forged = { path, headers: { 'mcp-session-id': crypto.randomUUID() } };
    expect((await send('tools/call', { name: 'list_models' }, forged)).status).toBe(404);
  });
});
