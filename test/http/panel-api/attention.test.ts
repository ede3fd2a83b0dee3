/**
 * What administrators see of the gateway's state: attention items, health of channels, the system
 * page.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import { farLeaseMs } from '../../support/backdoor.ts';
import { until } from '../../support/until.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

const VENDOR_KEY = 'vendor-key-0123456789';

let panel: PanelCaller;
let vendor: { url: string; stop(): Promise<void> };
const tokens = { root: '', admin: '', user: '' };
const ids = { good: 0, bad: 0 };

beforeAll(async () => {
  vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 200 }).start(0);
  panel = await openPanel({ TASK_POLL_INTERVAL_SECONDS: '1', HOST: '0.0.0.0', TASK_TIMEOUT_MINUTES: '60' });
  tokens.root = (await panel.logIn('root')).token;
  for (const [name, role] of [
    ['admin', 10],
    ['user', 1],
  ] as const) {
    panel.addUser(name, role);
    tokens[name] = (await panel.logIn(name)).token;
  }
  const channel = { type: 61, task_plugin_key: 'demo', base_url: vendor.url };
  const make = async (body: object) => (await must('/api/channel', { token: tokens.root, body })).id as number;
  ids.good = await make({ ...channel, name: 'good', key: VENDOR_KEY, models: ['demo-video'] });
  ids.bad = await make({ ...channel, name: 'bad', key: 'a-wrong-vendor-key', models: ['demo-video-pro'] });
});
afterAll(async () => {
  await panel.gateway.stop();
  await vendor.stop();
});

async function must(path: string, request: Parameters<PanelCaller['send']>[1]) {
  const answer = await panel.send(path, request);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
  return JSON.parse(answer.text).data;
}
type Item = { code: string; severity: string; target: { kind: string; id: unknown }; message: string };
const attention = (token = tokens.admin): Promise<Item[]> => must('/api/attention', { token });
const submit = (model: string, prompt = 'x') =>
  panel.send('/api/task', {
    token: tokens.root,
    body: { plugin_key: 'demo', body: { model, prompt } },
  });

/** A task that has been running for too long, which no loop ends: see `holdOld`. */
let old: string | undefined;
/** Gives it a new lease, so that no poll can change it, one in progress neither. */
function holdOld(): void {
  const untilMs = farLeaseMs();
  panel.run(`update tasks set submit_time = 1000, status = 'IN_PROGRESS', next_poll_at = ${untilMs},
    lease_until = ${untilMs}, lease_seq = lease_seq + 1 where task_id = '${old}'`);
}
beforeEach(() => {
  if (old !== undefined) holdOld();
});

