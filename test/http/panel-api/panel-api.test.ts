/**
 * The panel's API of a running gateway: who may do what, the responses, and the audit log.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type IncomingHttpHeaders, request } from 'node:http';
import { createDemoVendor } from '../../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { proofHeader } from '../../support/security-proof.ts';

const ROOT = { username: 'root', password: 'correct horse battery' };
const VENDOR_KEY = 'vendor-key-0123456789';

let gateway: Gateway;
let base: string;
let setupToken: string;

beforeAll(async () => {
  gateway = await startGateway();
  base = gateway.url;
  setupToken = gateway.setupUrl?.split('#token=')[1] ?? '';
});
afterAll(() => gateway.stop());

type Send = { method?: string; path: string; token?: string; body?: unknown; headers?: Record<string, string> };

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Answer = { status: number; json: any; text: string; headers: Headers };

async function send({ method = 'GET', path, token, body, headers }: Send): Promise<Answer> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : undefined,
    headers: response.headers,
  };
}

const readCookie = (answer: Answer): string =>
  answer.headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith('svc_refresh_'))
    ?.split(';')[0] ?? '';

let rootToken: string;
async function root(): Promise<string> {
  rootToken ??= (await logIn(ROOT)).json.data.access_token;
  return rootToken;
}
const logIn = (who: { username: string; password: string }) =>
  send({ method: 'POST', path: '/api/user/login', body: who });

describe('set-up', () => {
  test('is required, works by one-time link, and creates root once', async () => {
    expect((await send({ path: '/api/setup' })).json).toEqual({ success: true, message: '', data: { status: false } });
    expect((await send({ path: '/api/status' })).json.data).toMatchObject({ setup: false, system_name: 'Taskgate' });

    const wrong = await send({ method: 'POST', path: '/api/setup', body: { token: 'guessed', ...ROOT } });
    expect([wrong.status, wrong.json.code]).toEqual([403, 'AUTH_SETUP_TOKEN_INVALID']);
    const weak = await send({
      method: 'POST',
      path: '/api/setup',
      body: { token: setupToken, username: 'root', password: 'short' },
    });
    expect([weak.status, weak.json.code, weak.json.details.field]).toEqual([400, 'VALIDATION_FAILED', 'password']);
    expect(weak.text).not.toContain('short"');

    const done = await send({ method: 'POST', path: '/api/setup', body: { token: setupToken, ...ROOT } });
    expect([done.status, done.json.data]).toEqual([200, { username: 'root' }]);
    expect(done.headers.getSetCookie()).toEqual([]);

    const again = await send({ method: 'POST', path: '/api/setup', body: { token: setupToken, ...ROOT } });
    expect([again.status, again.json.code]).toEqual([409, 'AUTH_SETUP_DONE']);
    expect((await send({ path: '/api/status' })).json.data.setup).toBe(true);
  });
});

describe('sign-in', () => {
  test('returns the unified result and both cookies', async () => {
    const answer = await logIn(ROOT);
    expect(answer.status).toBe(200);
    const { access_token, access_expires_at, token_type, user, session } = answer.json.data;
    expect([token_type, typeof access_token, access_expires_at > 0]).toEqual(['Bearer', 'string', true]);
    expect(user).toMatchObject({ username: 'root', role: 100, status: 1, has_password: true, quota: 100_000_000 });
    expect(Object.keys(session).sort()).toEqual(
      ['created_at', 'current', 'expires_at', 'ip', 'last_active_at', 'login_method', 'sid', 'user_agent'].sort(),
    );
    expect(answer.headers.getSetCookie().map((cookie) => cookie.split('=')[0])).toEqual([
      expect.stringMatching(/^svc_refresh_[0-9a-f]{6}$/),
      'svc_has_session',
    ]);
    for (const secret of ['password', 'hash', 'auth_version', 'argon2']) {
      expect(answer.text.replace('"has_password"', '').replace('"login_method":"password"', '')).not.toContain(secret);
    }
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['a wrong password', { username: 'root', password: 'wrong horse' }],
    ['an unknown user', { username: 'nobody', password: 'wrong horse' }],
  ])('%s is the same refusal', async (_name, body) => {
    const answer = await send({ method: 'POST', path: '/api/user/login', body });
    expect([answer.status, answer.json.code, answer.json.message]).toEqual([
      401,
      'AUTH_INVALID_CREDENTIALS',
      'The username or password is wrong.',
    ]);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test('refresh rotates; logout ends the session and clears both cookies', async () => {
    const cookie = readCookie(await logIn(ROOT));
    const refreshed = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: { cookie } });
    expect(refreshed.status).toBe(200);
    const next = readCookie(refreshed);
    expect(next).not.toBe(cookie);
    const { sid } = refreshed.json.data.session;

    const mismatch = await send({
      method: 'POST',
      path: '/api/user/auth/refresh',
      headers: { cookie: next, 'x-auth-session': 'another' },
    });
    expect([mismatch.status, mismatch.json.code, mismatch.headers.getSetCookie()]).toEqual([
      409,
      'AUTH_SESSION_MISMATCH',
      [],
    ]);

    const out = await send({
      method: 'POST',
      path: '/api/user/auth/logout',
      headers: { cookie: next, 'x-auth-session': sid },
    });
    expect([out.status, out.json.data.cookie_cleared]).toEqual([200, true]);
    expect(out.headers.getSetCookie().every((header) => header.includes('Max-Age=0'))).toBe(true);

    const after = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: { cookie: next } });
    expect([after.status, after.json.code]).toEqual([401, 'AUTH_SESSION_REVOKED']);
    expect(after.headers.getSetCookie().map((header) => header.split(';')[0])).toEqual([
      expect.stringMatching(/^svc_refresh_[0-9a-f]{6}=$/),
      'svc_has_session=',
    ]);
  });

  test('a token of the former cookie name is taken once, and that cookie goes', async () => {
    const token = readCookie(await logIn(ROOT)).split('=')[1] ?? '';
    const former = { cookie: `svc_refresh=${token}` };
    const refreshed = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: former });
    expect(refreshed.status).toBe(200);
    const set = refreshed.headers.getSetCookie();
    expect(set.find((line) => line.startsWith('svc_refresh='))).toMatch(
      /^svc_refresh=; Max-Age=0; Path=\/api\/user\/auth;/,
    );
    expect(readCookie(refreshed)).toMatch(/^svc_refresh_[0-9a-f]{6}=.{60}/);
    // The own name wins; what another gateway of this host keeps under the former one is left
    // alone.
    const both = { cookie: `svc_refresh=${'x'.repeat(36)}.foreign; ${readCookie(refreshed)}` };
    const next = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: both });
    expect([next.status, next.headers.getSetCookie().length]).toEqual([200, 2]);
    const foreign = { cookie: `svc_refresh=00000000-0000-4000-8000-000000000000.${'a'.repeat(64)}` };
    const refused = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: foreign });
    expect(refused.status).toBe(401);
    expect(refused.headers.getSetCookie().some((line) => line.startsWith('svc_refresh='))).toBe(false);
  });

  test.each([
    ['no cookie', ''],
    ['a malformed cookie', 'svc_refresh=abc'],
    ['JSON as a cookie', 'svc_refresh={"sid":1}'],
    ['an unknown session', `svc_refresh=00000000-0000-4000-8000-000000000000.${'a'.repeat(64)}`],
  ])('refresh with %s is 401 and clears', async (_name, cookie) => {
    const answer = await send({ method: 'POST', path: '/api/user/auth/refresh', headers: { cookie } });
    expect([answer.status, answer.json.code]).toEqual([401, 'AUTH_UNAUTHORIZED']);
    expect(answer.headers.getSetCookie().length).toBe(2);
  });

  test('sessions are listed and ended', async () => {
    const mine = (await logIn(ROOT)).json.data;
    const other = (await logIn(ROOT)).json.data;
    const list = await send({ path: '/api/user/sessions', token: mine.access_token });
    expect([list.json.data[0].sid, list.json.data[0].current]).toEqual([mine.session.sid, true]);
    const ended = await send({
      method: 'DELETE',
      path: `/api/user/sessions/${other.session.sid}`,
      token: mine.access_token,
    });
    expect(ended.json.data).toEqual({ revoked_sid: other.session.sid, current: false });
    expect((await send({ path: '/api/user/self', token: other.access_token })).json.code).toBe('AUTH_SESSION_REVOKED');
    const gone = await send({
      method: 'DELETE',
      path: `/api/user/sessions/${other.session.sid}`,
      token: mine.access_token,
    });
    expect([gone.status, gone.json.code]).toEqual([404, 'AUTH_SESSION_NOT_FOUND']);
    rootToken = mine.access_token;
    const others = await send({ method: 'POST', path: '/api/user/sessions/revoke-others', token: mine.access_token });
    expect(others.json.data.revoked_count).toBeGreaterThanOrEqual(0);
  });

  test('a new password needs the old one and leaves no trace of either', async () => {
    const token = await root();
    const wrong = await send({
      method: 'PUT',
      path: '/api/user/self',
      token,
      body: { original_password: 'nonsense', password: 'another horse battery' },
    });
    expect([wrong.status, wrong.json.code]).toEqual([400, 'AUTH_PASSWORD_INVALID']);
    const changed = await send({
      method: 'PUT',
      path: '/api/user/self',
      token,
      body: { original_password: ROOT.password, password: 'another horse battery' },
    });
    expect(changed.status).toBe(200);
    expect((await send({ path: '/api/user/self', token })).status).toBe(401);
    rootToken = changed.json.data.access_token;
    ROOT.password = 'another horse battery';
    const audit = await send({ path: '/api/audit', token: rootToken });
    expect(audit.json.data.items[0]).toMatchObject({
      action: 'user.password',
      username: 'root',
      auth_method: 'session',
    });
    expect(audit.text).not.toContain('horse');
  });
});

test('the OpenAPI document is compressed, and sent only once to a client that keeps it', async () => {
  const path = '/api/openapi.json';
  // Not by fetch, which unpacks.
  const ask = (headers: Record<string, string>, method = 'GET') =>
    new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
      const sent = request(`${gateway.url}${path}`, { method, headers }, async (answer) => {
        const bytes = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>));
        resolve({ status: answer.statusCode, headers: answer.headers, bytes });
      });
      sent.on('error', reject).end();
    });
  const plain = await ask({ 'accept-encoding': 'identity' });
  const gzipped = await ask({ 'accept-encoding': 'gzip' });
  expect(gzipped.headers['content-encoding']).toBe('gzip');
  expect(Buffer.from(Bun.gunzipSync(new Uint8Array(gzipped.bytes))).equals(plain.bytes)).toBe(true);
  expect(gzipped.bytes.byteLength * 4).toBeLessThan(plain.bytes.byteLength);
  const { etag = '' } = gzipped.headers;
  expect(plain.headers.etag).toBe(etag);
  for (const known of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
    const again = await ask({ 'if-none-match': known, 'accept-encoding': 'gzip' });
    expect([again.status, again.headers.etag, again.bytes.byteLength]).toEqual([304, etag, 0]);
  }
  expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200);
  const head = await ask({ 'accept-encoding': 'gzip' }, 'HEAD');
  expect([head.status, head.headers.etag, head.bytes.byteLength]).toEqual([200, etag, 0]);
});

describe('every route declares who may call it', () => {
  test('the access of all routes', async () => {
    const { json } = await send({ path: '/api/openapi.json' });
    const access: Record<string, string[]> = {};
    for (const [path, operations] of Object.entries(
      json.paths as Record<string, Record<string, { 'x-access': string }>>,
    )) {
      for (const [method, operation] of Object.entries(operations)) {
        const level = operation['x-access'];
        access[level] = [...(access[level] ?? []), `${method.toUpperCase()} ${path}`].sort();
      }
    }
    expect(access).toEqual({
      public: [
        'GET /api/branding/logo',
        'GET /api/docs',
        'GET /api/legal',
        'GET /api/oauth/telegram/bind/{flow_token}',
        'GET /api/oauth/telegram/login',
        'GET /api/oauth/wechat',
        'GET /api/oauth/wechat/qrcode',
        'GET /api/oauth/{provider}',
        'GET /api/openapi.json',
        'GET /api/setup',
        'GET /api/status',
        'GET /livez',
        'GET /readyz',
        'GET /v1/callbacks/{task_id}/{token}',
        'POST /api/case/shared',
        'POST /api/oauth/state',
        'POST /api/oauth/wechat/state',
        'POST /api/reset_password',
        'POST /api/setup',
        'POST /api/user/auth/login',
        'POST /api/user/login',
        'POST /api/user/login/2fa',
        'POST /api/user/passkey/login/begin',
        'POST /api/user/passkey/login/finish',
        'POST /api/user/register',
        'POST /api/user/reset',
        'POST /api/verification',
        'POST /v1/callbacks/{task_id}/{token}',
      ],
      refreshCookie: ['POST /api/user/auth/logout', 'POST /api/user/auth/refresh'],
      session: [
        'DELETE /api/user/email',
        'DELETE /api/user/oauth/bindings/{provider}',
        'DELETE /api/user/passkey',
        'DELETE /api/user/passkey/{id}',
        'DELETE /api/user/self',
        'DELETE /api/user/sessions/{sid}',
        'DELETE /api/user/token',
        'GET /api/user/sessions',
        'GET /api/verify',
        'POST /api/oauth/email/bind',
        'POST /api/oauth/telegram/bind/start',
        'POST /api/oauth/wechat/bind',
        'POST /api/oauth/wechat/bind/start',
        'POST /api/user/2fa/backup_codes',
        'POST /api/user/2fa/disable',
        'POST /api/user/2fa/enable',
        'POST /api/user/2fa/setup',
        'POST /api/user/email/code',
        'POST /api/user/links/revoke',
        'POST /api/user/passkey/register/begin',
        'POST /api/user/passkey/register/finish',
        'POST /api/user/passkey/verify/begin',
        'POST /api/user/passkey/verify/finish',
        'POST /api/user/self/export',
        'POST /api/user/sessions/revoke-others',
        'POST /api/user/token',
        'POST /api/verify',
        'PUT /api/user/passkey/{id}',
      ],
      user: [
        'DELETE /api/task/{task_id}',
        'DELETE /api/token/{id}',
        'DELETE /api/token/{id}/former-key',
        'DELETE /api/user/self/views/{id}',
        'GET /api/case/{kind}/{id}',
        'GET /api/log',
        'GET /api/log/export',
        'GET /api/model',
        'GET /api/model/catalog',
        'GET /api/model/results',
        'GET /api/queue',
        'GET /api/stats',
        'GET /api/task',
        'GET /api/task/export',
        'GET /api/task/failures',
        'GET /api/task/feed',
        'GET /api/task/{task_id}',
        'GET /api/task/{task_id}/artifacts',
        'GET /api/task/{task_id}/events',
        'GET /api/task/{task_id}/webhooks',
        'GET /api/token',
        'GET /api/token/names',
        'GET /api/token/{id}',
        'GET /api/usage',
        'GET /api/user/2fa/status',
        'GET /api/user/aff',
        'GET /api/user/oauth/bindings',
        'GET /api/user/passkey',
        'GET /api/user/self',
        'GET /api/user/self/balance-alert',
        'GET /api/user/self/ledger',
        'GET /api/user/self/ledger/export',
        'GET /api/user/self/storage',
        'GET /api/user/self/views',
        'GET /api/user/token',
        'POST /api/case/{kind}/{id}/link',
        'POST /api/price/quote',
        'POST /api/queue/{task_id}/cancel',
        'POST /api/task',
        'POST /api/task/quote',
        'POST /api/task/{task_id}/artifacts/{key}/preview',
        'POST /api/task/{task_id}/cancel',
        'POST /api/task/{task_id}/links/revoke',
        'POST /api/task/{task_id}/retry',
        'POST /api/task/{task_id}/webhooks/{id}/redeliver',
        'POST /api/token',
        'POST /api/token/{id}/rotate',
        'POST /api/token/{id}/webhook-secret',
        'POST /api/user/self/balance-alert/webhook-secret',
        'PUT /api/token/{id}',
        'PUT /api/user/self',
        'PUT /api/user/self/balance-alert',
        'PUT /api/user/self/views',
      ],
      admin: [
        'DELETE /api/channel/{id}',
        'DELETE /api/channel/{id}/credentials/{credential}',
        'DELETE /api/user/{id}',
        'DELETE /api/user/{id}/2fa',
        'DELETE /api/user/{id}/bindings/{provider}',
        'DELETE /api/user/{id}/keys/{key_id}',
        'DELETE /api/user/{id}/reset_passkey',
        'DELETE /api/user/{id}/token',
        'GET /api/attention',
        'GET /api/channel',
        'GET /api/channel/choices',
        'GET /api/channel/names',
        'GET /api/channel/{id}',
        'GET /api/channel/{id}/credentials',
        'GET /api/channel/{id}/history',
        'GET /api/task/{task_id}/answer',
        'GET /api/user',
        'GET /api/user/export',
        'GET /api/user/names',
        'GET /api/user/search',
        'GET /api/user/statement/export',
        'GET /api/user/{id}',
        'GET /api/user/{id}/keys',
        'GET /api/user/{id}/ledger',
        'GET /api/user/{id}/ledger/export',
        'POST /api/channel',
        'POST /api/channel/{id}/balance',
        'POST /api/channel/{id}/clear-abandoned',
        'POST /api/channel/{id}/clear-ceilings',
        'POST /api/channel/{id}/credentials',
        'POST /api/channel/{id}/test',
        'POST /api/channel/{id}/wake',
        'POST /api/queue/{task_id}/front',
        'POST /api/user',
        'POST /api/user/manage',
        'POST /api/user/{id}/links/revoke',
        'PUT /api/channel/{id}',
        'PUT /api/channel/{id}/credentials/{credential}',
        'PUT /api/user',
        'PUT /api/user/{id}/keys/{key_id}/status',
      ],
      root: [
        'DELETE /api/custom-oauth-provider/{id}',
        'DELETE /api/node/{id}/drain',
        'DELETE /api/plugin/task/{key}/versions/{version}',
        'DELETE /api/price',
        'DELETE /api/user/{id}/sessions',
        'DELETE /api/user/{id}/sessions/{sid}',
        'GET /api/audit',
        'GET /api/audit/export',
        'GET /api/backup',
        'GET /api/custom-oauth-provider',
        'GET /api/custom-oauth-provider/{id}',
        'GET /api/node',
        'GET /api/node/history',
        'GET /api/option',
        'GET /api/plugin/task',
        'GET /api/plugin/task/marketplace',
        'GET /api/plugin/task/marketplace/icon',
        'GET /api/plugin/task/marketplace/source',
        'GET /api/plugin/task/marketplace/sources',
        'GET /api/plugin/task/runtime/status',
        'GET /api/plugin/task/{key}',
        'GET /api/plugin/task/{key}/diff',
        'GET /api/plugin/task/{key}/icon',
        'GET /api/plugin/task/{key}/move',
        'GET /api/plugin/task/{key}/versions',
        'GET /api/price',
        'GET /api/price/missing',
        'GET /api/price/plugin/{key}',
        'GET /api/price/sheet',
        'GET /api/user/{id}/sessions',
        'POST /api/backup',
        'POST /api/channel/{id}/credentials/{credential}/key',
        'POST /api/channel/{id}/key',
        'POST /api/custom-oauth-provider',
        'POST /api/custom-oauth-provider/discovery',
        'POST /api/custom-oauth-provider/{id}/test',
        'POST /api/node/{id}/drain',
        'POST /api/option/test',
        'POST /api/plugin/task',
        'POST /api/plugin/task/marketplace/install',
        'POST /api/plugin/task/marketplace/key',
        'POST /api/plugin/task/marketplace/preview',
        'POST /api/plugin/task/{key}/activate',
        'POST /api/plugin/task/{key}/dryrun',
        'POST /api/plugin/task/{key}/move',
        'POST /api/plugin/task/{key}/preview',
        'POST /api/plugin/task/{key}/status',
        'POST /api/price/replay',
        'POST /api/setup/demo-channel',
        'PUT /api/custom-oauth-provider/{id}',
        'PUT /api/option',
        'PUT /api/plugin/task',
        'PUT /api/plugin/task/marketplace/sources',
        'PUT /api/plugin/task/{key}/models',
        'PUT /api/price',
      ],
      operator: ['GET /metrics'],
      apiKey: [
        'DELETE /mcp',
        'DELETE /v1/files/{file_id}',
        'DELETE /v1/responses/{response_id}',
        'DELETE /v1/tasks/{id}',
        'DELETE /v1/tasks/{task_id}/artifacts/links',
        'DELETE /v1/tasks/{task_id}/artifacts/{key}/links',
        'DELETE /v1/videos/{task_id}',
        'GET /api/log/token',
        'GET /api/pricing',
        'GET /api/usage/token',
        'GET /v1/batches',
        'GET /v1/batches/{batch_id}',
        'GET /v1/dashboard/billing/subscription',
        'GET /v1/dashboard/billing/usage',
        'GET /v1/files',
        'GET /v1/files/{file_id}',
        'GET /v1/files/{file_id}/content',
        'GET /v1/models',
        'GET /v1/models/{model}',
        'GET /v1/models/{model}/{part}',
        'GET /v1/models/{model}/{part}/{rest}',
        'GET /v1/responses/{response_id}',
        'GET /v1/responses/{response_id}/input_items',
        'GET /v1/tasks',
        'GET /v1/tasks/{id}',
        'GET /v1/tasks/{task_id}/artifacts',
        'GET /v1/tasks/{task_id}/events',
        'GET /v1/usage',
        'GET /v1/video/generations/{task_id}',
        'GET /v1/videos',
        'GET /v1/videos/generations/{task_id}',
        'GET /v1/videos/{task_id}',
        'POST /mcp',
        'POST /v1/audio/speech',
        'POST /v1/audio/transcriptions',
        'POST /v1/batches',
        'POST /v1/batches/{batch_id}/cancel',
        'POST /v1/chat/completions',
        'POST /v1/embeddings',
        'POST /v1/files',
        'POST /v1/images/edits',
        'POST /v1/images/generations',
        'POST /v1/responses',
        'POST /v1/responses/{response_id}/cancel',
        'POST /v1/tasks/{id}',
        'POST /v1/tasks/{plugin}/quote',
        'POST /v1/tasks/{task_id}/cancel',
        'POST /v1/video/generations',
        'POST /v1/videos',
        'POST /v1/videos/edits',
        'POST /v1/videos/generations',
        'POST /v1/videos/{task_id}/remix',
      ],
      apiKeyOrCapability: [
        'GET /v1/tasks/{task_id}/artifacts/{key}/content',
        'GET /v1/videos/{task_id}/content',
        'HEAD /v1/tasks/{task_id}/artifacts/{key}/content',
        'HEAD /v1/videos/{task_id}/content',
      ],
    });
  });

  test('the limits of all routes besides those per address', async () => {
    const { paths } = (await send({ path: '/api/openapi.json' })).json;
    const limited: Record<string, string[]> = {};
    for (const [path, operations] of Object.entries(
      paths as Record<string, Record<string, Record<string, string | true>>>,
    )) {
      for (const [method, operation] of Object.entries(operations)) {
        for (const limit of ['x-limit', 'x-limit-per-user', 'x-limit-model-requests']) {
          const name = operation[limit] === true ? limit : operation[limit];
          if (name) limited[name] = [...(limited[name] ?? []), `${method.toUpperCase()} ${path}`].sort();
        }
      }
    }
    expect(limited).toEqual({
      critical: [
        'DELETE /api/user/email',
        'DELETE /api/user/oauth/bindings/{provider}',
        'DELETE /api/user/passkey',
        'DELETE /api/user/passkey/{id}',
        'DELETE /api/user/self',
        'GET /api/log/token',
        'GET /api/oauth/telegram/bind/{flow_token}',
        'GET /api/oauth/telegram/login',
        'GET /api/oauth/wechat',
        'GET /api/oauth/{provider}',
        'GET /api/usage/token',
        'POST /api/backup',
        'POST /api/channel/{id}/balance',
        'POST /api/channel/{id}/credentials/{credential}/key',
        'POST /api/channel/{id}/key',
        'POST /api/channel/{id}/test',
        'POST /api/custom-oauth-provider/{id}/test',
        'POST /api/oauth/email/bind',
        'POST /api/oauth/state',
        'POST /api/oauth/telegram/bind/start',
        'POST /api/oauth/wechat/bind',
        'POST /api/oauth/wechat/bind/start',
        'POST /api/oauth/wechat/state',
        'POST /api/option/test',
        'POST /api/reset_password',
        'POST /api/setup',
        'POST /api/user/2fa/backup_codes',
        'POST /api/user/2fa/disable',
        'POST /api/user/2fa/enable',
        'POST /api/user/2fa/setup',
        'POST /api/user/auth/login',
        'POST /api/user/auth/logout',
        'POST /api/user/auth/refresh',
        'POST /api/user/email/code',
        'POST /api/user/login',
        'POST /api/user/login/2fa',
        'POST /api/user/passkey/login/begin',
        'POST /api/user/passkey/login/finish',
        'POST /api/user/passkey/register/begin',
        'POST /api/user/passkey/register/finish',
        'POST /api/user/passkey/verify/begin',
        'POST /api/user/passkey/verify/finish',
        'POST /api/user/register',
        'POST /api/user/reset',
        'POST /api/user/self/export',
        'POST /api/user/token',
        'POST /api/verification',
        'POST /api/verify',
        'PUT /api/user/self',
      ],
      'access-token': ['POST /api/user/token'],
      'channel-key': ['POST /api/channel/{id}/credentials/{credential}/key', 'POST /api/channel/{id}/key'],
      quote: ['POST /api/price/quote', 'POST /api/task/quote'],
      verify: ['POST /api/verify', 'PUT /api/user/self'],
      'x-limit-model-requests': [
        'POST /api/task',
        'POST /api/task/{task_id}/retry',
        'POST /v1/audio/speech',
        'POST /v1/audio/transcriptions',
        'POST /v1/chat/completions',
        'POST /v1/embeddings',
        'POST /v1/images/edits',
        'POST /v1/images/generations',
        'POST /v1/responses',
        'POST /v1/tasks/{id}',
        'POST /v1/video/generations',
        'POST /v1/videos',
        'POST /v1/videos/edits',
        'POST /v1/videos/generations',
        'POST /v1/videos/{task_id}/remix',
      ],
    });
  });

  const PROOFS = {
    'DELETE /api/custom-oauth-provider/{id}': 'settings.security',
    'DELETE /api/user/email': 'account.email, at times',
    'DELETE /api/user/passkey': 'passkey.delete',
    'DELETE /api/user/passkey/{id}': 'passkey.delete',
    'DELETE /api/user/self': 'account.delete',
    'POST /api/channel/{id}/credentials/{credential}/key': 'channel.key.read',
    'POST /api/channel/{id}/key': 'channel.key.read',
    'POST /api/custom-oauth-provider': 'settings.security',
    'POST /api/custom-oauth-provider/{id}/test': 'settings.security',
    'POST /api/oauth/email/bind': 'account.email, at times',
    'POST /api/backup': 'settings.security',
    'POST /api/option/test': 'settings.security',
    'POST /api/plugin/task/marketplace/key': 'settings.security',
    'POST /api/user/passkey/register/begin': 'passkey.register, at times',
    'POST /api/user/passkey/register/finish': 'passkey.register, at times',
    'POST /api/user/self/export': 'account.export',
    'PUT /api/channel/{id}': 'channel.key.read, at times',
    'PUT /api/custom-oauth-provider/{id}': 'settings.security',
    'PUT /api/option': 'settings.security, at times',
    'PUT /api/plugin/task/marketplace/sources': 'settings.security',
  };

  test('the routes that need a Security Proof, and its scope', async () => {
    const { paths } = (await send({ path: '/api/openapi.json' })).json;
    type Parameter = { in: string; name: string; required: boolean; description?: string };
    const declared: Record<string, string> = {};
    for (const [path, operations] of Object.entries(
      paths as Record<string, Record<string, { parameters?: Parameter[] }>>,
    )) {
      for (const [method, { parameters = [] }] of Object.entries(operations)) {
        const header = parameters.find(({ name }) => name === 'X-Security-Proof');
        if (!header) continue;
        expect(header.in).toBe('header');
        const scope = /scope ([a-z.]+[a-z])/.exec(header.description ?? '')?.[1];
        declared[`${method.toUpperCase()} ${path}`] = `${scope}${header.required ? '' : ', at times'}`;
      }
    }
    expect(declared).toEqual(PROOFS);
  });

  test('each of those that always need one refuses a request without it', async () => {
    const person = { username: 'unproven', password: 'one of many horses' };
    expect((await send({ method: 'POST', path: '/api/user', token: await root(), body: person })).status).toBe(200);
    // Root's own account cannot be deleted at all.
    const user = (await logIn(person)).json.data.access_token;
    const bodies: Record<string, unknown> = {
      'POST /api/custom-oauth-provider': { slug: 'unproven' },
      'PUT /api/custom-oauth-provider/{id}': {},
      'POST /api/option/test': { what: 'smtp' },
      'POST /api/plugin/task/marketplace/key': { source: 'unproven', known_key: null, public_key: null },
      'PUT /api/plugin/task/marketplace/sources': [],
    };
    for (const [route, scope] of Object.entries(PROOFS)) {
      if (scope.endsWith(', at times')) continue;
      const [method = '', path = ''] = route.replaceAll(/\{\w+\}/g, '1').split(' ');
      const token = scope === 'account.delete' ? user : await root();
      const { status, json } = await send({ method, path, token, body: bodies[route] });
      expect([route, status, json?.code]).toEqual([route, 403, 'SECURITY_PROOF_REQUIRED']);
    }
  });

  test('every body is described', async () => {
    const { paths } = (await send({ path: '/api/openapi.json' })).json;
    const { schema } = paths['/api/channel'].post.requestBody.content['application/json'];
    expect(schema).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['name', 'type', 'models'],
    });
    expect(paths['/api/price'].put.requestBody.content['application/json'].schema.required).toEqual([
      'model',
      'expression',
    ]);
    expect(paths['/v1/tasks/{id}'].get.parameters[0]).toMatchObject({
      name: 'id',
      in: 'path',
      required: true,
    });
    const named = (operation: { parameters: { in: string; name: string }[] }) =>
      operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    expect(named(paths['/v1/tasks/{task_id}/cancel'].post)).toEqual(['path task_id']);
    expect(named(paths['/v1/tasks/{id}'].post)).toEqual([
      'path id',
      'query wait',
      'header Prefer',
      'header Idempotency-Key',
      'header X-Keep-Result',
      'header X-Allow-Fallback',
      'header X-Callback-Url',
    ]);
    expect(named(paths['/v1/videos'].post)).toEqual(named(paths['/v1/tasks/{id}'].post).slice(1));
    expect(named(paths['/v1/batches'].post)).toEqual(['header Idempotency-Key', 'header X-Callback-Url']);
    expect(Object.keys(paths['/v1/batches'].post.responses)).toContain('429');
    expect(named(paths['/mcp'].post)).toEqual([
      'query spend_cap_usd',
      'header Idempotency-Key',
      'header Mcp-Session-Id',
      'header Mcp-Protocol-Version',
    ]);
    expect(named(paths['/mcp'].delete)).toEqual(['header Mcp-Session-Id']);
    const { responses } = paths['/v1/tasks/{task_id}/events'].get;
    expect(Object.keys(responses['200'].content)).toEqual(['text/event-stream']);
  });

  test('every code is documented', async () => {
    const { json } = await send({ path: '/api/openapi.json' });
    const codes = new Map(json['x-codes'].map((code: { panel: string; status: number }) => [code.panel, code.status]));
    for (const [code, status] of [
      ['AUTH_INVALID_CREDENTIALS', 401],
      ['AUTH_SESSION_MISMATCH', 409],
      ['AUTH_ORIGIN_FORBIDDEN', 403],
      ['VALIDATION_FAILED', 400],
      ['RATE_LIMITED', 429],
      ['PLUGIN_INVALID', 422],
      ['CHANNEL_NOT_FOUND', 404],
      ['TASK_NOT_FOUND', 404],
      ['STORE_UNAVAILABLE', 503],
    ] as const) {
      expect([code, codes.get(code)]).toEqual([code, status]);
    }
    expect([...codes.keys()].every((code) => /^[A-Z][A-Z0-9_]+$/.test(String(code)))).toBe(true);
  });

  test('the former address of the API reference leads to the page of the panel', async () => {
    const answer = await fetch(`${gateway.url}/api/docs`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/reference']);
  });
});

describe('API keys', () => {
  test('are shown once, changed and deleted', async () => {
    const token = await root();
    const made = await send({
      method: 'POST',
      path: '/api/token',
      token,
      body: { name: 'ci', quota: 5, models: ['m'] },
    });
    expect(made.status).toBe(200);
    const { id, key } = made.json.data;
    expect(key).toMatch(/^sk-[A-Za-z0-9]{48}$/);
    const list = await send({ path: '/api/token?page=1&page_size=5', token });
    expect(list.json.data).toMatchObject({
      page: 1,
      page_size: 5,
      total: 1,
      items: [{ id, name: 'ci', quota: 5, models: ['m'] }],
    });
    expect(list.text).not.toContain(key);
    const off = await send({ method: 'PUT', path: `/api/token/${id}`, token, body: { status: 2, quota: 5 } });
    expect(off.json.data).toMatchObject({ name: 'ci', status: 2, quota: 5 });
    await send({ method: 'PUT', path: `/api/token/${id}`, token, body: { name: 'ci' } });
    const refused = await send({ path: '/v1/tasks/task_x', token: key });
    expect([refused.status, refused.json.error.code, refused.json.error.type]).toEqual([
      401,
      'api_key_disabled',
      'authentication_error',
    ]);
    expect((await send({ method: 'DELETE', path: `/api/token/${id}`, token })).status).toBe(200);
    expect((await send({ path: '/v1/tasks/task_x', token: key })).json.error.code).toBe('api_key_invalid');
    expect((await send({ method: 'DELETE', path: `/api/token/${id}`, token })).status).toBe(404);
    const audit = await send({ path: '/api/audit?page_size=100', token });
    const rows = audit.json.data.items.filter((row: { target: string }) => row.target === `api_key:${id}`);
    expect(rows.map((row: { action: string }) => row.action)).toEqual([
      'api_key.delete',
      'api_key.update',
      'api_key.create',
    ]);
    expect(rows.slice(0, 2).map((row: { detail: object }) => row.detail)).toEqual([
      { before: { name: 'ci', prefix: key.slice(0, list.json.data.items[0].prefix.length) } },
      { before: { status: 1 }, after: { status: 2 } },
    ]);
    expect(audit.text).not.toContain(key);
  });

  test('an access token is never accepted on /v1, nor a key on /api', async () => {
    const token = await root();
    expect((await send({ path: '/v1/tasks/task_x', token })).json.error.code).toBe('api_key_invalid');
    const made = await send({ method: 'POST', path: '/api/token', token, body: { name: 'x', unlimited_quota: true } });
    expect((await send({ path: '/api/user/self', token: made.json.data.key })).json.code).toBe('AUTH_UNAUTHORIZED');
    await send({ method: 'DELETE', path: `/api/token/${made.json.data.id}`, token });
  });
});

describe('lists', () => {
  test.each([
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page_size=101', 'page_size'],
    ['page_size=-1', 'page_size'],
    ['page=1e3', 'page'],
    ['pages=2', 'pages'],
  ])('%s is refused by name', async (query, field) => {
    const answer = await send({ path: `/api/channel?${query}`, token: await root() });
    expect([answer.status, answer.json.code, answer.json.details.errors[0].field]).toEqual([
      400,
      'VALIDATION_FAILED',
      field,
    ]);
  });
});

describe('channels', () => {
  const wanted = { name: 'demo', type: 61, key: VENDOR_KEY, models: ['demo-video'], task_plugin_key: 'demo' };

  test('are created, changed and deleted, and the key is never returned', async () => {
    const token = await root();
    const made = await send({ method: 'POST', path: '/api/channel', token, body: wanted });
    expect([made.status, made.json.data.key_hint, made.json.data.groups]).toEqual([200, '6789', ['default']]);
    const { id } = made.json.data;
    const path = `/api/channel/${id}`;

    expect(made.json.data).toMatchObject({ limits: null, pool: '', capacity: { running: 0, waiting: 0, limit: null } });
    const limits = { max_running: 5, models: { 'demo-1': { max_per_minute: 60, burst: 2 } } };
    const limited = await send({ method: 'PUT', path, token, body: { limits, pool: ' shared ' } });
    expect(limited.json.data).toMatchObject({ limits, pool: 'shared', capacity: { limit: 5, learned: false } });
    for (const action of ['wake', 'clear-ceilings', 'clear-abandoned'])
      expect((await send({ method: 'POST', path: `${path}/${action}`, token })).status).toBe(200);
    expect((await send({ method: 'POST', path: `${path}/wake` })).status).toBe(401);

    const moved = await send({ method: 'PUT', path, token, body: { base_url: 'https://evil.example' } });
    expect([moved.status, moved.json.code]).toEqual([403, 'CHANNEL_KEY_REQUIRED']);
    const renamed = await send({ method: 'PUT', path, token, body: { name: 'renamed', weight: 3 } });
    expect(renamed.json.data).toMatchObject({
      name: 'renamed',
      weight: 3,
      models: ['demo-video'],
      task_plugin_key: 'demo',
    });
    const read = await send({ path, token });
    expect(read.json.data).toMatchObject({ ...renamed.json.data, key_readable: true, health: { state: 'idle' } });
    expect((await send({ method: 'DELETE', path, token })).status).toBe(200);
    expect((await send({ path, token })).json.code).toBe('CHANNEL_NOT_FOUND');

    const audit = await send({ path: '/api/audit?page_size=100', token });
    const rows = audit.json.data.items.filter((row: { target: string }) => row.target === `channel:${id}`);
    expect(rows.map((row: { action: string }) => row.action)).toEqual([
      'channel.delete',
      'channel.update',
      'channel.clear_abandoned',
      'channel.clear_ceilings',
      'channel.wake',
      'channel.update',
      'channel.create',
    ]);
    expect(rows[1].detail).toMatchObject({ before: { name: 'demo' }, after: { name: 'renamed' }, key_changed: false });
    expect(rows[5].detail).toMatchObject({ before: { limits: null, pool: '' }, after: { limits, pool: 'shared' } });
    expect(rows.at(-1).detail.base_url_source).toBe('plugin_default');
    expect(rows[0]).toMatchObject({ username: 'root', auth_method: 'session', ip: '127.0.0.1' });
    for (const answer of [made, renamed, read, audit]) expect(answer.text).not.toContain(VENDOR_KEY);
  });

  test.each([
    ['an unknown plugin', { ...wanted, task_plugin_key: 'none' }, 400, 'CHANNEL_INVALID'],
    ['no models', { ...wanted, models: [] }, 400, 'CHANNEL_INVALID'],
    ['an unknown field', { ...wanted, keys: 'x' }, 400, 'VALIDATION_FAILED'],
    ['a number as text', { ...wanted, weight: '3' }, 400, 'VALIDATION_FAILED'],
    ['a mapping to numbers', { ...wanted, model_mapping: { a: 1 } }, 400, 'VALIDATION_FAILED'],
    ['an account that runs none', { ...wanted, limits: { max_running: 0 } }, 400, 'VALIDATION_FAILED'],
    ['an unknown limit', { ...wanted, limits: { models: { m: { running: 1 } } } }, 400, 'VALIDATION_FAILED'],
    ['a burst without a rate', { ...wanted, limits: { burst: 2 } }, 400, 'CHANNEL_INVALID'],
    ['a pool with the name of a channel of its own', { ...wanted, pool: '#1' }, 400, 'CHANNEL_INVALID'],
  ])('%s: %#', async (_name, body, status, code) => {
    const answer = await send({ method: 'POST', path: '/api/channel', token: await root(), body });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(answer.text).not.toContain(VENDOR_KEY);
  });

  test.each(['0', '-1', 'x', '1.5', '99999', '1%2F2'])('the id %s is not found', async (id) => {
    expect((await send({ path: `/api/channel/${id}`, token: await root() })).status).toBe(404);
  });
});

describe('prices and options', () => {
  test('a price is set, quoted and removed', async () => {
    const token = await root();
    const set = await send({
      method: 'PUT',
      path: '/api/price',
      token,
      body: { plugin_key: 'demo', model: 'demo-video', expression: '0.05 * u("seconds")' },
    });
    expect(set.json.data).toMatchObject({ plugin_key: 'demo', model: 'demo-video', expression: '0.05 * u("seconds")' });
    const quote = await send({
      method: 'POST',
      path: '/api/price/quote',
      token,
      body: { plugin_key: 'demo', model: 'demo-video', facts: { seconds: 4 } },
    });
    expect(quote.json.data).toMatchObject({ usd: 0.2, quota: 100_000 });
    const missing = await send({
      method: 'POST',
      path: '/api/price/quote',
      token,
      body: { plugin_key: 'demo', model: 'demo-video', facts: {} },
    });
    expect(missing.status).toBe(400);
    const broken = await send({
      method: 'PUT',
      path: '/api/price',
      token,
      body: { model: 'm', expression: 'process.exit()' },
    });
    expect([broken.status, broken.json.code]).toEqual([400, 'BILLING_PRICE_INVALID']);
    expect((await send({ path: '/api/price', token })).json.data.total).toBe(1);
    const path = '/api/price?plugin_key=demo&model=demo-video';
    expect((await send({ method: 'DELETE', path, token })).status).toBe(200);
    expect((await send({ method: 'DELETE', path, token })).status).toBe(404);
  });

  test('the set-up is the first row of the audit log', async () => {
    const { json } = await send({ path: '/api/audit?page_size=100', token: await root() });
    expect(json.data.items.at(-1)).toMatchObject({ action: 'setup.complete', auth_method: 'setup', username: 'root' });
  });

  test('an option is checked, stored and audited', async () => {
    const token = await root();
    const headers = await proofHeader({ url: base, token, password: ROOT.password });
    const set = (key: string, value: string) =>
      send({ method: 'PUT', path: '/api/option', token, headers, body: { key, value } });
    expect((await set('groups', '{"default":1,"vip":0.8}')).status).toBe(200);
    const all = await send({ path: '/api/option', token });
    expect(all.json.data.find((option: { key: string }) => option.key === 'groups')).toEqual({
      key: 'groups',
      value: '{"default":1,"vip":0.8}',
      type: 'json',
      default: '{"default":1}',
      group: 'billing',
      proof: 'none',
      live: true,
    });
    const refused: [string, string][] = [
      ['groups', '{"default":-1}'],
      ['groups', 'nonsense'],
      ['ServerAddress', 'javascript:alert(1)'],
      ['ServerAddress', 'https://user:pass@example.com'],
      ['billing.unpriced', 'sometimes'],
      ['SystemName', ''],
      ['__proto__', 'x'],
      ['setup.completed_at', '0'],
    ];
    for (const [key, value] of refused) {
      const answer = await set(key, value);
      expect([key, answer.status, answer.json.code]).toEqual([key, 400, 'VALIDATION_FAILED']);
    }
    const audit = await send({ path: '/api/audit', token });
    expect(audit.json.data.items[0]).toMatchObject({
      action: 'option.set',
      target: 'option:groups',
      detail: { before: '{"default":1}', after: '{"default":1,"vip":0.8}' },
    });
  });
});

describe('plugins', () => {
  const source = (version: string, extra = '') => `
    export const meta = { apiVersion: 1, key: 'probe', name: 'Probe', version: '${version}', author: { name: 'T' },
      models: ['probe-1'], fetchMode: 'per_task', baseUrl: 'http://127.0.0.1:9' };
    export function buildSubmitRequest(ctx) { ${extra} return { method: 'POST', url: ctx.baseUrl, body: {} }; }
    export function parseSubmitResponse() { return { taskId: 'x', taskData: {} }; }
    export function buildQueryRequest(ctx) { return { method: 'GET', url: ctx.baseUrl }; }
    export function parseTaskResult() { return { status: 'SUCCESS' }; }`;
  const upload = async (body: object) => send({ method: 'POST', path: '/api/plugin/task', token: await root(), body });

  test('are uploaded, activated, tested, enabled, disabled and deleted', async () => {
    const token = await root();
    const first = await upload({ source: source('1.0.0'), remark: 'first' });
    expect(first.status).toBe(200);
    expect(first.json.data).toMatchObject({
      layer: 'override',
      plugin: { key: 'probe', version: '1.0.0', active: true },
    });
    const second = await upload({ source: source('1.1.0', 'throw new Error("No seconds given.");'), remark: '' });
    expect(second.json.data.plugin).toMatchObject({ version: '1.1.0', active: false });

    const clash = await upload({ source: source('1.0.0', 'void 0;') });
    expect([clash.status, clash.json.code]).toEqual([409, 'PLUGIN_VERSION_EXISTS']);
    const broken = await upload({ source: 'export const meta = {' });
    expect([broken.status, broken.json.code]).toEqual([422, 'PLUGIN_INVALID']);
    expect(broken.json.details.errors.length).toBeGreaterThan(0);
    const badIcon = await upload({ source: source('1.2.0'), icon: 'data:image/png;base64,AAAA' });
    expect([badIcon.status, badIcon.json.code]).toEqual([422, 'PLUGIN_ICON_INVALID']);

    const activated = await send({
      method: 'POST',
      path: '/api/plugin/task/probe/activate',
      token,
      body: { version: '1.1.0' },
    });
    expect(activated.status).toBe(200);
    const versions = await send({ path: '/api/plugin/task/probe/versions', token });
    expect(versions.json.data.map((row: { version: string; active: boolean }) => [row.version, row.active])).toEqual([
      ['1.1.0', true],
      ['1.0.0', false],
    ]);
    const thrown = await send({
      method: 'POST',
      path: '/api/plugin/task/probe/dryrun',
      token,
      body: { hook: 'buildSubmitRequest', args: [{}] },
    });
    expect([thrown.status, thrown.json.code]).toEqual([422, 'PLUGIN_HOOK_FAILED']);
    expect(thrown.json.message).toContain('No seconds given.');
    const dry = await send({
      method: 'POST',
      path: '/api/plugin/task/probe/dryrun',
      token,
      body: { hook: 'parseTaskResult' },
    });
    expect(dry.json.data).toMatchObject({ result: { status: 'SUCCESS' }, console: [] });

    const off = await send({ method: 'POST', path: '/api/plugin/task/probe/status', token, body: { enabled: false } });
    expect(off.json.data).toEqual({ plugin_enabled: false, disabled_channels: [], in_flight_count: 0 });
    const list = await send({ path: '/api/plugin/task', token });
    const listed = list.json.data.map((row: { key: string; source: string; enabled: boolean }) => [
      row.key,
      row.source,
      row.enabled,
    ]);
    expect(listed.slice(-2)).toEqual([
      ['demo', 'factory', true],
      ['probe', 'override', false],
    ]);
    expect((await send({ method: 'DELETE', path: '/api/plugin/task/probe/versions/1.1.0', token })).status).toBe(200);
    expect((await send({ path: '/api/plugin/task/probe?version=1.1.0', token })).json.code).toBe('PLUGIN_NOT_FOUND');
    expect((await send({ path: '/api/plugin/task/runtime/status', token })).json.data).toMatchObject({
      last_rebuild: { status: 'success', plugin_error_count: 0 },
      plugin_errors: {},
    });
    expect((await send({ path: '/api/plugin/task/probe/icon', token })).status).toBe(404);
    const audit = await send({ path: '/api/audit', token });
    expect(audit.json.data.items.slice(0, 5).map((row: { action: string }) => row.action)).toEqual([
      'plugin.delete',
      'plugin.status',
      'plugin.activate',
      'plugin.upload',
      'plugin.upload',
    ]);
  });

  test('an unknown plugin key is 404 everywhere', async () => {
    const token = await root();
    for (const [method, path, body] of [
      ['GET', '/api/plugin/task/none', undefined],
      ['GET', '/api/plugin/task/none/versions', undefined],
      ['POST', '/api/plugin/task/none/activate', { version: '1.0.0' }],
      ['POST', '/api/plugin/task/none/status', { enabled: true }],
      ['POST', '/api/plugin/task/none/dryrun', { hook: 'x' }],
      ['POST', '/api/plugin/task/none/preview', { version: '1.0.0' }],
      ['PUT', '/api/plugin/task/none/models', { models: null }],
      ['GET', '/api/plugin/task/none/diff?from=1.0.0&to=factory', undefined],
      ['DELETE', '/api/plugin/task/none/versions/1.0.0', undefined],
    ] as const) {
      const answer = await send({ method, path, token, body });
      expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'PLUGIN_NOT_FOUND']);
    }
  });
});

describe('tasks in the panel', () => {
  let vendor: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    vendor = await createDemoVendor({ clock: systemClock, durationMs: 500 }).start(0);
  });
  afterAll(() => vendor.stop());

  test('show their timeline, and nothing of the vendor’s answer', async () => {
    const token = await root();
    const channel = await send({
      method: 'POST',
      path: '/api/channel',
      token,
      body: {
        name: 'demo',
        type: 61,
        key: VENDOR_KEY,
        base_url: vendor.url,
        models: ['demo-video'],
        task_plugin_key: 'demo',
      },
    });
    expect(channel.status).toBe(200);
    const made = await send({ method: 'POST', path: '/api/token', token, body: { name: 't', unlimited_quota: true } });
    const { key } = made.json.data;
    const submitted = await send({
      method: 'POST',
      path: '/v1/videos',
      token: key,
      body: { model: 'demo-video', prompt: 'a quiet harbour' },
    });
    expect([submitted.status, submitted.json]).toMatchObject([200, { object: 'video', status: 'queued' }]);
    const { id } = submitted.json;

    let detail = await send({ path: `/api/task/${id}`, token });
    for (const give = performance.now() + 15_000; performance.now() < give; ) {
      if (detail.json.data.status === 'SUCCESS') break;
      await Bun.sleep(50);
      detail = await send({ path: `/api/task/${id}`, token });
    }
    const { data } = detail.json;
    expect(data).toMatchObject({
      task_id: id,
      status: 'SUCCESS',
      model: 'demo-video',
      platform: 'demo',
      channel_id: channel.json.data.id,
    });
    expect(data.timeline.length).toBeGreaterThan(1);
    expect(data.artifacts.length).toBe(1);
    const stored = new URL(data.artifacts[0].content_url);
    const file = await fetch(`${base}${stored.pathname}${stored.search}`);
    expect([file.status, file.headers.get('content-type'), file.headers.get('access-control-allow-origin')]).toEqual([
      200,
      'video/mp4',
      '*',
    ]);
    expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(1000);
    // Administrators see the vendor's id of the job, and nothing else of its answer.
    expect(data.upstream_task_id).toMatch(/^job_/);
    const others = detail.text.replaceAll(data.upstream_task_id, '');
    for (const secret of [VENDOR_KEY, key, 'lease', 'job_']) expect(others).not.toContain(secret);

    const list = await send({ path: '/api/task?scope=all&status=SUCCESS&platform=demo', token });
    expect(list.json.data).toMatchObject({ page: 1, total: 1, items: [{ task_id: id }] });
    expect((await send({ path: '/api/task?status=DONE', token })).json.details.errors[0].field).toBe('status');
    expect((await send({ path: `/api/task/${id}/artifacts`, token })).json.data.artifacts.length).toBe(1);
    expect((await send({ path: '/api/task/task_none', token })).json.code).toBe('TASK_NOT_FOUND');
    const usage = await send({ path: '/api/log', token });
    expect(usage.json.data.items.every((row: { task_id: string }) => row.task_id === id)).toBe(true);
    const [row] = usage.json.data.items;
    expect(row.prompt).toBe('a quiet harbour');
    const found = async (filter: string): Promise<number> =>
      (await send({ path: `/api/log?scope=own&${filter}`, token })).json.data.total;
    expect(await found(`model=${row.model}&api_key=${row.api_key_id}&since=${row.created_at}`)).toBe(1);
    expect(await found(`until=${row.created_at - 1}`)).toBe(0);
    expect(await found('model=none')).toBe(0);
    expect((await send({ path: '/api/log?api_key=x', token })).json.code).toBe('VALIDATION_FAILED');
    expect(gateway.log()).not.toContain(stored.searchParams.get('access') ?? 'no access');
  });
});

describe('operation', () => {
  test('nodes and queue', async () => {
    const { json } = await send({ path: '/api/node', token: await root() });
    expect(json.data.nodes.length).toBe(1);
    expect(json.data.queue).toEqual({ unfinished: 0, due: 0, latest_lateness_ms: 0 });
    expect(JSON.stringify(json)).not.toContain('fingerprint');
  });

  test('ready, and no secret before sign-in', async () => {
    const ready = await send({ path: '/readyz' });
    expect([ready.status, ready.json.status]).toEqual([200, 'ready']);
    const status = await send({ path: '/api/status' });
    expect(status.json.data).toMatchObject({ register_enabled: false, password_login_enabled: true, setup: true });
    expect(status.text).not.toMatch(/secret(?!s)|token|password"/i);
  });
});
