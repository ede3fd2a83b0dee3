import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { ok, strictObject } from '../../../src/http/pipeline/route-kit.ts';
import { compressJson } from '../../../src/http/responses/compress-json.ts';
import { errorResponse, panelCode, toStatus } from '../../../src/http/responses/errors.ts';
import { AppError, type ErrorKind } from '../../../src/kernel/index.ts';
import { call, openKit, SECRET_CAUSE } from '../kit-harness.ts';

describe('published codes', () => {
  test.each([
    ['auth.invalid_credentials', 'AUTH_INVALID_CREDENTIALS'],
    ['auth.session_mismatch', 'AUTH_SESSION_MISMATCH'],
    ['auth.session_limit', 'AUTH_SESSION_LIMIT'],
    ['auth.session_issuance_limit', 'AUTH_SESSION_ISSUANCE_LIMIT'],
    ['auth.session_required', 'AUTH_SESSION_REQUIRED'],
    ['auth.validation_failed', 'VALIDATION_FAILED'],
    ['auth.rate_limited', 'RATE_LIMITED'],
    ['auth.name_taken', 'NAME_TAKEN'],
    ['auth.unavailable', 'AUTH_UNAVAILABLE'],
    ['plugins.invalid', 'PLUGIN_INVALID'],
    ['plugins.version_exists', 'PLUGIN_VERSION_EXISTS'],
    ['plugins.hook_failed', 'PLUGIN_HOOK_FAILED'],
    ['channels.not_found', 'CHANNEL_NOT_FOUND'],
    ['tasks.task_not_found', 'TASK_NOT_FOUND'],
    ['billing.price_invalid', 'BILLING_PRICE_INVALID'],
    ['http.validation_failed', 'VALIDATION_FAILED'],
    ['http.not_found', 'NOT_FOUND'],
    ['http.origin_forbidden', 'AUTH_ORIGIN_FORBIDDEN'],
    ['http.insufficient_privilege', 'AUTH_INSUFFICIENT_PRIVILEGE'],
    ['http.internal', 'INTERNAL_ERROR'],
    ['store.unavailable', 'STORE_UNAVAILABLE'],
  ])('%s is %s', (code, published) => {
    expect(panelCode(code)).toBe(published);
  });

  const kinds: [ErrorKind, number, string][] = [
    ['invalid', 400, 'invalid_request_error'],
    ['unauthenticated', 401, 'authentication_error'],
    ['forbidden', 403, 'permission_error'],
    ['not_found', 404, 'invalid_request_error'],
    ['method_not_allowed', 405, 'invalid_request_error'],
    ['conflict', 409, 'invalid_request_error'],
    ['gone', 410, 'invalid_request_error'],
    ['too_large', 413, 'invalid_request_error'],
    ['address_too_long', 414, 'invalid_request_error'],
    ['unsupported_media', 415, 'invalid_request_error'],
    ['unprocessable', 422, 'invalid_request_error'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['internal', 500, 'server_error'],
    ['upstream_failed', 502, 'server_error'],
    ['unavailable', 503, 'server_error'],
    ['upstream_timeout', 504, 'server_error'],
  ];
  test.each(kinds)('%s: %d, %s', async (kind, status, type) => {
    const error = new AppError('tasks.some_reason', kind, { message: 'Said.', param: 'model' });
    expect(toStatus(error)).toBe(status);
    const response = errorResponse(error, 'openai', 'r');
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: { message: 'Said.', type, code: 'some_reason', param: 'model' } },
    ]);
  });
});