describe('what needs attention', () => {
  test('is for administrators', async () => {
    expect((await panel.send('/api/attention', { token: tokens.user })).status).toBe(403);
    expect((await panel.send('/api/attention')).status).toBe(401);
  });

  test('unsafe settings, models without a price, failing channels, lost keys, false balances, old tasks', async () => {
    // Otherwise they wait for a key that the vendor accepts.
    const body = { key: 'queue.max_wait_seconds', value: '0' };
    await must('/api/option', { method: 'PUT', token: tokens.root, headers: await panel.prove(tokens.root), body });
    for (let i = 0; i < 3; i += 1) expect((await submit('demo-video-pro')).status).toBeGreaterThanOrEqual(400);
    const done = (await submit('demo-video')).json.data.id;
    await until('the task has ended', async () => {
      const { status } = await must(`/api/task/${done}`, { token: tokens.root });
      return status === 'SUCCESS';
    });
    old = (await submit('demo-video', 'x [duration=3600]')).json.data.id;
    holdOld();
    panel.run(`update wallets set quota = quota + 1 where user_id = (select id from users where username = 'user')`);
    await attention();
    const items = await until('the ledger was checked', async () => {
      const found = await attention();
      return (
        found.some(({ code }) => code === 'ledger_mismatch') &&
        found.some(({ code }) => code === 'channel_failing') &&
        found
      );
    });
    const by = (code: string) => items.filter((item) => item.code === code);
    expect(by('setting_unsafe').map(({ target }) => target.id)).toEqual(expect.arrayContaining(['HOST']));
    expect(by('model_unpriced')).toEqual([
      expect.objectContaining({ severity: 'warning', target: { kind: 'price', id: 'demo' } }),
    ]);
    expect(by('model_unpriced')[0]?.message).toContain('demo-video, demo-video-pro');
    expect(by('channel_failing')).toEqual([
      expect.objectContaining({ severity: 'error', target: { kind: 'channel', id: ids.bad } }),
    ]);
    expect(by('channel_key_refused')).toEqual([
      expect.objectContaining({ severity: 'error', target: { kind: 'channel', id: ids.bad } }),
    ]);
    expect(by('tasks_overdue')).toHaveLength(1);
    expect(by('node_gone')).toEqual([]);
    const severities = items.map(({ severity }) => severity);
    expect(severities.lastIndexOf('error')).toBeLessThan(severities.indexOf('warning'));
    // Money comes before what stops, and who gets in before old tasks.
    const codes = items.map(({ code }) => code);
    expect(codes.indexOf('ledger_mismatch')).toBeLessThan(codes.indexOf('channel_failing'));
    expect(codes.lastIndexOf('setting_unsafe')).toBeLessThan(codes.indexOf('tasks_overdue'));
    for (const item of items) expect(JSON.stringify(item)).not.toContain(VENDOR_KEY);
  });

  test('wrong links are not created, and the item says what to set', async () => {
    const { id } = (await submit('demo-video')).json.data;
    await until('the task has ended', async () => {
      const { status } = await must(`/api/task/${id}`, { token: tokens.root });
      return status === 'SUCCESS';
    });
    const links = () => panel.send(`/api/task/${id}/artifacts`, { token: tokens.root });
    const missing = async () => (await attention()).filter(({ code }) => code === 'address_missing');
    expect(await missing()).toEqual([
      {
        ...{ code: 'address_missing', severity: 'warning', target: { kind: 'setting', id: 'ServerAddress' } },
        ...{ reason: 'attention.address_none', params: { address: expect.any(String) } },
        message: expect.stringMatching(/^Results have no links.*Set ServerAddress to the address/),
      },
    ]);
    expect((await links()).json.message).toContain('Root sets ServerAddress or TaskPublicAddress');

    const headers = await panel.prove(tokens.root);
    const body = { key: 'ServerAddress', value: 'https://gate.example.org' };
    await must('/api/option', { method: 'PUT', token: tokens.root, headers, body });
    expect(await missing()).toEqual([]);
    expect((await links()).json.data.artifacts[0].content_url).toStartWith('https://gate.example.org/v1/tasks/');
  });
});

test('a gateway that this machine alone reaches greets with nothing, until a proxy forwards to it', async () => {
  const local = await openPanel({ REDIS_URLS: 'redis://nowhere' });
  try {
    const { token } = await local.logIn('root');
    const list = async (headers = {}) =>
      (await local.send('/api/attention', { token, headers })).json.data.map(
        ({ code, target, params }: { code: string; target: { id: string }; params: object }) => [
          code,
          target.id,
          params,
        ],
      );
    const said = { message: expect.any(String), reason: 'config.misspelt' };
    const misspelt = { warning: { ...said, params: { name: 'REDIS_URLS', near: 'REDIS_URL' } } };
    const expected = [['setting_doubtful', 'REDIS_URLS', misspelt]];
    expect(await list()).toEqual(expected);
    const forwarded = await list({ 'x-forwarded-for': '203.0.113.9' });
    expect(forwarded.map(([code, id]: unknown[]) => `${code} ${id}`).sort()).toEqual([
      'address_missing ServerAddress',
      'backup_off backup.daily',
      'setting_doubtful REDIS_URLS',
      'setting_unsafe TRUSTED_PROXIES',
    ]);
  } finally {
    await local.gateway.stop();
  }
});

