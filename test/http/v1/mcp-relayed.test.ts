/** Agents and relayed requests: what `relay_…` names is a task to them as well. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatVendor, startChatVendor } from '../../support/chat-vendor.ts';
import { type Administrator, ask, type Gateway, setUp, signIn, startGateway } from '../../support/gateway.ts';
import { makePng } from '../../support/still-images.ts';
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

async function order(body: object = {}): Promise<string> {
  const sent = { model: 'draw-x', prompt: 'a boat', background: true, ...body };
  const answer = await ask(`${gateway.url}/v1/images/generations`, { token: key, body: sent });
  expect(answer.status).toBe(202);
  return String(answer.body.id);
}

type Reply = { result?: Record<string, unknown>; error?: { code: number } };
async function send(method: string, params: object, token = key): Promise<Reply> {
  const answer = await ask(`${gateway.url}/mcp`, { token, body: { jsonrpc: '2.0', id: 1, method, params } });
  return answer.body as Reply;
}
type ToolAnswer = { isError?: true; structuredContent: object; content: Record<string, unknown>[] };
const call = async (name: string, id: string, token = key) =>
  (await send('tools/call', { name, arguments: { id } }, token)).result as unknown as ToolAnswer;

const BYTES = makePng().toString('base64');
const IMAGES = [
  { type: 'image', data: BYTES, mimeType: 'image/png' },
  { type: 'resource_link', uri: 'https://cdn.example/b.webp', name: expect.stringContaining('image 2') },
];

test('an agent waits for images and gets them, and reads them as a resource', async () => {
  vendor.answerNext(JSON.stringify({ created: 1, data: [{ b64_json: BYTES }, { url: 'https://cdn.example/b.webp' }] }));
  const id = await order({ n: 2 });
  const done = await call('wait_for_task', id);
  expect(done.structuredContent).toMatchObject({ id, status: 'SUCCESS', cost: { charged: 0.5 }, images: 2 });
  expect(done.content.slice(1)).toEqual(IMAGES);
  expect(JSON.stringify(done.structuredContent)).not.toContain(BYTES);
  expect(await call('get_task', id)).toEqual(done);
  const uri = `taskgate://tasks/${id}`;
  const { resources } = (await send('resources/list', {})).result as { resources: object[] };
  expect(resources[0]).toEqual({ uri, name: `draw-x ${id}`, mimeType: 'application/json' });
  expect((await send('resources/read', { uri })).result).toEqual({
    contents: [
      { uri, mimeType: 'application/json', text: JSON.stringify(done.structuredContent) },
      { uri: `${uri}/images/1`, mimeType: 'image/png', blob: BYTES },
    ],
  });
});

test('one that runs is told of, and is not cancelled: its vendor has it', async () => {
  const id = await order({ user: 'hang' });
  await until('the vendor has the request', () => vendor.requests.some(({ body }) => body.user === 'hang'));
  expect((await call('get_task', id)).structuredContent).toMatchObject({ status: 'IN_PROGRESS', images: 0 });
  const refused = await call('cancel_task', id);
  expect([refused.isError, refused.content[0]?.text]).toEqual([true, expect.stringContaining('cannot cancel')]);
  vendor.release();
  expect((await call('wait_for_task', id)).structuredContent).toMatchObject({ status: 'SUCCESS' });
  expect((await call('cancel_task', id)).isError).toBe(true);
});

test('a failure says why', async () => {
  const id = await order({ user: '400' });
  const failed = await call('wait_for_task', id);
  expect(failed.structuredContent).toMatchObject({ status: 'FAILURE', fail_reason: 'no', cost: { charged: 0 } });
});

test('images that are too many for a message are named by their address', async () => {
  vendor.answerNext(JSON.stringify({ created: 1, data: [{ b64_json: 'A'.repeat(17 * 1024 * 1024) }] }));
  const id = await order();
  const done = await call('wait_for_task', id);
  expect(done.structuredContent).toMatchObject({ status: 'SUCCESS', images: 0 });
  expect(done.content.slice(1)).toEqual([{ type: 'text', text: expect.stringContaining(`GET /v1/tasks/${id}`) }]);
});

test('IDOR: another user’s agent finds nothing', async () => {
  const id = await order();
  await admin.createUser({ username: 'stranger' });
  const token = await (await signIn(gateway.url, { username: 'stranger' })).createKey();
  for (const tool of ['get_task', 'wait_for_task', 'cancel_task']) {
    const refused = await call(tool, id, token);
    expect([refused.isError, refused.content]).toEqual([true, [{ type: 'text', text: 'Task not found.' }]]);
  }
  expect((await send('resources/read', { uri: `taskgate://tasks/${id}` }, token)).error?.code).toBe(-32_002);
});
