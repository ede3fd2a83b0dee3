import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { type Kit, ok } from '../../src/http/kit.ts';
import { AppError } from '../../src/kernel/index.ts';
import { call, openKit } from './kit-harness.ts';

const tooMany = (retryAfterSeconds: number) =>
  new AppError('auth.rate_limited', 'rate_limited', 'Too many.', { retryAfterSeconds });

describe('the Critical limit per address', () => {
  test('counts before anything else is looked at', async () => {
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

  const nobody = 'counts per user where no user is known, or in no known scope.';

  test('a route that declares it where no user is known, or in an unknown scope, stops the start', () => {
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