test('what the weekly check found damaged is an error, and a figure for alerts', async () => {
  const metric = async () => /^taskgate_data_check_faults (\S+)$/m.exec((await panel.send('/metrics')).text)?.[1];
  const damage = async () => (await attention()).filter(({ code }) => code === 'data_damaged');
  expect([await damage(), await metric()]).toEqual([[], '0']);
  const faults = ['page 7 is broken', 'the index tasks_due lacks 2 rows'];
  const note = { checkedAt: systemClock.unix(), since: systemClock.unix(), faults };
  panel.run(`insert or replace into options (key, value) values ('data_check.latest', '${JSON.stringify(note)}')`);
  expect(await damage()).toMatchObject([
    { severity: 'error', target: { kind: 'system' }, message: expect.stringContaining(faults.join('; ')) },
  ]);
  await until('the metric follows', async () => (await metric()) === '2');
  panel.run(`delete from options where key = 'data_check.latest'`);
});

test('prices that refuse or apply to nothing, channels nobody serves, models without a price', async () => {
  const send = (path: string, body: object, method = 'POST') => must(path, { method, token: tokens.root, body });
  const items = async (code: string) =>
    (await attention())
      .filter((item) => item.code === code)
      .map(({ severity, target, message }) => [severity, target.id, message]);
  await send('/api/price', { model: 'nobody-has-it', expression: '1' }, 'PUT');
  await send('/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.1 * u("seconds")' }, 'PUT');
  const channel = { type: 61, task_plugin_key: 'demo', base_url: vendor.url, key: VENDOR_KEY };
  const made = await send('/api/channel', { ...channel, name: 'lost', models: ['demo-video', 'demo-old', 'mine'] });
  expect(made.unpriced_models).toEqual(['demo-old', 'mine']);
  const relay = { type: 1, name: 'relay', key: VENDOR_KEY, base_url: vendor.url, models: ['relayed-x'] };
  expect((await send('/api/channel', relay)).unpriced_models).toEqual(['relayed-x']);

  expect(await items('price_unused')).toEqual([['warning', null, 'Prices that apply to no model: */nobody-has-it.']]);
  expect(await items('channel_unserved')).toEqual([
    ['warning', made.id, expect.stringMatching(/does not serve these models of lost: demo-old, mine\.$/)],
  ]);
  expect(await items('model_unpriced')).toContainEqual(['warning', '*', expect.stringContaining('relayed-x')]);
  expect(await items('price_refuses')).toEqual([]);

  panel.run(`update prices set expression = '0.1 * u("minutes")' where model = 'demo-video'`);
  await send('/api/price', { model: 'nobody-has-it', expression: '2' }, 'PUT');
  await until('the change of the price was read', async () => (await items('price_refuses')).length > 0);
  expect(await items('price_refuses')).toEqual([
    [
      'error',
      null,
      expect.stringMatching(/^The price of demo\/demo-video uses billing variables that are not declared: minutes/),
    ],
  ]);
  expect(await send(`/api/channel/${made.id}`, { status: 2 }, 'PUT')).toMatchObject({ status: 2 });
  expect(await items('channel_unserved')).toEqual([]);
});

/** Nodes read keys again when a channel changes. */
async function loseKey(): Promise<void> {
  panel.run(`update credentials set key_sealed = 'lost' where channel_id = ${ids.bad}`);
  await must(`/api/channel/${ids.bad}`, { method: 'PUT', token: tokens.root, body: { weight: 7 } });
}

