import { describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { ok, strictObject } from '../../../src/http/pipeline/route-kit.ts';
import { call, openKit } from '../kit-harness.ts';

describe('a route without access is refused at the start', () => {
  const refused: [string, string, Parameters<typeof openKit>[0]][] = [
    [
      'declares none',
      'The route GET /api/silent declares no access.',
      { routes: (kit) => new Elysia().use(kit).get('/api/silent', () => ok(1)) as never },
    ],
    [
      'declares none beside one that does',
      'The route POST /api/silent declares no access.',
      {
        routes: (kit) =>
          new Elysia()
            .use(kit)
            .get('/api/silent', () => ok(1), { root: true })
            .post('/api/silent', () => ok(1)) as never,
      },
    ],
    [
      'switches its access off',
      'The route GET /api/silent declares no access.',
      { routes: (kit) => new Elysia().use(kit).get('/api/silent', () => ok(1), { root: false as true }) as never },
    ],
    [
      'accepts unknown fields',
      'The body of POST /api/loose would accept unknown fields.',
      {
        routes: (kit) =>
          new Elysia()
            .use(kit)
            .post('/api/loose', () => ok(1), { root: true, body: t.Object({ a: t.String() }) }) as never,
      },
    ],
    [
      'accepts an endless list',
      'The body of POST /api/loose needs maxItems, maxProperties or maxLength at "/a/".',
      {
        routes: (kit) =>
          new Elysia().use(kit).post('/api/loose', () => ok(1), {
            root: true,
            body: strictObject({ a: t.Union([t.Null(), t.Array(t.Boolean())]) }),
          }) as never,
      },
    ],
    [
      'accepts an endless map',
      'The body of POST /api/loose needs maxItems, maxProperties or maxLength at "/a".',
      {
        routes: (kit) =>
          new Elysia().use(kit).post('/api/loose', () => ok(1), {
            root: true,
            body: strictObject({ a: t.Record(t.String(), t.Boolean()) }),
          }) as never,
      },
    ],
    [
      'accepts an endless text',
      'The body of POST /api/loose needs maxItems, maxProperties or maxLength at "/a/items".',
      {
        routes: (kit) =>
          new Elysia().use(kit).post('/api/loose', () => ok(1), {
            root: true,
            body: strictObject({ a: t.Array(t.String(), { maxItems: 3 }) }),
          }) as never,
      },
    ],
    [
      'declares an unknown body limit',
      'The route POST /api/loose declares an unknown body limit.',
      {
        routes: (kit) =>
          new Elysia().use(kit).post('/api/loose', () => ok(1), {
            root: true,
            bodyLimit: 'endless' as 'usual',
            body: strictObject({ a: t.Boolean() }),
          }) as never,
      },
    ],
    [
      'is a wildcard',
      'The route GET /api/* must name its segments: no wildcards.',
      { routes: (kit) => new Elysia().use(kit).get('/api/*', () => ok(1), { public: true }) as never },
    ],
  ];
  test.each(refused)('%s', (_name, message, options) => {
    expect(() => openKit(options)).toThrow(message);
  });

  test('every route of the sample declares its access', async () => {
    const routes = await openKit().routes.all();
    expect(routes.length).toBeGreaterThan(15);
    expect(routes.every((route) => route.access.length > 0)).toBe(true);
  });
});

describe('who may call a route', () => {
  const app = openKit();
  const rows: [path: string, as: string, status: number, code: string][] = [
    ['/api/open', '', 200, ''],
    ['/api/self', '', 401, 'AUTH_UNAUTHORIZED'],
    ['/api/self', 'forged', 401, 'AUTH_UNAUTHORIZED'],
    ['/api/self', 'user', 200, ''],
    ['/api/self', 'pat', 200, ''],
    ['/api/self', 'sk-good', 401, 'AUTH_UNAUTHORIZED'],
    ['/api/session', 'user', 200, ''],
    ['/api/session', 'pat', 403, 'AUTH_SESSION_REQUIRED'],
    ['/api/admin', 'user', 403, 'AUTH_INSUFFICIENT_PRIVILEGE'],
    ['/api/admin', 'admin', 200, ''],
    ['/api/admin', 'root', 200, ''],
    ['/api/root', 'admin', 403, 'AUTH_INSUFFICIENT_PRIVILEGE'],
    ['/api/root', 'root', 200, ''],
    ['/v1/things/7', '', 401, 'api_key_invalid'],
    ['/v1/things/7', 'user', 401, 'api_key_invalid'],
    ['/v1/things/7', 'sk-good', 200, ''],
    ['/v1/files/7', '', 401, 'api_key_invalid'],
    ['/v1/files/7?access=signed', '', 200, ''],
    ['/v1/files/7?access=', 'sk-wrong', 200, ''],
    ['/v1/files/7', 'sk-good', 200, ''],
    ['/v1/files/7', 'sk-wrong', 401, 'api_key_invalid'],
  ];
  test.each(rows)('%s as "%s": %d %s', async (path, as, status, code) => {
    const answer = await call(app, { path, as });
    const said = path.startsWith('/v1') ? answer.json.error?.code : answer.json.code;
    expect([answer.status, said ?? '']).toEqual([status, code]);
  });

  test('an anonymous caller learns nothing of the rules of a body', async () => {
    const answer = await call(app, { method: 'PUT', path: '/api/thing', body: { nonsense: true } });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('nonsense');
  });

  test('a length above the limit is refused before credentials are checked', async () => {
    let asked = 0;
    const auth = {
      authenticatePanel: async () => {
        asked += 1;
        throw new Error('asked');
      },
      authenticateApiKey: async () => {
        asked += 1;
        throw new Error('asked');
      },
    };
    const door = openKit({ auth, limits: { critical: () => auth.authenticatePanel() } });
    const declared = (path: string, bytes: number, type = 'application/json') =>
      call(door, {
        method: 'POST',
        path,
        body: 'x',
        headers: { 'content-type': type, 'content-length': String(bytes) },
      });
    const limits: [path: string, limit: number][] = [
      ['/api/guess', 64 * 1024],
      ['/v1/jobs', 64 * 1024],
      ['/v1/things', 16 * 1024 * 1024],
    ];
    for (const [path, limit] of limits) {
      const { status, json } = await declared(path, limit + 1);
      expect([path, status]).toEqual([path, 413]);
      expect(json.message ?? json.error.message).toContain(limit > 1e6 ? '16 MB' : '64 kB');
    }
    // A form may hold four files of the largest size, and 1 MiB for the rest.
    expect((await declared('/v1/things', 257 * 1024 * 1024 + 1, 'multipart/form-data; boundary=b')).status).toBe(413);
    expect(asked).toBe(0);
    expect((await declared('/v1/things', 257 * 1024 * 1024, 'multipart/form-data; boundary=b')).status).toBe(500);
    expect(asked).toBe(1);
  });

  test('an anonymous caller’s large body is not read before the refusal', async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
        if (pulled === 200) controller.close();
      },
    });
    const answer = await call(app, {
      method: 'PUT',
      path: '/api/thing',
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(401);
    expect(pulled).toBeLessThan(5);
  });

  test('encoded, doubled and upper-case paths reach no other route', async () => {
    for (const path of ['//api/root', '/api//root', '/API/root', '/api/%72oot', '/api/root/x', '/api/root;x']) {
      const { status } = await call(app, { path });
      expect([path, status]).toEqual([path, 404]);
    }
  });
});
