/**
 * Webhooks over HTTP: secrets and addresses of API keys, submissions of every kind, the log of
 * deliveries and redelivery.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import { findProgram } from '../../support/find-program.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { type Receiver, readSignatures, startReceiver, verified } from '../../support/webhook-receiver.ts';
import { openPanel, type PanelCaller, type Send } from './panel-caller.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const vendor = createDemoVendor({ clock: systemClock, key: VENDOR_KEY });

let panel: PanelCaller;
let receiver: Receiver;
let stopVendor: () => Promise<void>;
const tokens: Record<'root' | 'anna' | 'carl', string> = { root: '', anna: '', carl: '' };
let key: { id: number; key: string };
let secret: string;

type Who = keyof typeof tokens;
const as = (who: Who, path: string, request: Omit<Send, 'token'> = {}) =>
  panel.send(path, { ...request, token: tokens[who] });
const submit = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  panel.send(path, { token: key.key, body, headers });
const task = (prompt: string) => ({ model: 'demo-video', prompt, seconds: '5' });
const finished = async (taskId: string) => {
  const of = () =>
    receiver.received.find(({ payload }) => payload.type === 'task.finished' && payload.data.id === taskId);
  await until(() => of() !== undefined);
  return of()!;
};

beforeAll(async () => {
  const listening = await vendor.start(0);
  stopVendor = () => listening.stop();
  receiver = await startReceiver();
  panel = await openPanel({
    WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
    WEBHOOK_UPDATE_INTERVAL_SECONDS: '0',
    TASK_POLL_INTERVAL_SECONDS: '1',
    LOG_LEVEL: 'debug',
    DEBUG: 'true',
  });
  for (const [name, role] of [
    ['anna', 1],
    ['carl', 1],
  ] as const) {
    const id = panel.addUser(name, role);
    panel.run(`update wallets set quota = 100000000 where user_id = ${id}`);
  }
  for (const name of Object.keys(tokens) as Who[]) tokens[name] = (await panel.logIn(name)).token;
  const channel = {
    ...{ name: 'demo', type: 61, key: VENDOR_KEY, base_url: listening.url, models: ['demo-video'] },
    task_plugin_key: 'demo',
  };
  expect((await as('root', '/api/channel', { body: channel })).status).toBe(200);
  const price = { plugin_key: '*', model: 'demo-video', expression: '0.01' };
  expect((await as('root', '/api/price', { method: 'PUT', body: price })).status).toBe(200);
  key = (await as('anna', '/api/token', { body: { name: 'k', unlimited_quota: true } })).json.data;
});
afterAll(async () => {
  await panel.gateway.stop();
  await stopVendor();
  await receiver.stop();
});

describe('a key', () => {
  test('without a secret: submissions with an address are refused with advice', async () => {
    const refused = await submit('/v1/tasks/demo', task('a cat'), { 'x-callback-url': receiver.url });
    expect([refused.status, refused.json.error.code, refused.json.error.param]).toEqual([
      400,
      'webhook_secret_required',
      'X-Callback-Url',
    ]);
    expect(refused.json.error.message).toContain(`POST /api/token/${key.id}/webhook-secret`);
    const default_ = await as('anna', `/api/token/${key.id}`, { method: 'PUT', body: { webhook_url: receiver.url } });
    expect([default_.status, default_.json.code]).toEqual([400, 'AUTH_API_KEY_WEBHOOK_SECRET_MISSING']);
  });

  test('gets its secret from its owner only, shown once', async () => {
    const path = `/api/token/${key.id}/webhook-secret`;
    expect((await panel.send(path, { method: 'POST' })).status).toBe(401);
    // Not even an administrator can create it for them.
    for (const who of ['carl', 'root'] as const) {
      expect((await as(who, path, { method: 'POST' })).json.code).toBe('AUTH_API_KEY_NOT_FOUND');
    }
    const made = await as('anna', path, { method: 'POST' });
    expect(made.json.data).toEqual({ secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/), former_until: 0 });
    expect(made.headers.get('cache-control')).toBe('no-store');
    secret = made.json.data.secret;
    const [listed] = (await as('anna', '/api/token')).json.data.items;
    expect(listed).toMatchObject({ id: key.id, webhook_secret: 'ready', webhook_url: null, webhook_former_until: 0 });
    const [row] = await panel.audit('api_key.webhook_secret');
    expect(row).toMatchObject({ username: 'anna', target: `api_key:${key.id}`, detail: { former_until: 0 } });
  });

  test('has a default address, whose query the audit log leaves out', async () => {
    const put = (webhook_url: unknown) => as('anna', `/api/token/${key.id}`, { method: 'PUT', body: { webhook_url } });
    const wrong = await put('https://10.0.0.1/');
    expect([wrong.status, wrong.json.code, wrong.json.details.field]).toEqual([
      400,
      'VALIDATION_FAILED',
      'webhook_url',
    ]);
    expect(wrong.json.message).toContain('WEBHOOK_ALLOWED_HOSTS');
    expect((await put(5)).status).toBe(400);
    expect((await put(receiver.url)).json.data).toMatchObject({ webhook_url: receiver.url });
    const [row] = (await panel.audit('api_key.update')) as { detail: { after: { webhook_url: string } } }[];
    expect(row?.detail.after.webhook_url).toEndWith('/hook?…');
    const others = (await panel.audit('api_key.update')).length;
    expect((await put(`${receiver.url}&tenant=other`)).status).toBe(200);
    expect(await panel.audit('api_key.update')).toHaveLength(others + 1);
    expect((await put(`${receiver.url}&tenant=other`)).status).toBe(200);
    expect(await panel.audit('api_key.update')).toHaveLength(others + 1);
    expect((await put(null)).json.data.webhook_url).toBeNull();
  });

  test('created with an address, returns the secret in the same response', async () => {
    const made = await as('anna', '/api/token', { body: { name: 'k2', webhook_url: receiver.url } });
    expect(made.json.data).toMatchObject({
      key: expect.stringMatching(/^sk-/),
      new_webhook_secret: expect.stringMatching(/^whsec_/),
    });
  });
});

describe('a submission', () => {
  test.each([
    ['no URL', 'receiver.example/hook'],
    ['plain http', 'http://receiver.example/hook'],
    ['a private address', 'https://192.168.1.1/'],
    ['the metadata service', 'https://169.254.169.254/'],
    ['user information', 'https://user:pass@receiver.example/'],
  ])('with %s as its address is refused', async (_name, url) => {
    const refused = await submit('/v1/videos', task('a cat'), { 'x-callback-url': url });
    expect([refused.status, refused.json.error.code]).toEqual([400, 'callback_url_invalid']);
  });

  const video = task('a cat [duration=0]');
  const form = () => {
    const data = new FormData();
    for (const [name, value] of Object.entries(video)) data.append(name, value);
    return data;
  };
  const response = { model: 'demo-video', input: 'a cat [duration=0]', background: true };
  test.each([
    ['the generic API', '/v1/tasks/demo', () => JSON.stringify(video)],
    ['OpenAI’s videos', '/v1/videos', () => JSON.stringify(video)],
    ['OpenAI’s videos as a form', '/v1/videos', form],
    ['OpenAI’s responses', '/v1/responses', () => JSON.stringify(response)],
    ["the vendor's own address", '/demo/v1/videos', () => JSON.stringify(video)],
  ])('to %s sends webhooks to the end, with the object of GET /v1/tasks/:id', async (_name, path, body) => {
    const sent = body();
    const submitted = await fetch(`http://127.0.0.1:${panel.gateway.port}${path}`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${key.key}`, 'x-callback-url': receiver.url },
        ...(typeof sent === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      body: sent,
    });
    expect(submitted.status).toBe(200);
    const answer = (await submitted.json()) as { id: string; metadata?: { task_id?: string } };
    const taskId = answer.metadata?.task_id ?? answer.id;
    const delivered = await finished(taskId);
    expect(verified(delivered, secret)).toBe(1);
    const { json } = await panel.send(`/v1/tasks/${taskId}`, { token: key.key });
    expect(delivered.payload.data).toEqual({ ...json, fail_reason_sentence: null });
  });

  test('sends webhooks as the API description says', async () => {
    const { webhooks, paths } = (await panel.send('/api/openapi.json')).json;
    expect(Object.keys(webhooks)).toEqual([
      ...['task.queued', 'task.updated', 'task.finished', 'task.artifacts_kept', 'batch.finished'],
      ...['channel.failing', 'channel.recovered', 'backup.failed', 'backup.overdue', 'balance.low', 'test'],
    ]);
    for (const received of receiver.received) {
      const { properties, required } =
        webhooks[received.payload.type].post.requestBody.content['application/json'].schema;
      for (const name of Object.keys(received.payload)) expect(Object.keys(properties)).toContain(name);
      expect(Object.keys(received.payload)).toEqual(expect.arrayContaining(required));
      expect(Object.keys(received.payload.data)).toEqual(properties.data.required);
      expect(properties.data.properties.status.enum).toContain(received.payload.data.status);
    }
    for (const path of ['/v1/videos', '/v1/responses', '/v1/tasks/{id}']) {
      expect(paths[path].post.parameters).toContainEqual(expect.objectContaining({ name: 'X-Callback-Url' }));
    }
  });

  test('is verified by the receivers of docs/api.md, in Node and in Python; forgeries are refused', async () => {
    const one = receiver.received.at(-1)!;
    const lines: { what: string; headers: object; body: string; genuine: boolean }[] = [
      { what: 'what came', headers: one.headers, body: one.body, genuine: true },
      { what: 'another body', headers: one.headers, body: `${one.body} `, genuine: false },
      { what: 'another id', headers: { ...one.headers, 'webhook-id': 'msg_2' }, body: one.body, genuine: false },
      {
        what: 'an old one',
        headers: { ...one.headers, 'webhook-timestamp': '1700000000' },
        body: one.body,
        genuine: false,
      },
      { what: 'no headers', headers: {}, body: one.body, genuine: false },
      {
        what: 'a rotation',
        headers: { ...one.headers, 'webhook-signature': `v1,AAAA ${one.headers['webhook-signature']}` },
        body: one.body,
        genuine: true,
      },
    ];
    const folder = temporaryFolder();
    const guide = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');
    const blockFor = (language: string) => guide.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';

    writeFileSync(join(folder, 'receiver.mjs'), blockFor('js'));
    const { isGenuine } = (await import(join(folder, 'receiver.mjs'))) as {
      isGenuine: (secret: string, headers: object, body: Buffer) => boolean;
    };
    for (const { what, headers, body, genuine } of lines) {
      expect([what, isGenuine(secret, headers, Buffer.from(body))]).toEqual([what, genuine]);
    }

    writeFileSync(join(folder, 'receiver.py'), blockFor('python'));
    writeFileSync(join(folder, 'lines.json'), JSON.stringify(lines));
    const program =
      'import json, receiver, sys\nfor l in json.load(open("lines.json")): print(receiver.is_genuine(sys.argv[1], l["headers"], l["body"].encode()))';
    const python = Bun.spawn([findProgram(['python3', 'python']) ?? 'python3', '-c', program, secret], {
      cwd: folder,
      stdout: 'pipe',
    });
    const verdicts = (await new Response(python.stdout).text()).trim().split('\n');
    expect(verdicts).toEqual(lines.map(({ genuine }) => (genuine ? 'True' : 'False')));
  });

  test('after a rotation, webhooks carry a signature of each secret replaced within a day', async () => {
    const rotated = (await as('anna', `/api/token/${key.id}/webhook-secret`, { method: 'POST' })).json.data;
    expect(rotated.former_until).toBeGreaterThan(Date.now() / 1000 + 86_000);
    const submitted = await submit('/v1/tasks/demo', task('a cat [duration=0]'), { 'x-callback-url': receiver.url });
    const delivered = await finished(submitted.json.id);
    expect(readSignatures(delivered.headers)).toHaveLength(2);
    expect([verified(delivered, secret), verified(delivered, rotated.secret)]).toEqual([1, 1]);
    // Rotate again: the first secret stays valid for its day too.
    const last = (await as('anna', `/api/token/${key.id}/webhook-secret`, { method: 'POST' })).json.data;
    const next = await submit('/v1/tasks/demo', task('a dog [duration=0]'), { 'x-callback-url': receiver.url });
    const latest = await finished(next.json.id);
    expect(readSignatures(latest.headers)).toHaveLength(3);
    expect([secret, rotated.secret, last.secret].map((one) => verified(latest, one))).toEqual([1, 1, 1]);
  });
});

describe('the log of deliveries', () => {
  let taskId: string;
  const path = () => `/api/task/${taskId}/webhooks`;

  test('is for the owner and administrators, without the query of the address', async () => {
    receiver.answer((_, response) => void response.writeHead(410).end('no-text-of-the-receiver'));
    const submitted = await submit('/v1/tasks/demo', task('a cat [duration=0]'), { 'x-callback-url': receiver.url });
    taskId = submitted.json.id;
    await until(async () => {
      const [notice] = (await as('anna', path())).json.data.items;
      return notice?.event === 'task.finished' && notice.status === 'failed';
    });
    const { json, text } = await as('anna', path());
    expect(json.data).toMatchObject({ page: 1, page_size: 20 });
    expect(json.data.items[0]).toEqual({
      id: expect.stringMatching(/^msg_/),
      event: 'task.finished',
      url: `http://127.0.0.1:${receiver.port}/hook?…`,
      status: 'failed',
      attempts: 1,
      next_attempt_at: null,
      created_at: expect.any(Number),
      payload: expect.objectContaining({ type: 'task.finished' }),
      deliveries: [{ at: expect.any(Number), http_status: 410, duration_ms: expect.any(Number), error: '' }],
    });
    for (const secretText of ['of-the-receiver', 'whsec_', '"v1,', 'lease']) expect(text).not.toContain(secretText);
    expect((await as('root', path())).json.data.total).toBe(json.data.total);
    expect((await as('carl', path())).json.code).toBe('TASK_NOT_FOUND');
    expect((await panel.send(path())).status).toBe(401);
    expect((await panel.send(path(), { token: key.key })).status).toBe(401);
  });

  test('the owner or an administrator can send a webhook again, with its id, and that is audited', async () => {
    receiver.answer((_, response) => void response.writeHead(204).end());
    const [notice] = (await as('anna', path())).json.data.items;
    const again = `${path()}/${notice.id}/redeliver`;
    expect((await as('carl', again, { method: 'POST' })).json.code).toBe('TASK_NOT_FOUND');
    expect((await as('root', `${path()}/msg_x/redeliver`, { method: 'POST' })).json.code).toBe('WEBHOOK_NOT_FOUND');
    expect((await as('root', again, { method: 'POST' })).json).toEqual({ success: true, message: '', data: null });
    await until(async () => (await as('anna', path())).json.data.items[0]?.status === 'delivered');
    expect(receiver.received.filter(({ id }) => id === notice.id)).toHaveLength(2);
    const [row] = await panel.audit('task.webhook_redeliver');
    expect(row).toMatchObject({ username: 'root', target: `task:${taskId}`, detail: { webhook: notice.id } });
  });

  test('that of a batch is listed and sent again by the id of the batch', async () => {
    const body = { requests: [{ plugin: 'demo', body: task('a cat [duration=0]') }] };
    const { json } = await submit('/v1/batches', body, { 'x-callback-url': receiver.url });
    const of = `/api/task/${json.id}/webhooks`;
    const isDelivered = async () => (await as('anna', of)).json.data?.items[0]?.status === 'delivered';
    await until(isDelivered);
    const { items } = (await as('root', of)).json.data;
    expect(items).toMatchObject([{ event: 'batch.finished', payload: { data: { id: json.id } } }]);
    const again = `${of}/${items[0].id}/redeliver`;
    for (const path of [of, again])
      expect((await as('carl', path, { method: path === of ? 'GET' : 'POST' })).json.code).toBe('TASK_NOT_FOUND');
    expect((await as('anna', again, { method: 'POST' })).status).toBe(200);
    await until(() => receiver.received.filter(({ id }) => id === items[0].id).length === 2);
  });

  test('metrics show pending webhooks, their age and attempts', async () => {
    const { text } = await panel.send('/metrics');
    expect(text).toMatch(/^taskgate_webhooks_pending \d+$/m);
    expect(text).toMatch(/^taskgate_webhooks_oldest_seconds \d+$/m);
    expect(text).toMatch(/^taskgate_webhook_attempts\{state="delivered"\} [1-9]\d*$/m);
    expect(text).toMatch(/^taskgate_webhook_attempts\{state="failed"\} [1-9]\d*$/m);
  });

  test('no secret, signature or query of the address appears in the gateway’s log', () => {
    for (const text of ['whsec_', 'of-the-receiver', 'webhook-signature', secret.slice(6)]) {
      expect(panel.gateway.log()).not.toContain(text);
    }
  });
});