describe('channels', () => {
  test('show their health, and whether their key can be decrypted', async () => {
    type Row = { id: number; health: { succeeded: number } };
    const list: Row[] = await until('both tasks that have ended count', async () => {
      const { items } = await must('/api/channel', { token: tokens.admin });
      return items.some(({ health }: Row) => health.succeeded === 2) && items;
    });
    const [good, bad] = [ids.good, ids.bad].map((id) => list.find((row) => row.id === id));
    expect(good).toMatchObject({
      key_readable: true,
      health: { state: 'good', succeeded: 2, failed: 0, in_flight: 1 },
    });
    expect(bad).toMatchObject({
      key_readable: true,
      health: {
        state: 'failing',
        succeeded: 0,
        failed: 3,
        in_flight: 0,
        last_success_at: 0,
        last_failed_task: expect.stringMatching(/^task_/),
        last_failure_code: expect.stringMatching(/^VENDOR_/),
        last_failure_reason: expect.stringMatching(/./),
      },
    });
    // A failed test counts at once, whatever tasks came to.
    const body = {
      type: 61,
      task_plugin_key: 'demo',
      base_url: 'http://127.0.0.1:9',
      key: 'k',
      models: ['demo-video'],
    };
    const { id } = await must('/api/channel', { token: tokens.root, body: { ...body, name: 'gone' } });
    const health = async () => (await must(`/api/channel/${id}`, { token: tokens.admin })).health;
    expect(await health()).toMatchObject({ state: 'idle', test: null });
    expect(await must(`/api/channel/${id}/test`, { method: 'POST', token: tokens.admin })).toMatchObject({ ok: false });
    expect(await health()).toMatchObject({ state: 'failing', test: { failed_step: 'connection' } });
    expect((await attention()).filter(({ target }) => target.id === id).map(({ code }) => code)).toContain(
      'channel_failing',
    );
    await panel.send(`/api/channel/${id}`, { method: 'DELETE', token: tokens.root });
    await loseKey();
    expect((await must(`/api/channel/${ids.bad}`, { token: tokens.admin })).key_readable).toBe(false);
  });
});

describe('a trial of a channel', () => {
  const change = (id: number, body: object) =>
    must(`/api/channel/${id}`, { method: 'PUT', token: tokens.root, body: { key: VENDOR_KEY, ...body } });
  const attempt = async (id: number) => {
    const answer = await panel.send(`/api/channel/${id}/test`, { method: 'POST', token: tokens.admin });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain(VENDOR_KEY);
    const { ok, steps, status } = answer.json.data;
    const outcomes = steps.map(({ name, ok: good }: { name: string; ok: boolean }) => `${name} ${good}`);
    return { ok, status, outcomes, last: steps.at(-1) };
  };

  test('whose vendor accepts the key', async () => {
    const trial = await attempt(ids.good);
    expect(trial).toMatchObject({ ok: true, status: 404 });
    expect(trial.outcomes).toEqual([
      'key true',
      'plugin true',
      'address true',
      'connection true',
      'answer true',
      'credential true',
    ]);
    expect((await panel.audit('channel.test'))[0]).toMatchObject({
      target: `channel:${ids.good}`,
      detail: { ok: true },
    });
  });

  test('whose key is refused or lost, or whose address does not answer or resolve', async () => {
    const refused = async () => (await attention()).filter(({ code }) => code === 'channel_key_refused').length;
    expect(await refused()).toBe(1);
    await change(ids.bad, { key: 'invalid-vendor-key' });
    expect(await refused()).toBe(0);
    expect(await attempt(ids.bad)).toMatchObject({ ok: false, status: 401, last: { name: 'credential', ok: false } });
    await change(ids.bad, { base_url: 'http://127.0.0.1:1' });
    expect(await attempt(ids.bad)).toMatchObject({ ok: false, status: null, last: { name: 'connection', ok: false } });
    await change(ids.bad, { base_url: 'http://nowhere.invalid' });
    expect(await attempt(ids.bad)).toMatchObject({ ok: false, last: { name: 'address', ok: false } });
    await loseKey();
    expect((await attempt(ids.bad)).outcomes).toEqual(['key false']);
  });

  test('of a relay asks for the models; over TLS it names the fault of the certificate', async () => {
    const seen: string[] = [];
    const relay = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        seen.push(`${new URL(request.url).pathname} ${request.headers.get('authorization')}`);
        return Response.json({ data: [] });
      },
    });
    const body = { name: 'relay', type: 1, key: VENDOR_KEY, base_url: `${relay.url.origin}/v1`, models: ['x'] };
    const { id } = await must('/api/channel', { token: tokens.root, body });
    expect(await attempt(id)).toMatchObject({ ok: true, status: 200 });
    expect(seen).toEqual([`/v1/models Bearer ${VENDOR_KEY}`]);
    await change(id, { base_url: relay.url.origin.replace('http:', 'https:') });
    expect((await attempt(id)).last).toMatchObject({ ok: false });
    await relay.stop(true);
  });

  test('is for administrators, and only of existing channels', async () => {
    for (const [token, id, status] of [
      [tokens.user, ids.good, 403],
      [tokens.admin, 999, 404],
    ] as const) {
      expect((await panel.send(`/api/channel/${id}/test`, { method: 'POST', token })).status).toBe(status);
    }
  });
});

