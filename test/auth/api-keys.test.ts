import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { validateApiKeyFields } from '../../src/auth/api-keys/validate-api-key.ts';
import { type ApiKeyFields, type Auth, assertKeyAllows, type PanelPrincipal } from '../../src/auth/index.ts';
import { newUuid, sha256Hex } from '../../src/kernel/index.ts';
import { type ApiKeyRecord, ROLE, type Store, type UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { at } from '../support/deciding-ip.ts';
import { until } from '../support/until.ts';
import { openAuth, openTestStore, overriding, testConfig } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const from = (ip: string) => ({ ip, decidingIp: at(ip) });
const asSession = (user: UserRecord): PanelPrincipal => ({ kind: 'session', user, sid: newUuid(), sessionVersion: 1 });

for (const dialect of RULE_DATABASES) {
  describe(`API keys on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let user: UserRecord;
    let principal: PanelPrincipal;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      user = await addUser(store);
      principal = asSession(user);
    });

    test('the key is shown once and stored as a digest', async () => {
      const created = await auth.apiKeys.create(principal, { name: ' my key ' });
      expect(created.key).toMatch(/^sk-[A-Za-z0-9]{48}$/);
      expect(created).toEqual({
        id: created.id,
        name: 'my key',
        key: created.key,
        prefix: created.key.slice(0, 11),
        former_key: null,
        status: 4,
        unlimited_quota: false,
        quota: 0,
        used_quota: 0,
        budget: null,
        requests_per_minute: null,
        max_running: null,
        models: [],
        allow_ips: [],
        expires_at: 0,
        group: null,
        webhook_url: null,
        keep_results: false,
        store: true,
        webhook_secret: 'none',
        webhook_former_until: 0,
        new_webhook_secret: null,
        created_at: clock.unix(),
        last_used_at: 0,
        last_used_ip: '',
      });
      const stored = await store.apiKeys.byId(created.id);
      expect(stored?.keyHash).toBe(sha256Hex(created.key));
      const listed = await auth.apiKeys.list(principal, { page: 1, pageSize: 10 });
      const { key, new_webhook_secret, ...view } = created;
      expect(listed).toEqual({ total: 1, hasMore: false, items: [view] });
      expect(JSON.stringify([stored, listed])).not.toContain(key.slice(11));
    });

    test('a webhook secret is shown once, encrypted, and rotates; a webhook address requires one', async () => {
      const created = await auth.apiKeys.create(principal, { name: 'k' });
      const hook = { webhook_url: 'https://hooks.example/taskgate?token=1' };
      await refusal(auth.apiKeys.update(principal, created.id, hook), 'auth.api_key_webhook_secret_missing');
      const first = await auth.apiKeys.rotateWebhookSecret(principal, created.id);
      expect(first).toEqual({ secret: expect.stringMatching(/^whsec_/), former_until: 0 });
      expect(Buffer.from(first.secret.slice(6), 'base64')).toHaveLength(32);
      expect(await auth.apiKeys.update(principal, created.id, hook)).toMatchObject({
        ...hook,
        webhook_secret: 'ready',
        webhook_former_until: 0,
      });
      const second = await auth.apiKeys.rotateWebhookSecret(principal, created.id);
      expect(second.secret).not.toBe(first.secret);
      expect(second.former_until).toBe(clock.unix() + 86_400);
      const stored = await store.apiKeys.byId(created.id);
      const listed = await auth.apiKeys.list(principal, { page: 1, pageSize: 10 });
      const text = JSON.stringify([stored, listed]);
      for (const { secret } of [first, second]) expect(text).not.toContain(secret.slice(6));
      expect(listed.items[0]?.webhook_former_until).toBe(second.former_until);

      const elsewhere = openAuth(store, { clock, config: { cryptoSecrets: ['another crypto secret, long enough'] } });
      expect((await elsewhere.apiKeys.list(principal, { page: 1, pageSize: 1 })).items[0]).toMatchObject({
        webhook_secret: 'unreadable',
      });
      const stranger = asSession(await addUser(store));
      await refusal(auth.apiKeys.rotateWebhookSecret(stranger, created.id), 'auth.api_key_not_found');
      await refusal(auth.apiKeys.update(stranger, created.id, hook), 'auth.api_key_not_found');
      expect(await auth.apiKeys.update(principal, created.id, { webhook_url: null })).toMatchObject({
        webhook_url: null,
        webhook_secret: 'ready',
      });
    });

    test('people see the budget of their own account, with what is spent', async () => {
      expect(await auth.describe(principal)).toMatchObject({ budget: null });
      const budget = { amount: 500, period: 'total' } as const;
      await store.users.update(user.id, { budget });
      const spender = await store.users.byId(user.id);
      expect((await auth.describe(asSession(spender ?? user))).budget).toEqual({
        ...budget,
        spent: 0,
        resets_at: null,
      });
    });

    test('a budget is set, shown with what is spent, kept by other changes and taken away', async () => {
      const budget = { amount: 500, period: 'month' } as const;
      const { id, budget: made } = await auth.apiKeys.create(principal, { name: 'k', budget });
      expect(made).toEqual({ ...budget, spent: 0, resets_at: expect.any(Number) });
      expect((await auth.apiKeys.update(principal, id, { name: 'other' })).budget).toEqual(made);
      const total = { amount: 9, period: 'total' } as const;
      expect((await auth.apiKeys.update(principal, id, { budget: total })).budget).toEqual({
        ...total,
        spent: 0,
        resets_at: null,
      });
      expect((await auth.apiKeys.update(principal, id, { budget: null })).budget).toBeNull();
      for (const [wrong, param] of [
        [{ amount: 0, period: 'day' }, 'budget.amount'],
        [{ amount: 1.5, period: 'day' }, 'budget.amount'],
        [{ amount: 1, period: 'year' }, 'budget.period'],
      ] as const) {
        const refused = auth.apiKeys.update(principal, id, { budget: wrong });
        await expect(refused).rejects.toMatchObject({ code: 'auth.validation_failed', param });
      }
    });

    test('limits of requests and of tasks at once are set, kept by other changes and taken away', async () => {
      const limits = { requests_per_minute: 30, max_running: 2 };
      const { id, ...made } = await auth.apiKeys.create(principal, { name: 'k', ...limits });
      expect(made).toMatchObject(limits);
      expect(await auth.apiKeys.update(principal, id, { name: 'other' })).toMatchObject(limits);
      const freed = await auth.apiKeys.update(principal, id, { max_running: null });
      expect(freed).toMatchObject({ requests_per_minute: 30, max_running: null });
      for (const wrong of [0, 1.5, 1_000_001]) {
        const refused = auth.apiKeys.update(principal, id, { max_running: wrong });
        await expect(refused).rejects.toMatchObject({ code: 'auth.validation_failed', param: 'max_running' });
      }
    });

    test('a key created with a webhook address has a secret at once; a forbidden address is refused by field', async () => {
      const made = await auth.apiKeys.create(principal, { name: 'k', webhook_url: 'https://hooks.example' });
      expect(made).toMatchObject({ webhook_url: 'https://hooks.example/', webhook_secret: 'ready' });
      expect(made.new_webhook_secret).toMatch(/^whsec_/);
      for (const webhook_url of ['http://hooks.example/', 'https://10.0.0.1/', 'hooks.example', '']) {
        const refused = auth.apiKeys.create(principal, { name: 'k', webhook_url });
        await expect(refused).rejects.toMatchObject({ code: 'auth.validation_failed', param: 'webhook_url' });
      }
    });

    test('a key authenticates as its user, in its own group or else the user’s', async () => {
      const plain = await auth.apiKeys.create(principal, { name: 'plain', unlimited_quota: true });
      for (const authorization of [`Bearer ${plain.key}`, plain.key]) {
        const found = await auth.authenticateApiKey(authorization);
        expect(found).toMatchObject({
          kind: 'api_key',
          group: 'default',
          key: { id: plain.id },
          user: { id: user.id },
        });
      }
      const admin = await addUser(store, { role: 10 });
      const grouped = await auth.apiKeys.create(asSession(admin), { name: 'g', unlimited_quota: true, group: 'vip' });
      expect((await auth.authenticateApiKey(grouped.key)).group).toBe('vip');
    });

    test('invalid keys get distinct errors only if the key exists', async () => {
      const { key } = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      expect((await refusal(auth.authenticateApiKey(undefined), 'auth.api_key_missing')).kind).toBe('unauthenticated');
      await refusal(auth.authenticateApiKey('Basic abc'), 'auth.api_key_missing');
      for (const wrong of [
        `${key}x`,
        key.slice(0, -1),
        key.toUpperCase(),
        `sk-${'A'.repeat(48)}`,
        key.slice(3),
        'sk-',
      ]) {
        await refusal(auth.authenticateApiKey(`Bearer ${wrong}`), 'auth.api_key_invalid');
      }
    });

    test('disabled, expired, exhausted and deleted keys are refused at the next request', async () => {
      const fields = { name: 'k', quota: 10, expires_at: clock.unix() + 60 };
      const { key, id } = await auth.apiKeys.create(principal, fields);
      await auth.authenticateApiKey(key);

      expect((await auth.apiKeys.update(principal, id, { status: 2 })).status).toBe(2);
      await refusal(auth.authenticateApiKey(key), 'auth.api_key_disabled');
      await auth.apiKeys.update(principal, id, { status: 1 });
      await auth.authenticateApiKey(key);

      expect((await auth.apiKeys.update(principal, id, { quota: 0 })).status).toBe(4);
      await refusal(auth.authenticateApiKey(key), 'auth.api_key_exhausted');
      expect((await auth.authenticateApiKey(key, { purpose: 'read' })).key.id).toBe(id);
      await auth.apiKeys.update(principal, id, { unlimited_quota: true });
      await auth.authenticateApiKey(key);

      clock.advance(60);
      await refusal(auth.authenticateApiKey(key), 'auth.api_key_expired');
      await refusal(auth.authenticateApiKey(key, { purpose: 'read' }), 'auth.api_key_expired');
      expect((await auth.apiKeys.list(principal, { page: 1, pageSize: 10 })).items[0]?.status).toBe(3);
      expect((await auth.apiKeys.update(principal, id, { expires_at: 0 })).status).toBe(1);
      await auth.authenticateApiKey(key);

      await auth.apiKeys.delete(principal, id);
      await refusal(auth.authenticateApiKey(key), 'auth.api_key_invalid');
    });

    test('a rotated key: the old one works until its end, the one before it is refused at once', async () => {
      const first = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true, models: ['a'] });
      const second = await auth.apiKeys.rotate(principal, first.id, { keepSeconds: 60 });
      const former = { prefix: first.prefix, until: clock.unix() + 60 };
      expect(second).toMatchObject({ id: first.id, name: 'k', models: ['a'], former_key: former });
      for (const { key } of [first, second]) {
        expect((await auth.authenticateApiKey(key)).key).toMatchObject({ id: first.id, models: ['a'] });
      }
      const third = await auth.apiKeys.rotate(principal, first.id);
      expect(third.former_key?.until).toBe(clock.unix() + 86_400);
      await refusal(auth.authenticateApiKey(first.key), 'auth.api_key_invalid');
      await auth.authenticateApiKey(second.key);
      clock.advance(86_400);
      await refusal(auth.authenticateApiKey(second.key), 'auth.api_key_invalid');
      await refusal(auth.authenticateApiKey(second.key, { purpose: 'read' }), 'auth.api_key_invalid');
      expect((await auth.apiKeys.read(principal, first.id)).former_key).toBeNull();

      const fourth = await auth.apiKeys.rotate(principal, first.id, { keepSeconds: 0 });
      await refusal(auth.authenticateApiKey(third.key), 'auth.api_key_invalid');
      await auth.apiKeys.rotate(principal, first.id, { keepSeconds: 3600 });
      await auth.apiKeys.endFormer(principal, first.id);
      await refusal(auth.authenticateApiKey(fourth.key), 'auth.api_key_invalid');
      await refusal(auth.apiKeys.rotate(principal, first.id, { keepSeconds: 2_592_001 }), 'auth.validation_failed');
    });

    test('a stream that a replaced key opened ends with that key; that of the new key stays', async () => {
      const first = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      const readWatch = async (key: string) =>
        auth.watchAccess(await auth.authenticateApiKey(key), new AbortController().signal);
      const old = await readWatch(first.key);
      const { key } = await auth.apiKeys.rotate(principal, first.id, { keepSeconds: 60 });
      const present = await readWatch(key);
      clock.advance(60);
      await until(() => old.hasEnded());
      expect(present.hasEnded()).toBe(false);
      present.stop();
    });

    test('revoked authority: a stream that an administrator opened by a token ends with their role', async () => {
      const { id } = await addUser(store, { role: ROLE.admin });
      await store.users.setAccessToken(id, { hash: 'hash-of-admin', prefix: 'tgp_', createdAt: 1 });
      const admin = await store.users.byId(id);
      if (!admin) throw new Error('there is no such user');
      const token = { kind: 'pat' as const, user: admin, tokenHash: 'hash-of-admin' };
      const watch = auth.watchAccess(token, new AbortController().signal);
      await store.users.administer(id, { role: ROLE.user }, admin.authVersion);
      await until(() => watch.hasEnded());
    });

    test('lost response: the key that programs use is kept, the one that nobody has stops', async () => {
      const used = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      const { id, prefix } = used;
      await refusal(auth.apiKeys.rotate(principal, id, { keep: 'former' }), 'auth.api_key_rotated');
      const lost = await auth.apiKeys.rotate(principal, id, { prefix });
      // The page still shows the key as it was before.
      await refusal(auth.apiKeys.rotate(principal, id, { prefix }), 'auth.api_key_rotated');
      const found = await auth.apiKeys.rotate(principal, id, { prefix: lost.prefix, keep: 'former', keepSeconds: 60 });
      expect(found.former_key).toEqual({ prefix, until: clock.unix() + 60 });
      await auth.authenticateApiKey(used.key);
      await auth.authenticateApiKey(found.key);
      await refusal(auth.authenticateApiKey(lost.key), 'auth.api_key_invalid');
      clock.advance(60);
      await refusal(auth.authenticateApiKey(used.key), 'auth.api_key_invalid');
      await refusal(auth.apiKeys.rotate(principal, id, { keep: 'former' }), 'auth.api_key_rotated');
    });

    test('an outdated page ends no key that programs use since a later rotation', async () => {
      const first = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      const second = await auth.apiKeys.rotate(principal, first.id);
      await auth.apiKeys.rotate(principal, first.id);
      await refusal(auth.apiKeys.endFormer(principal, first.id, first.prefix), 'auth.api_key_rotated');
      await auth.authenticateApiKey(second.key);
      // Also when its answer was lost and it is asked again.
      for (const _ of [1, 2]) await auth.apiKeys.endFormer(principal, first.id, second.prefix);
      await refusal(auth.authenticateApiKey(second.key), 'auth.api_key_invalid');
    });

    test('two rotations at once: one wins, and the key before it still works', async () => {
      const { id, key } = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      let reads = 0;
      let bothHaveRead = (): void => {};
      const together = new Promise<void>((resolve) => {
        bothHaveRead = resolve;
      });
      const waiting = overriding(store, {
        apiKeys: overriding(store.apiKeys, {
          async byId(asked) {
            const found = await store.apiKeys.byId(asked);
            if (++reads === 2) bothHaveRead();
            await together;
            return found;
          },
        }),
      });
      const node = openAuth(waiting, { clock });
      const outcomes = await Promise.allSettled([
        node.apiKeys.rotate(principal, id),
        node.apiKeys.rotate(principal, id),
      ]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { code: 'auth.api_key_rotated', kind: 'conflict' },
      });
      await auth.authenticateApiKey(key);
    });

    test('a disabled user’s key is refused', async () => {
      const disabled = await addUser(store, { status: 2 });
      const { key } = await auth.apiKeys.create(asSession(disabled), { name: 'k', unlimited_quota: true });
      await refusal(auth.authenticateApiKey(key), 'auth.api_key_user_disabled');
    });

    test('an address outside the key’s list is refused', async () => {
      const fields = { name: 'k', unlimited_quota: true, allow_ips: ['203.0.113.0/24'] };
      const { key } = await auth.apiKeys.create(principal, fields);
      await auth.authenticateApiKey(key, { origin: from('203.0.113.9') });
      const error = await refusal(
        auth.authenticateApiKey(key, { origin: from('198.51.100.1'), purpose: 'read' }),
        'auth.api_key_ip_not_allowed',
      );
      expect(error.kind).toBe('forbidden');
    });

    test('another user’s key cannot be seen, changed or deleted', async () => {
      const { id, key } = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      const stranger = asSession(await addUser(store, { role: 100 }));
      expect((await auth.apiKeys.list(stranger, { page: 1, pageSize: 10 })).total).toBe(0);
      await refusal(auth.apiKeys.update(stranger, id, { status: 2 }), 'auth.api_key_not_found');
      await refusal(auth.apiKeys.delete(stranger, id), 'auth.api_key_not_found');
      await refusal(auth.apiKeys.rotate(stranger, id), 'auth.api_key_not_found');
      await refusal(auth.apiKeys.endFormer(stranger, id), 'auth.api_key_not_found');
      await refusal(auth.apiKeys.update(principal, id + 1_000_000, { status: 2 }), 'auth.api_key_not_found');
      await auth.authenticateApiKey(key);
    });

    test('cheaper prices: a user cannot put a key into another group than their own', async () => {
      const error = await refusal(
        auth.apiKeys.create(principal, { name: 'k', group: 'vip' }),
        'auth.api_key_group_not_allowed',
      );
      expect(error.kind).toBe('forbidden');
      const { id } = await auth.apiKeys.create(principal, { name: 'k', group: 'default' });
      await refusal(auth.apiKeys.update(principal, id, { group: 'vip' }), 'auth.api_key_group_not_allowed');
      expect((await auth.apiKeys.update(principal, id, { group: null })).group).toBeNull();
    });

    test('cheaper prices: a key leaves its group when its owner does', async () => {
      const vip = await addUser(store, { group: 'vip' });
      const { key } = await auth.apiKeys.create(asSession(vip), { name: 'k', unlimited_quota: true, group: 'vip' });
      expect((await auth.authenticateApiKey(key)).group).toBe('vip');
      await store.users.update(vip.id, { group: 'default' });
      expect((await auth.authenticateApiKey(key)).group).toBe('default');

      const admin = await addUser(store, { role: 10 });
      const chosen = await auth.apiKeys.create(asSession(admin), { name: 'k', unlimited_quota: true, group: 'vip' });
      expect((await auth.authenticateApiKey(chosen.key)).group).toBe('vip');
      await store.users.administer(admin.id, { role: 1 }, admin.authVersion);
      expect((await auth.authenticateApiKey(chosen.key)).group).toBe('default');
    });

    test('an update changes only the given fields', async () => {
      const fields = {
        name: 'k',
        quota: 7,
        models: ['a', ' b ', 'a'],
        allow_ips: ['203.0.113.7', '2001:db8::/32'],
        expires_at: clock.unix() + 60,
      };
      const { key: _, new_webhook_secret: __, ...before } = await auth.apiKeys.create(principal, fields);
      expect(before).toMatchObject({ models: ['a', 'b'], allow_ips: ['203.0.113.7', '2001:db8::/32'] });
      expect(await auth.apiKeys.update(principal, before.id, { name: 'renamed' })).toEqual({
        ...before,
        name: 'renamed',
      });
      expect(await auth.apiKeys.update(principal, before.id, {})).toEqual({ ...before, name: 'renamed' });
    });

    const wrong: [fields: ApiKeyFields, param: string][] = [
      [{ name: '' }, 'name'],
      [{ name: '  ' }, 'name'],
      [{ name: 'x'.repeat(51) }, 'name'],
      [{ name: 'a\nb' }, 'name'],
      [{ name: 'k', quota: -1 }, 'quota'],
      [{ name: 'k', quota: 1.5 }, 'quota'],
      [{ name: 'k', quota: Number.NaN }, 'quota'],
      [{ name: 'k', quota: 2 ** 53 }, 'quota'],
      [{ name: 'k', expires_at: -1 }, 'expires_at'],
      [{ name: 'k', expires_at: 1e15 }, 'expires_at'],
      [{ name: 'k', models: [''] }, 'models'],
      [{ name: 'k', models: ['x'.repeat(192)] }, 'models'],
      [{ name: 'k', models: Array.from({ length: 501 }, (_, i) => `m${i}`) }, 'models'],
      [{ name: 'k', allow_ips: ['localhost'] }, 'allow_ips'],
      [{ name: 'k', allow_ips: ['10.0.0.0/33'] }, 'allow_ips'],
      [{ name: 'k', allow_ips: ['10.1'] }, 'allow_ips'],
      [{ name: 'k', allow_ips: ['0x7f000001'] }, 'allow_ips'],
      [{ name: 'k', group: ' ' }, 'group'],
    ];
    for (const [fields, param] of wrong) {
      test(`refused: ${JSON.stringify(fields).slice(0, 60)}`, async () => {
        expect((await refusal(auth.apiKeys.create(principal, fields), 'auth.validation_failed')).param).toBe(param);
      });
    }

    test('a status is 1 or 2', async () => {
      const { id } = await auth.apiKeys.create(principal, { name: 'k' });
      for (const status of [0, 3, 4]) {
        await refusal(auth.apiKeys.update(principal, id, { status }), 'auth.validation_failed');
      }
    });

    test('the last use and its address are stored once a minute, and a failure to store it fails no request', async () => {
      const { id, key } = await auth.apiKeys.create(principal, { name: 'k', unlimited_quota: true });
      let touches = 0;
      const counting = overriding(store, {
        apiKeys: overriding(store.apiKeys, {
          touch(...args) {
            touches += 1;
            return store.apiKeys.touch(...args);
          },
        }),
      });
      const node = openAuth(counting, { clock });
      const isLast = async (ip: string) => {
        const stored = await store.apiKeys.byId(id);
        return stored?.lastUsedAt === clock.unix() && stored.lastUsedIp === ip;
      };
      // Behind a proxy of the default list the address is the one that is shown, not the proxy's.
      const shown = { ip: '203.0.113.9', decidingIp: at('10.0.0.2') };
      await node.authenticateApiKey(key, { origin: shown });
      await until(() => isLast('203.0.113.9'));
      clock.advance(59);
      await Promise.all(
        Array.from({ length: 20 }, () => node.authenticateApiKey(key, { origin: from('198.51.100.1') })),
      );
      expect(touches).toBe(1);
      clock.advance(1);
      await node.authenticateApiKey(key, { origin: from('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff') });
      await until(() => isLast('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'));
      expect(touches).toBe(2);
      expect(await auth.apiKeys.read(principal, id)).toMatchObject({
        ...{ last_used_at: clock.unix(), last_used_ip: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff' },
      });

      clock.advance(60);
      const failing = overriding(store, {
        apiKeys: overriding(store.apiKeys, { touch: () => Promise.reject(new Error('broken')) }),
      });
      expect((await openAuth(failing, { clock }).authenticateApiKey(key)).key.id).toBe(id);
    });
  });
}

describe('restrictions of a key', () => {
  const key = (change: Partial<ApiKeyRecord>): ApiKeyRecord => ({
    id: 1,
    userId: 1,
    walletId: 1,
    name: 'k',
    keyHash: '',
    prefix: '',
    formerHash: '',
    formerPrefix: '',
    formerUntil: 0,
    status: 1,
    unlimitedQuota: true,
    quota: 0,
    usedQuota: 0,
    budget: null,
    requestsPerMinute: null,
    maxRunning: null,
    models: [],
    allowIps: [],
    expiresAt: 0,
    group: null,
    keepResults: false,
    storeRequests: true,
    webhookUrl: null,
    webhookSecretSealed: null,
    webhookFormers: [],
    createdAt: 0,
    lastUsedAt: 0,
    lastUsedIp: '',
    ...change,
  });

  test('empty lists allow everything', () => {
    assertKeyAllows({ key: key({}), model: 'any', ip: at('203.0.113.7') });
    assertKeyAllows({ key: key({}), ip: at('unknown') });
  });

  test('models match exactly', async () => {
    const limited = key({ models: ['sora-2', 'wan'] });
    assertKeyAllows({ key: limited, model: 'wan', ip: at('203.0.113.7') });
    assertKeyAllows({ key: limited, ip: at('203.0.113.7') });
    for (const model of ['Wan', 'wan-2', '', 'sora']) {
      const check = async () => assertKeyAllows({ key: limited, model, ip: at('203.0.113.7') });
      expect((await refusal(check(), 'auth.api_key_model_not_allowed')).kind).toBe('forbidden');
    }
  });

  test('addresses are matched by value, in both families', async () => {
    const allowed: [list: string, ip: string][] = [
      ['203.0.113.7', '203.0.113.7'],
      ['203.0.113.7', '::ffff:203.0.113.7'],
      ['::ffff:203.0.113.7', '203.0.113.7'],
      ['203.0.113.0/24', '::ffff:203.0.113.9'],
      ['::ffff:203.0.113.0/120', '203.0.113.9'],
      ['::ffff:203.0.113.0/120', '::ffff:203.0.113.9'],
      ['fe80::1%eth0', 'fe80::1'],
      ['2001:db8::1', '2001:0db8:0:0:0:0:0:1'],
      ['2001:db8::/32', '2001:db8:ffff::1'],
      ['0.0.0.0/0', '198.51.100.1'],
    ];
    for (const [list, ip] of allowed) assertKeyAllows({ key: key({ allowIps: ['192.0.2.1', list] }), ip: at(ip) });
    const refused: [list: string, ip: string][] = [
      ['203.0.113.7', '203.0.113.8'],
      ['203.0.113.0/24', '203.0.114.1'],
      ['::ffff:203.0.113.0/120', '203.0.114.1'],
      ['::/0', '203.0.113.7'],
      ['0.0.0.0/0', '2001:db8::1'],
      ['2001:db8::/32', '2001:db9::1'],
      ['203.0.113.7', 'unknown'],
      ['203.0.113.7', ''],
    ];
    for (const [list, ip] of refused) {
      const check = async () => assertKeyAllows({ key: key({ allowIps: [list] }), ip: at(ip) });
      await refusal(check(), 'auth.api_key_ip_not_allowed');
    }
  });
});

test('address flood: megabytes of text in allow_ips are refused without parsing', () => {
  const before = process.cpuUsage();
  const flood = { allow_ips: ['a:'.repeat(4_000_000)] };
  expect(() => validateApiKeyFields(flood, { role: 1 } as UserRecord, testConfig())).toThrow('allow_ips');
  // Parsing it took a second.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(400);
});