describe('error responses', () => {
  const app = openKit();

  test.each([
    ['/api/crash', ''],
    ['/v1/crash', 'sk-good'],
  ])('%s never shows the cause or a stack', async (path, as) => {
    const answer = await call(app, { path, as });
    expect(answer.status).toBe(500);
    const said = answer.text + JSON.stringify(Object.fromEntries(answer.headers));
    for (const secret of ['SELECT', 'file.ts', '/home', 'Error:', ' at ', 'stack', 'cause'])
      expect(said).not.toContain(secret);
    const line = app.lines.findLast((entry) => entry.level === 'error');
    expect(line?.fields.err).toEqual(new Error(SECRET_CAUSE));
    expect(line?.fields.request_id).toBe(answer.headers.get('x-request-id'));
  });

  test('a limit sends Retry-After; an accepted job sends x-should-retry: false', async () => {
    const answer = await call(app, { path: '/api/busy' });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.text).not.toContain('SELECT');
  });

  test('a route that compresses its answers sends errors as any other', async () => {
    const packed = openKit({
      routes: (kit) =>
        new Elysia({ normalize: false })
          .use(kit)
          .get('/api/packed', () => ok('packed'), { public: true, query: strictObject({}), mapResponse: compressJson })
          .get(
            '/api/packed/busy',
            () => {
              throw new AppError('store.unavailable', 'unavailable', { message: 'Busy.', retryAfterSeconds: 2 });
            },
            { public: true, mapResponse: compressJson },
          ) as never,
    });
    const headers = { 'accept-encoding': 'gzip' };
    expect((await call(packed, { path: '/api/packed', headers })).headers.get('content-encoding')).toBe('gzip');
    const wrong = await call(packed, { path: '/api/packed?x=1', headers });
    expect([wrong.status, wrong.json?.code]).toEqual([400, 'VALIDATION_FAILED']);
    const busy = await call(packed, { path: '/api/packed/busy', headers });
    expect([busy.status, busy.headers.get('retry-after'), busy.json?.code]).toEqual([503, '2', 'STORE_UNAVAILABLE']);
  });

  const rows: [method: string, path: string, as: string, status: number, allow: string | null, code: string][] = [
    ['GET', '/api/none', '', 404, null, 'NOT_FOUND'],
    ['POST', '/api/none', '', 404, null, 'NOT_FOUND'],
    ['GET', '/api', '', 404, null, 'NOT_FOUND'],
    ['DELETE', '/api/open', '', 405, 'GET, HEAD, POST', 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/guess', '', 405, 'POST', 'METHOD_NOT_ALLOWED'],
    ['PROPFIND', '/api/self', '', 405, 'GET, HEAD', 'METHOD_NOT_ALLOWED'],
    ['DELETE', '/api/self/x/', '', 405, 'GET, HEAD', 'METHOD_NOT_ALLOWED'],
  ];
  test.each(rows)('%s %s as "%s": %d', async (method, path, as, status, allow, code) => {
    const answer = await call(app, { method, path, as });
    expect([answer.status, answer.headers.get('allow'), answer.json.code]).toEqual([status, allow, code]);
    expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
  });

  test('an unknown path for API clients answers in the OpenAI envelope', async () => {
    const answer = await call(app, { path: '/v1/none' });
    expect([answer.status, answer.json]).toEqual([
      404,
      {
        error: {
          message: 'There is nothing at this address.',
          type: 'invalid_request_error',
          code: 'not_found',
          param: null,
        },
      },
    ]);
  });

  test('a trailing slash works without a redirect', async () => {
    for (const path of ['/api/self/', '/api/self/name/', '/v1/things/7/']) {
      const { status } = await call(app, { path, as: path.startsWith('/v1') ? 'sk-good' : 'user' });
      expect([path, status]).toEqual([path, 200]);
    }
  });

  test('HEAD answers like GET without a body, with the same access checks', async () => {
    const answer = await call(app, { method: 'HEAD', path: '/api/self', as: 'user' });
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/json;charset=utf-8',
    ]);
    const { text } = await call(app, { path: '/api/self', as: 'user' });
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect((await call(app, { method: 'HEAD', path: '/api/self' })).status).toBe(401);
  });

  test('a parameter arrives decoded', async () => {
    const answer = await call(app, { path: '/api/self/a%20%C3%A9', as: 'user' });
    expect(answer.json.data).toBe('a é');
  });
});

describe('request ids', () => {
  const app = openKit();
  test('a harmless request id of the caller is kept everywhere', async () => {
    const answer = await call(app, { path: '/api/self', as: 'user', headers: { 'x-request-id': 'trace-1.2:3_4' } });
    expect(answer.headers.get('x-request-id')).toBe('trace-1.2:3_4');
    expect(answer.json.data.requestId).toBe('trace-1.2:3_4');
    expect(app.lines.at(-1)?.fields.request_id).toBe('trace-1.2:3_4');
  });

  test.each(['', 'a b', 'x'.repeat(65), '<script>', '-starts', 'a"b', 'a,b'])('"%s" is replaced', async (given) => {
    const answer = await call(app, { path: '/api/open', headers: { 'x-request-id': given } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('every response has its own id', async () => {
    const ids = await Promise.all(
      ['/api/open', '/api/none', '/v1/none', '/livez', '/nowhere'].map(async (path) =>
        (await call(app, { path })).headers.get('x-request-id'),
      ),
    );
    expect(new Set(ids).size).toBe(5);
  });
});

describe('the log', () => {
  test('never contains a query: it may carry capabilities and one-time codes', async () => {
    const app = openKit();
    await call(app, { path: '/v1/things/7?access=c4pability-s3cret&turnstile=t0ken', as: 'sk-good' });
    await call(app, { path: '/api/none?access=c4pability-s3cret', headers: { authorization: 'Bearer n0t-logged' } });
    const log = JSON.stringify(app.lines);
    for (const secret of ['c4pability', 't0ken', 'n0t-logged', 'sk-good']) expect(log).not.toContain(secret);
    expect(
      app.lines
        .filter((line) => line.message === 'request')
        .map(({ fields }) => [fields.method, fields.path, fields.status, fields.user_id, fields.ip]),
    ).toEqual([
      ['GET', '/v1/things/7', 200, 4, '203.0.113.9'],
      ['GET', '/api/none', 404, undefined, '203.0.113.9'],
    ]);
  });
});