test('the system page: nodes, queue, sandbox, database, ledger, limits', async () => {
  const system = await must('/api/node', { token: tokens.root });
  expect(system).toMatchObject({
    nodes: [{ role: 'master', alive: true, self: true, version: expect.any(String) }],
    queue: { unfinished: 1, due: 0 },
    polls: { polling: true, made: expect.any(Number) },
    sandbox: { suspended: [], processes: expect.any(Number), max_processes: expect.any(Number) },
    plugins: { generation: expect.any(Number), errors: {} },
    webhooks: { pending: 0, oldest_seconds: 0 },
    database: { kind: 'sqlite', shared_cache: false },
    ledger: { ok: false, users: [{ user_id: expect.any(Number), quota: 1, ledger: 0 }] },
    limits: { TASK_POLL_INTERVAL_SECONDS: 1, TASK_TIMEOUT_MINUTES: 60 },
  });
  expect(system.database.bytes).toBeGreaterThan(100_000);
  expect((await panel.send('/api/node', { token: tokens.admin })).status).toBe(403);
});

// Last, because it leaves a plugin, a channel and a task.
test('a plugin that sends the whole context, its key included, to the vendor', async () => {
  const source = readFileSync(new URL('../../../src/plugins/factory/demo.js', import.meta.url), 'utf8')
    .replaceAll("'/demo/", "'/chatty/")
    .replaceAll('demo-video', 'chatty-video')
    .replace("key: 'demo'", "key: 'chatty'")
    .replace(
      'export function buildQueryRequest(ctx) {',
      "$&\n  return { url: `${ctx.baseUrl}/v1/jobs`, method: 'POST', body: { ctx } };",
    );
  await must('/api/plugin/task', { token: tokens.root, body: { source } });
  const chatty = { name: 'chatty', type: 61, task_plugin_key: 'chatty', base_url: vendor.url };
  const body = { ...chatty, key: VENDOR_KEY, models: ['chatty-video'] };
  await must('/api/channel', { token: tokens.root, body });
  const task = { plugin_key: 'chatty', body: { model: 'chatty-video', prompt: 'x' } };
  expect((await panel.send('/api/task', { token: tokens.root, body: task })).status).toBe(200);
  const item = await until('the poll is noticed', async () =>
    (await attention()).find(({ code }) => code === 'credential_exposed'),
  );
  expect(item).toMatchObject({ severity: 'warning', target: { kind: 'plugin', id: 'chatty' } });
  expect(item.message).toMatch(
    /^The plugin "chatty" [\d.]+ sends the channel key outside headers: body \(buildQueryRequest, /,
  );
  expect(item.message).not.toContain(VENDOR_KEY);
});
