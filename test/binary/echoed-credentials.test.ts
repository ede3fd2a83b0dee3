/**
 * A vendor that repeats all headers of a request in its answers: nothing of the channel's
 * credential leaves the gateway.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { pluginSource } from '../plugins/support.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const ACCESS = 'AKLTaccess00000001';
const SECRET = 'c2VjcmV0c2VjcmV0c2VjcmV0';
const HEADER_PLUGIN = `${pluginSource({ key: 'headers', models: ['headers-1'] })
  .replace(
    "{ return { url: ctx.baseUrl + '/jobs', body: ctx.requestBody }; }",
    "{ const headers = signed(ctx); console.log('sending', JSON.stringify(headers)); return { url: ctx.baseUrl + '/jobs', headers, body: ctx.requestBody }; }",
  )
  .replace(
    "{ url: ctx.baseUrl + '/jobs/' + ctx.taskId }",
    "{ url: ctx.baseUrl + '/jobs/' + ctx.taskId, headers: signed(ctx) }",
  )
  .replace('{ taskId: response.body.id }', '{ taskId: response.body.id, taskData: response.body }')
  .replace('{ status: body.status }', '{ status: body.status, reason: body.message }')}
function signed(ctx) {
  const [access, secret] = ctx.apiKey.split('|');
  return {
    'X-Api-Key': ctx.apiKey,
    'X-Signature': utils.hmacSHA256('text', secret),
    'X-Vendor': utils.base64(secret),
    Cookie: 'session=' + utils.hmacSHA256('session', secret),
  };
}`;

let gateway: Gateway;
let admin: Administrator;
let key: string;
let receiver: Receiver;
const pieces = new Set([ACCESS, SECRET]);

/** Records the parts of a request that nobody else may see. */
function note({ headers }: Request): void {
  const { authorization = '', cookie = '' } = Object.fromEntries(headers);
  const token = authorization.split(' ')[1] ?? '';
  const made = [headers.get('x-api-key'), headers.get('x-signature'), headers.get('x-vendor'), cookie.split('=')[1]];
  const parts = [token.startsWith('eyJ') ? token : '', token.split('.')[2], /Signature=(\w+)/.exec(authorization)?.[1]];
  for (const piece of [...made, ...parts]) if (piece) pieces.add(piece);
}

const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    note(request);
    const text = await request.text();
    const echo = `the headers were ${JSON.stringify(Object.fromEntries(request.headers))} at ${request.url}`;
    if (text.includes('refuse')) return Response.json({ message: echo, code: 1 }, { status: 400 });
    const isPoll = request.method === 'GET' || request.url.includes('GetResult');
    const job = { task_id: 'job-1', task_status: isPoll ? 'failed' : 'submitted', task_status_msg: echo };
    const of = { id: 'job-1', status: isPoll ? 'FAILURE' : 'QUEUED', message: echo, echo: { echo } };
    if (!request.url.includes('Action=')) return Response.json({ ...of, code: 0, data: job });
    return Response.json({ ...of, code: isPoll ? 50411 : 10000, data: job });
  },
});

beforeAll(async () => {
  receiver = await startReceiver();
  gateway = await startGateway({
    env: {
      TASK_POLL_INTERVAL_SECONDS: '1',
      UPSTREAM_ALLOW_PRIVATE: 'true',
      WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8',
      DEBUG: 'true',
      LOG_LEVEL: 'debug',
    },
  });
  admin = await setUp(gateway);
  key = await admin.createKey();
  await admin.call('POST', '/api/token/1/webhook-secret');
  await admin.call('POST', '/api/plugin/task', { source: HEADER_PLUGIN });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([vendor.stop(true), receiver.stop()]);
});

test.each([
  ['a token that a plugin signs', 'kling', 'kling-v1'],
  ["a signature of a request's parts", 'jimeng', 'jimeng-video-3.0'],
  ['headers that are made of the key', 'headers', 'headers-1'],
])('%s appears in no error, log, timeline, task, webhook or dry run', async (_name, plugin, model) => {
  const base = vendor.url.origin;
  await admin.createChannel(base, { key: `${ACCESS}|${SECRET}`, models: [model], task_plugin_key: plugin });
  await admin.call('PUT', '/api/price', { plugin_key: plugin, model, expression: '0' });
  const reported: string[] = [];
  const submit = async (prompt: string) => {
    const answer = await ask(`${gateway.url}/v1/tasks/${plugin}`, {
      token: key,
      body: { model, prompt },
      headers: { 'x-callback-url': receiver.url },
    });
    reported.push(JSON.stringify(answer.body));
    return answer;
  };
  const seenBefore = pieces.size;
  const refused = await submit('refuse');
  expect(refused.status).toBe(400);
  expect(reported[0]).toContain('the headers were');
  expect(pieces.size).toBeGreaterThan(seenBefore);

  const { id } = (await submit('accept')).body as { id: string };
  const task = await until('the task has failed', async () => {
    const { body } = await ask(`${gateway.url}/v1/tasks/${id}`, { token: key });
    return body.status === 'FAILURE' ? body : undefined;
  });
  expect(task.fail_reason).toContain('the headers were');
  const webhook = await until('the webhook has arrived', async () =>
    receiver.received.find(({ payload }) => payload.data?.id === id && payload.data.status === 'FAILURE'),
  );
  const detail = JSON.stringify(await admin.call('GET', `/api/task/${id}`));
  expect(detail).toContain('[redacted]');
  reported.push(JSON.stringify(task), webhook.body, detail, gateway.log());
  reported.push(JSON.stringify(await admin.call('GET', '/api/task?scope=all')));
  reported.push(
    JSON.stringify(await admin.call('GET', '/api/log')),
    JSON.stringify(await admin.call('GET', '/api/audit')),
  );
  for (const piece of pieces) expect(reported.filter((text) => text.includes(piece))).toEqual([]);
});

test('a dry run shows the request without anything derived from the key', async () => {
  const context = { apiKey: `${ACCESS}|${SECRET}`, baseUrl: 'https://vendor.example', requestBody: {}, files: [] };
  const run = { hook: 'buildSubmitRequest', args: [context] };
  const made = await admin.call('POST', '/api/plugin/task/headers/dryrun', run);
  expect(JSON.stringify(made)).toContain('[redacted]');
  for (const piece of pieces) expect(JSON.stringify(made)).not.toContain(piece);
});
