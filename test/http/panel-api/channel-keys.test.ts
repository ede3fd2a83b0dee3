/** The keys of a channel over HTTP: rows, trials, balances, and the own limits of API keys. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { pluginSource } from '../../plugins/support.ts';
import { PASSWORD } from '../../support/cheap-hash.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  signIn,
  startGateway,
  startVendor,
} from '../../support/gateway.ts';
import { submit, waitForEnd } from '../../support/main-job.ts';
import { type RefusingVendor, startRefusingVendor } from '../../support/refusing-vendor.ts';
import { proofHeader } from '../../support/security-proof.ts';
import { until } from '../../support/until.ts';

const KEYS = ['good-key-0000001', 'weak-key-0000002'] as const;
const SCRIPT = `
export const buildBalanceRequest = (ctx) => ({ url: ctx.channel.baseUrl + '/stats' });
export const parseBalanceResponse = (ctx, response) => (response.statusCode === 200 ? 4.25 : -1);`;

let gateway: Gateway;
let root: Administrator;
let admin: Administrator;
let origin: Awaited<ReturnType<typeof startVendor>>;
let vendor: RefusingVendor;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { UPSTREAM_ALLOW_PRIVATE: 'true', TASK_POLL_INTERVAL_SECONDS: '1' } }),
    startVendor(),
  ]);
  vendor = startRefusingVendor({ url: origin.url, key: 'demo-vendor-key' });
  root = await setUp(gateway);
  await root.createUser({ username: 'clerk', role: 10 });
  admin = await signIn(gateway.url, { username: 'clerk' });
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop();
  await origin?.stop();
});

type Credential = { id: number; label: string; key_hint: string; pool: string; used_quota: number; running: number };
const open = (fields: Record<string, unknown> = {}): Promise<number> =>
  admin.createChannel(vendor.url, { key: undefined, credentials: KEYS.map((key) => ({ key })), ...fields });
const refusal = async (who: Administrator, [method, path]: [string, string], body?: unknown) => {
  const answer = await ask(`${gateway.url}${path}`, { method, token: who.token, ...(body ? { body } : {}) });
  return [answer.status, answer.body.code];
};

describe('keys of a channel', () => {
  test('are added, named, pooled and removed one by one, and no answer has one', async () => {
    const id = await open();
    const path = `/api/channel/${id}/credentials`;
    const added = await admin.call<Credential[]>('POST', path, { credentials: [{ key: 'third-key-000003' }] });
    expect(added).toMatchObject([{ key_hint: '0003', used_quota: 0, running: 0, balance: { usd: null, read_at: 0 } }]);
    const one = `${path}/${added[0]?.id}`;
    const changed = await admin.call('PUT', one, { label: 'night', pool: 'shared' });
    expect(changed).toMatchObject({ label: 'night', pool: 'shared', key_hint: '0003' });
    const listed = await admin.call<Credential[]>('GET', path);
    expect(listed.map(({ label }) => label)).toEqual(['', '', 'night']);
    expect(JSON.stringify([listed, await admin.call('GET', `/api/channel/${id}`)])).not.toMatch(
      /(good|weak|third)-key/,
    );
    for (const { id: credential } of listed.slice(1)) await admin.call('DELETE', `${path}/${credential}`);
    expect(await refusal(admin, ['DELETE', `${path}/${listed[0]?.id}`])).toEqual([409, 'CHANNEL_LAST_CREDENTIAL']);
    expect(await refusal(admin, ['PUT', `${path}/999999`], { label: 'x' })).toEqual([
      404,
      'CHANNEL_CREDENTIAL_NOT_FOUND',
    ]);
  });

  test('are read by root alone, with a proof', async () => {
    const id = await open();
    const [first] = await admin.call<Credential[]>('GET', `/api/channel/${id}/credentials`);
    const path = `/api/channel/${id}/credentials/${first?.id}/key`;
    expect((await refusal(admin, ['POST', path]))[0]).toBe(403);
    const unproven = await ask(`${gateway.url}${path}`, { method: 'POST', token: root.token });
    expect(unproven.body.code).toBe('SECURITY_PROOF_REQUIRED');
    const proof = { url: gateway.url, token: root.token, scope: 'channel.key.read', password: PASSWORD };
    const read = await ask(`${gateway.url}${path}`, {
      ...{ method: 'POST', token: root.token, headers: await proofHeader(proof) },
    });
    expect(read.body.data).toEqual({ key: KEYS[0] });
  });

  test('are all tried by a test, or the one that is named', async () => {
    const id = await open();
    const tried = await admin.call<{ ok: boolean; credentials: (Credential & { ok: boolean; steps: unknown[] })[] }>(
      'POST',
      `/api/channel/${id}/test`,
    );
    expect(tried.credentials.map(({ key_hint: hint }) => hint)).toEqual(['0001', '0002']);
    expect(tried.ok).toBe(tried.credentials.every(({ ok }) => ok));
    const [, second] = tried.credentials;
    const named = await admin.call<typeof tried>('POST', `/api/channel/${id}/test?credential=${second?.id}`);
    expect(named.credentials.map((one) => one.id)).toEqual([second?.id ?? 0]);
    expect(await refusal(admin, ['POST', `/api/channel/${id}/test?credential=999999`])).toEqual([
      404,
      'CHANNEL_CREDENTIAL_NOT_FOUND',
    ]);
  });

  test('a script that reads balances comes from root alone, and its amount is shown', async () => {
    const id = await open();
    const settings = { balance_script: SCRIPT, balance_alert_usd: 10 };
    const change: [string, string] = ['PUT', `/api/channel/${id}`];
    expect(await refusal(admin, change, { settings })).toEqual([403, 'CHANNEL_SCRIPT_ROOT_ONLY']);
    await root.call(...change, { settings });
    // What is there already may stay, or go.
    await admin.call(...change, { settings: { ...settings, balance_alert_usd: 5 } });
    const read = await admin.call('POST', `/api/channel/${id}/balance`);
    expect(read).toMatchObject({ keys: 2, credentials: [{ balance: { usd: 4.25, fault: null } }, {}] });
    await until('what needs attention says so', async () => {
      const items = await admin.call<{ code: string; target: { id: unknown } }[]>('GET', '/api/attention');
      return items.some(({ code, target }) => target.id === id && code === 'channel_balance_low');
    });
    await admin.call(...change, { settings: {} });
    expect(await refusal(admin, change, { settings })).toEqual([403, 'CHANNEL_SCRIPT_ROOT_ONLY']);
  });
});

describe('what a plugin reports about an account', () => {
  const HOOKS = `
export const buildBalanceRequest = (ctx) => ({ url: ctx.channel.baseUrl + '/stats' });
export const parseBalanceResponse = (ctx, response) => (response.statusCode === 200 ? 7.5 : -1);
export const queryCapacity = ({ channel, response }) => response
  ? { limits: { maxRunning: 3, models: { 'teller-1': { maxPerMinute: 60 } } } }
  : { request: { url: channel.baseUrl + '/stats' } };`;

  test('is asked for with each key; the balance is shown, and the limits hold', async () => {
    await root.call('POST', '/api/plugin/task', {
      source: pluginSource({ key: 'teller', models: ['teller-1'] }, HOOKS),
    });
    const id = await open({ models: ['teller-1'], task_plugin_key: 'teller', limits: { max_running: 9 } });
    const limits = { max_running: 3, models: { 'teller-1': { max_per_minute: 60 } } };
    const one = { balance: { usd: 7.5, fault: null }, told_limits: limits, told_limits_fault: null };
    expect(await admin.call('POST', `/api/channel/${id}/balance`)).toMatchObject({ keys: 2, credentials: [one, one] });
    await until('the lower one of both limits is that of the channel', async () => {
      const { capacity } = await admin.call<{ capacity: { limit: number; limit_reason: string } }>(
        'GET',
        `/api/channel/${id}`,
      );
      return capacity.limit === 3 && capacity.limit_reason === 'told';
    });
    // A new key of another account has said nothing yet.
    const [first] = await admin.call<Credential[]>('GET', `/api/channel/${id}/credentials`);
    const path = `/api/channel/${id}/credentials/${first?.id}`;
    expect(await admin.call('PUT', path, { key: 'other-key-000004' })).toMatchObject({
      ...{ balance: { usd: null, read_at: 0 }, told_limits: null },
    });
  });
});

test('one bad key of three is seen by no client, rests within three tasks, and the page says when', async () => {
  const bad = 'bad-key-00000003';
  const model = 'three-keys';
  const keys = [...KEYS, bad].map((each) => ({ key: each }));
  const id = await open({ models: [model], model_mapping: { [model]: 'demo-video' }, credentials: keys });
  vendor.refused.set(bad, 401);
  const token = await root.createKey();
  const order = async () => {
    const { status, body } = await submit(gateway.url, token, { model, prompt: 'a [duration=0.1]' });
    expect([status, body.error ?? null]).toEqual([200, null]);
    return String(body.id);
  };
  const ids = await Promise.all(Array.from({ length: 9 }, order));
  const asked = vendor.asked.get(bad) ?? 0;
  expect([asked >= 1, asked <= 3]).toEqual([true, true]);
  for (let more = 0; more < 6; more += 1) ids.push(await order());
  expect(vendor.asked.get(bad)).toBe(asked);
  for (const each of ids) expect(await waitForEnd(gateway.url, token, each)).toMatchObject({ status: 'SUCCESS' });
  const { rests } = await admin.call<{ rests: object[] }>('GET', `/api/channel/${id}/history`);
  const [, , third] = await admin.call<Credential[]>('GET', `/api/channel/${id}/credentials`);
  expect(rests).toMatchObject([{ what: 'rested', reason: 'credential', credential_id: third?.id, model: '' }]);
});

test('a model that stands in for another is named by the task and its bill', async () => {
  const [model, other] = ['asked-for', 'stand-in'];
  const bad = 'bad-key-00000004';
  vendor.refused.set(bad, 401);
  await open({ models: [model], model_mapping: { [model]: 'demo-video' }, credentials: [{ key: bad }] });
  await open({ models: [other], model_mapping: { [other]: 'demo-video' } });
  await root.call('PUT', '/api/price', { model, expression: '0.04 * u("seconds")' });
  await root.call('PUT', '/api/price', { model: other, expression: '0.02 * u("seconds")' });
  const fallbacks = JSON.stringify({ default: { [model]: { models: [other] } } });
  await root.call('PUT', '/api/option', { key: 'queue.model_fallbacks', value: fallbacks });
  const token = await root.createKey();
  const { status, body } = await submit(gateway.url, token, { model, prompt: 'a [duration=0.1]', seconds: 5 });
  expect([status, body.error ?? null]).toEqual([200, null]);
  const id = String(body.id);
  expect(await waitForEnd(gateway.url, token, id)).toMatchObject({ status: 'SUCCESS' });
  const named = { model: other, requested_model: model };
  expect((await ask(`${gateway.url}/v1/tasks/${id}`, { token })).body).toMatchObject(named);
  // 0.02 USD a second, in quota.
  expect(await root.call('GET', `/api/task/${id}`)).toMatchObject({ ...named, bill: { settled: 50_000 } });
  const { items } = await root.call<{ items: object[] }>('GET', `/api/log?model=${other}`);
  expect(items).toMatchObject([{ model: other, bill: { settled: 50_000 } }]);
});

test('an API key at its own limits is told so, with what is left of them', async () => {
  await open({ models: ['demo-video-pro'] });
  await root.call('PUT', '/api/option', { key: 'queue.max_wait_seconds', value: '0' });
  const one = await root.createKey({ max_running: 1 });
  const order = (token: string) =>
    submit(gateway.url, token, { model: 'demo-video-pro', prompt: 'a boat [duration=600]' });
  expect((await order(one)).status).toBe(200);
  const second = await order(one);
  expect([second.status, (second.body.error as { code: string }).code]).toEqual([429, 'concurrency_limit']);
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  const slow = await root.createKey({ requests_per_minute: 2 });
  const first = await order(slow);
  expect([
    first.headers.get('x-ratelimit-limit-requests'),
    first.headers.get('x-ratelimit-remaining-requests'),
  ]).toEqual(['2', '1']);
  await order(slow);
  const third = await order(slow);
  expect(third.status).toBe(429);
  expect(third.headers.get('x-ratelimit-remaining-requests')).toBe('0');
});
