import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import type { RequestPayer } from '../../../src/auth/index.ts';
import { createRequestLimit, createUserLimit } from '../../../src/auth/limits/limit-requests.ts';
import { type Kit, ok } from '../../../src/http/pipeline/route-kit.ts';
import type { RequestLimits } from '../../../src/http/pipeline/types.ts';
import { AppError } from '../../../src/kernel/index.ts';
import { createMemoryCounters } from '../../../src/store/index.ts';
import { call, openKit } from '../kit-harness.ts';

const tooMany = (retryAfterSeconds: number) =>
  new AppError('auth.rate_limited', 'rate_limited', { message: 'Too many.', retryAfterSeconds });

describe('the Critical limit per address', () => {
  test('counts before anything else is checked', async () => {
    const app = openKit({
      limits: {
        critical: async () => {
          throw tooMany(30);
        },
      },
    });
    const answer = await call(app, { method: 'POST', path: '/api/guess' });
    expect([answer.status, answer.json.code, answer.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '30']);
    expect((await call(app, { path: '/api/open' })).status).toBe(200);
  });
});

describe('the Critical limit per user', () => {
  test('counts the user in the scope of the route, after authentication and before the handler', async () => {
    const counted: [number, string][] = [];
    const app = openKit({
      limits: {
        user: async (userId, scope) => {
          counted.push([userId, scope]);
          if (counted.length > 2) throw tooMany(7);
        },
      },
    });
    const scoped = { method: 'POST', path: '/api/scoped' };
    expect((await call(app, scoped)).status).toBe(401);
    expect(counted).toEqual([]);
    expect((await call(app, { ...scoped, as: 'user' })).status).toBe(200);
    expect((await call(app, { ...scoped, as: 'pat' })).status).toBe(200);
    const refused = await call(app, { ...scoped, as: 'admin' });
    expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '7']);
    expect(counted).toEqual([
      [1, 'access-token'],
      [1, 'access-token'],
      [2, 'access-token'],
    ]);
    expect((await call(app, { path: '/api/self', as: 'user' })).status).toBe(200);
    expect(counted).toHaveLength(3);
  });

  test('comes after the one per address', async () => {
    const order: string[] = [];
    const app = openKit({
      limits: {
        api: async () => void order.push('api'),
        critical: async () => void order.push('critical'),
        user: async () => void order.push('user'),
      },
    });
    await call(app, { method: 'POST', path: '/api/scoped', as: 'user' });
    expect(order).toEqual(['api', 'critical', 'user']);
  });

  const nobody = 'counts per user, but it knows no user or the scope is unknown.';

  test('a route that declares it without a user, or with an unknown scope, fails at start', () => {
    const routes: [string, (kit: Kit) => unknown][] = [
      [
        'POST /api/public',
        (kit) => new Elysia().use(kit).post('/api/public', () => ok(1), { public: true, perUser: 'access-token' }),
      ],
      [
        'POST /v1/keyed',
        (kit) => new Elysia().use(kit).post('/v1/keyed', () => ok(1), { apiKey: true, perUser: 'access-token' }),
      ],
      [
        'POST /api/unknown',
        (kit) =>
          new Elysia()
            .use(kit)
            .post('/api/unknown', () => ok(1), { user: true, perUser: 'no-such-scope' as 'access-token' }),
      ],
    ];
    for (const [route, build] of routes) {
      expect(() => openKit({ routes: (kit) => build(kit) as Elysia })).toThrow(`The route ${route} ${nobody}`);
    }
  });
});

