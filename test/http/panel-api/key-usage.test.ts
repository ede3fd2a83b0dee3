/** What an API key may read of itself, and what it may not. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, PanelPrincipal } from '../../../src/auth/index.ts';
import { keyUsageRoutes } from '../../../src/http/panel-api/accounts/api-keys.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../../src/store/ports/index.ts';
import { bearer, openAuth, openTestStore, signIn } from '../../auth/harness.ts';
import { addUser } from '../../support/add-user.ts';
import { RULE_DATABASES } from '../../support/databases.ts';
import { call, openKit } from '../kit-harness.ts';

const asSession = (user: UserRecord): PanelPrincipal => ({ kind: 'session', user, sid: 's', sessionVersion: 1 });
const PATHS = ['/api/usage/token', '/api/usage/token/', '/api/log/token', '/api/log/token/'];

for (const dialect of RULE_DATABASES) {
  describe(`an API key reads its own usage on ${dialect}`, () => {
    let opened: Awaited<ReturnType<typeof openTestStore>>;
    let store: Store;
    let auth: Auth;
    let user: UserRecord;
    let app: ReturnType<typeof openKit>;

    beforeAll(async () => {
      opened = await openTestStore(dialect);
      store = opened.store;
      auth = openAuth(store);
      user = await addUser(store);
      app = openKit({
        auth,
        routes: (kit) =>
          keyUsageRoutes(kit, { auth, records: store.logs, groupLimits: () => ({ max_running: 2 }) }) as never,
      });
    });
    afterAll(() => opened.stop());

    const create = (fields: Parameters<Auth['apiKeys']['create']>[1]) => auth.apiKeys.create(asSession(user), fields);
    const log = (apiKeyId: number, change: { taskId: string; quota: number; createdAt: number }) =>
      store.logs.addUsage({
        userId: user.id,
        walletId: user.walletId,
        apiKeyId,
        channelId: 77,
        pluginKey: 'demo',
        model: 'demo-video',
        kind: 'settle',
        detail: { seconds: 4 },
        ...change,
      });

    test('the budget of a limited key', async () => {
      const { key } = await create({
        ...{ name: 'ci', quota: 900, models: ['a', 'b'], expires_at: 4_000_000_000, max_running: 3 },
      });
      const { status, json, headers } = await call(app, { path: '/api/usage/token', as: key });
      expect([status, json]).toEqual([
        200,
        {
          success: true,
          code: true,
          message: 'ok',
          data: {
            object: 'token_usage',
            name: 'ci',
            total_granted: 900,
            total_used: 0,
            total_available: 900,
            unlimited_quota: false,
            model_limits: { a: true, b: true },
            model_limits_enabled: true,
            expires_at: 4_000_000_000,
            budget: null,
            requests_per_minute: null,
            max_running: 3,
            limits: { requests_per_minute: null, max_running: 2 },
          },
        },
      ]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('cache-control')).toBe('no-store');
    });

    test('the strictest of the limits of the key, its user and their group', async () => {
      const { key } = await create({ ...{ name: 'slow', unlimited_quota: true }, requests_per_minute: 60 });
      await store.users.update(user.id, { requestsPerMinute: 30, maxRunning: 5 });
      const { json } = await call(app, { path: '/api/usage/token', as: key });
      expect(json.data.limits).toEqual({ requests_per_minute: 30, max_running: 2 });
      await store.users.update(user.id, { requestsPerMinute: null, maxRunning: null });
    });

    test('what it may spend in each period, and what is spent in the present one', async () => {
      const budget = { amount: 500, period: 'day' };
      const { key, id } = await create({ name: 'daily', unlimited_quota: true, budget });
      await store.ledger.grant({ walletId: user.walletId, kind: 'grant', key: 'daily', amount: 1000, at: 1 });
      const line = { walletId: user.walletId, userId: user.id, apiKeyId: id, taskId: 'task_daily', attempt: 1 };
      expect(await store.ledger.reserve({ ...line, amount: 300, at: 1 })).toBe('ok');
      const midnight = Math.ceil((Date.now() + 1) / 86_400_000) * 86_400;
      const { json } = await call(app, { path: '/api/usage/token', as: key });
      expect(json.data.budget).toEqual({ ...budget, spent: 300, resets_at: midnight });
      await auth.apiKeys.update(asSession(user), id, { budget: null });
      expect((await call(app, { path: '/api/usage/token', as: key })).json.data.budget).toBeNull();
    });

    test('used plus available is granted; an unlimited key without expiry says so', async () => {
      const { key, id } = await create({ name: 'spent', quota: 600 });
      await store.ledger.addUsage({ walletId: user.walletId, apiKeyId: id, channelId: 1, quota: 400 });
      const spent = await call(app, { path: '/api/usage/token/', as: key });
      expect(spent.json.data).toMatchObject({ total_granted: 1000, total_used: 400, total_available: 600 });

      const open = await create({ name: 'open', unlimited_quota: true });
      const { json } = await call(app, { path: '/api/usage/token', as: open.key });
      expect(json.data).toMatchObject({
        unlimited_quota: true,
        model_limits: {},
        model_limits_enabled: false,
        expires_at: 0,
      });
    });

    test('the log has only rows of this key, newest first, and nothing of the channel', async () => {
      const [mine, other] = [await create({ name: 'mine', quota: 5 }), await create({ name: 'other', quota: 5 })];
      await log(mine.id, { taskId: 'task_1', quota: 100, createdAt: 1000 });
      await log(other.id, { taskId: 'task_2', quota: 200, createdAt: 1001 });
      await log(mine.id, { taskId: 'task_3', quota: 300, createdAt: 1002 });
      const { status, json, text } = await call(app, { path: '/api/log/token', as: mine.key });
      expect([status, json.success, json.code, json.message]).toEqual([200, true, true, '']);
      expect(json.data).toMatchObject([
        { task_id: 'task_3', quota: 300, created_at: 1002, model: 'demo-video', api_key_id: mine.id },
        { task_id: 'task_1', quota: 100, created_at: 1000 },
      ]);
      expect(json.data).toHaveLength(2);
      expect(text).not.toContain('channel');
      expect((await call(app, { path: '/api/log/token/', as: other.key })).json.data).toHaveLength(1);
      expect((await call(app, { path: '/api/log/token', as: (await create({ name: 'new' })).key })).json.data).toEqual(
        [],
      );
    });

    test('a long log is cut after the newest thousand rows', async () => {
      const { key, id } = await create({ name: 'busy', unlimited_quota: true });
      await store.transaction(async (tx) => {
        for (let i = 0; i < 1003; i += 1) {
          await tx.logs.addUsage({
            userId: user.id,
            walletId: user.walletId,
            apiKeyId: id,
            taskId: `task_${i}`,
            channelId: 1,
            pluginKey: 'demo',
            model: 'm',
            kind: 'settle',
            quota: 1,
            detail: {},
            createdAt: i,
          });
        }
      });
      const { data } = (await call(app, { path: '/api/log/token', as: key })).json;
      expect([data.length, data[0].task_id, data[999].task_id]).toEqual([1000, 'task_1002', 'task_3']);
    });

    test('both forms of the header, and a key whose budget is used up', async () => {
      const { key } = await create({ name: 'empty', quota: 0 });
      for (const path of PATHS) {
        for (const authorization of [key, `Bearer ${key}`, `bearer ${key}`]) {
          expect((await call(app, { path, headers: { authorization } })).status, `${path} ${authorization}`).toBe(200);
        }
      }
    });

    test('a disabled, expired or deleted key, one from a wrong address, and the key of a disabled user are refused', async () => {
      const disabled = await create({ name: 'off', quota: 1 });
      await auth.apiKeys.update(asSession(user), disabled.id, { status: 2 });
      const expired = await create({ name: 'late', quota: 1, expires_at: systemClock.unix() - 1 });
      const deleted = await create({ name: 'gone', quota: 1 });
      await auth.apiKeys.delete(asSession(user), deleted.id);
      const bound = await create({ name: 'bound', quota: 1, allow_ips: ['198.51.100.0/24'] });
      const leaver = await addUser(store, { status: 2 });
      const left = await auth.apiKeys.create(asSession(leaver), { name: 'left', unlimited_quota: true });

      const refused: [string, string, number][] = [
        [disabled.key, 'AUTH_API_KEY_DISABLED', 401],
        [expired.key, 'AUTH_API_KEY_EXPIRED', 401],
        [deleted.key, 'AUTH_API_KEY_INVALID', 401],
        [bound.key, 'AUTH_API_KEY_IP_NOT_ALLOWED', 403],
        [left.key, 'AUTH_API_KEY_USER_DISABLED', 401],
        [`sk-${'A'.repeat(48)}`, 'AUTH_API_KEY_INVALID', 401],
      ];
      for (const path of PATHS) {
        for (const [key, code, status] of refused) {
          const answer = await call(app, { path, as: key });
          expect([path, answer.status, answer.json.success, answer.json.code]).toEqual([path, status, false, code]);
          expect(answer.json.request_id).toBeString();
        }
        expect((await call(app, { path })).json.code).toBe('AUTH_API_KEY_MISSING');
      }
    });

    test('a session’s access token is not an API key', async () => {
      const session = await signIn(auth, user);
      for (const path of PATHS) {
        const answer = await call(app, { path, headers: { authorization: bearer(session) } });
        expect([answer.status, answer.json.code]).toEqual([401, 'AUTH_API_KEY_INVALID']);
      }
    });
  });
}

test('key stuffing: requests to these routes count as critical before the key is checked', async () => {
  const counted: string[] = [];
  const app = openKit({
    limits: { critical: async (ip) => void counted.push(ip) },
    routes: (kit) =>
      keyUsageRoutes(kit, {
        auth: {} as Auth,
        records: { listUsage: async () => ({ total: 0, hasMore: false, items: [] }) },
        groupLimits: () => ({}),
      }) as never,
  });
  for (const path of PATHS) await call(app, { path, as: 'sk-wrong' });
  expect(counted).toHaveLength(PATHS.length);
});

test('pages of other sites may read it with a key', async () => {
  const app = openKit({
    routes: (kit) =>
      keyUsageRoutes(kit, {
        auth: {} as Auth,
        records: { listUsage: async () => ({ total: 0, hasMore: false, items: [] }) },
        groupLimits: () => ({}),
      }) as never,
  });
  for (const path of PATHS) {
    const preflight = await call(app, {
      method: 'OPTIONS',
      path,
      headers: { origin: 'https://dashboard.example', 'access-control-request-method': 'GET' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    const refused = await call(app, { path, headers: { origin: 'https://dashboard.example' } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
  }
});