describe('the limit of model requests', () => {
  /** Lets `free` requests pass; records each call and each success. */
  const recording = (free: number) => {
    const calls: RequestPayer[] = [];
    const recorded = { successes: 0 };
    const modelRequests = async (payer: RequestPayer) => {
      calls.push(payer);
      if (calls.length > free) throw tooMany(12.4);
      return async () => {
        recorded.successes += 1;
      };
    };
    return { calls, recorded, app: openKit({ limits: { modelRequests } }) };
  };
  const submit = (answer: number, as = 'sk-good') => ({ method: 'POST', path: `/v1/jobs?answer=${answer}`, as });

  test('gets user and group of the key, and records only answers below 400 as success', async () => {
    const { app, calls, recorded } = recording(100);
    for (const answer of [200, 201, 302, 400, 404, 429, 500, 503]) {
      expect((await call(app, submit(answer))).status).toBe(answer);
    }
    expect(recorded.successes).toBe(3);
    expect(calls.map(({ user, group }) => [user.id, group])).toEqual(Array.from({ length: 8 }, () => [4, 'default']));
  });

  test('a success that cannot be counted is answered all the same: it was bought', async () => {
    const modelRequests = async () => () => Promise.reject(new Error('the counter is gone'));
    expect((await call(openKit({ limits: { modelRequests } }), submit(200))).status).toBe(200);
  });

  test('headers say what is left, on answers and refusals', async () => {
    let remaining = 1;
    const modelRequests: RequestLimits['modelRequests'] = async (_payer, report) => {
      report({ limit: 2, remaining: Math.max(0, remaining), resetSeconds: 90 });
      remaining -= 1;
      if (remaining < -1) throw tooMany(13);
      return async () => {};
    };
    const app = openKit({ limits: { modelRequests } });
    const left = async () => {
      const { status, headers } = await call(app, submit(200));
      return [status, ...['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}-requests`))];
    };
    expect(await left()).toEqual([200, '2', '1', '1m30s']);
    expect(await left()).toEqual([200, '2', '0', '1m30s']);
    expect(await left()).toEqual([429, '2', '0', '1m30s']);
    const { headers } = await call(openKit(), submit(200));
    expect(headers.get('x-ratelimit-limit-requests')).toBeNull();
  });

  test('refuses in the envelope of these routes, before the handler', async () => {
    const { app, recorded } = recording(0);
    const answer = await call(app, submit(200));
    expect([answer.status, answer.json, answer.headers.get('retry-after')]).toEqual([
      429,
      { error: { message: 'Too many.', type: 'rate_limit_error', code: 'rate_limited', param: null } },
      '13',
    ]);
    expect(recorded.successes).toBe(0);
  });

  test('does not count requests without a valid key, nor other routes', async () => {
    const { app, calls } = recording(100);
    expect((await call(app, submit(200, 'sk-wrong'))).status).toBe(401);
    expect((await call(app, { path: '/v1/things/7', as: 'sk-good' })).status).toBe(200);
    expect(calls).toEqual([]);
  });

  test('a route that declares it without a user fails at start', () => {
    const build = (kit: Kit): unknown =>
      new Elysia().use(kit).post('/api/odd', () => ok(1), { public: true, modelRequest: true });
    expect(() => openKit({ routes: (kit) => build(kit) as Elysia })).toThrow(
      'The route POST /api/odd counts model requests, but it knows no user.',
    );
  });
});

describe('429 with the limits of the auth room', () => {
  const open = ({ critical = 100, api = 100 }: { critical?: number; api?: number }) => {
    const counters = createMemoryCounters();
    const window = { limit: critical, windowSeconds: 1200 };
    return openKit({
      limits: {
        api: createRequestLimit(counters, { name: 'api', limit: api, windowSeconds: 180 }),
        critical: createRequestLimit(counters, { name: 'critical', ...window }),
        user: createUserLimit(counters, window),
      },
    });
  };

  test('has a JSON body and Retry-After, and clears no cookie', async () => {
    const app = open({ critical: 2 });
    const guess = { method: 'POST', path: '/api/cookies/refuse', headers: { cookie: 'svc_refresh=sid.secret' } };
    for (let i = 0; i < 2; i += 1) {
      const refused = await call(app, guess);
      expect([refused.status, refused.headers.getSetCookie().length > 0]).toEqual([401, true]);
    }
    const { status, json, headers } = await call(app, guess);
    expect([status, json]).toEqual([
      429,
      {
        success: false,
        code: 'RATE_LIMITED',
        message: 'Too many requests. Try again later.',
        request_id: headers.get('x-request-id'),
      },
    ]);
    expect(Number(headers.get('retry-after'))).toBeWithin(900, 1201);
    expect(headers.get('content-type')).toContain('application/json');
    expect(headers.getSetCookie()).toEqual([]);
  });

  test('critical routes share one count per address; other addresses have their own', async () => {
    const app = open({ critical: 3 });
    const from = (peer: string, path: string, as?: string) =>
      call(app, { method: 'POST', path, peer, ...(as ? { as } : {}) });
    expect((await from('203.0.113.1', '/api/guess')).status).toBe(200);
    expect((await from('203.0.113.1', '/api/scoped', 'user')).status).toBe(200);
    expect((await from('203.0.113.1', '/api/scoped')).status).toBe(401);
    expect((await from('203.0.113.1', '/api/guess')).status).toBe(429);
    expect((await from('203.0.113.1', '/api/scoped', 'user')).status).toBe(429);
    expect((await from('203.0.113.2', '/api/guess')).status).toBe(200);
    expect((await call(app, { path: '/api/open', peer: '203.0.113.1' })).status).toBe(200);
  });

  test('a user who changes the address keeps the same count', async () => {
    const app = open({ critical: 3 });
    const ask = (i: number, as: string) =>
      call(app, { method: 'POST', path: '/api/scoped', as, peer: `203.0.113.${i}` });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await ask(i, 'user')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    expect((await ask(9, 'admin')).status).toBe(200);
  });

  test('every path below /api is limited, even unknown ones; /v1 and the panel are not', async () => {
    const app = open({ api: 3 });
    const statuses: number[] = [];
    for (const path of ['/api/open', '/api/none', '/api/self', '/api/open']) {
      statuses.push((await call(app, { path })).status);
    }
    expect(statuses).toEqual([200, 404, 401, 429]);
    const refused = await call(app, { path: '/api/none' });
    expect([refused.status, refused.json.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(90, 181);
    for (let i = 0; i < 10; i += 1) expect((await call(app, { path: '/v1/things/7', as: 'sk-good' })).status).toBe(200);
    expect((await call(app, { path: '/livez' })).status).toBe(200);
  });
});
