import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import type { Auth } from '../../src/auth/index.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { deleteUser, runRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, overriding, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

for (const dialect of RULE_DATABASES) {
  describe(`personal access tokens on ${dialect}`, () => {
    let store: Store;
    let place: { databaseUrl: string; dataDir: string };
    let stop: () => Promise<void>;
    let auth: Auth;
    let user: UserRecord;

    beforeAll(async () => {
      const opened = await openTestStore(dialect);
      ({ store, stop } = opened);
      place = opened;
    });
    afterAll(() => stop());
    beforeEach(async () => {
      auth = openAuth(store);
      user = await addUser(store);
    });

    const session = async (of = user) => auth.authenticatePanel(bearer(await signIn(auth, of)));
    const create = async (of = user) => (await auth.personalTokens.create(await session(of))).token;
    const speaker = async (token: string) => {
      const principal = await auth.authenticatePanel(`Bearer ${token}`);
      return [principal.kind, principal.user.id];
    };
    /** Stores a token as an upgrade leaves it: the digest only. */
    const keep = (token: string) =>
      store.users.setAccessToken(user.id, { hash: sha256Hex(token), prefix: '', createdAt: 0 });

    test('late write: a request authenticated before its session ended creates no lasting token', async () => {
      const request = await session();
      const reset = { username: user.username, password: 'another good password', resetFactors: true };
      const ends: (() => Promise<unknown>)[] = [
        async () => auth.sessions.revokeOthers(await session()),
        async () => auth.passwords.reset(reset),
        async () => store.users.administer(user.id, { status: 2 }, user.authVersion + 1),
      ];
      for (const end of ends) {
        await end();
        await refusal(auth.personalTokens.create(request), 'auth.session_revoked');
        expect(await store.users.findAccessToken(user.id)).toBeUndefined();
      }
    });

    test('is shown once: the database keeps its SHA-256, the owner sees its first characters', async () => {
      const principal = await session();
      expect(await auth.personalTokens.describe(principal)).toBeNull();
      const made = await auth.personalTokens.create(principal);
      expect(made.token).toMatch(/^tgp_[A-Za-z0-9]{32}$/);
      expect(made.prefix).toBe(made.token.slice(0, 8));
      const { prefix, created_at } = made;
      expect(await auth.personalTokens.describe(principal)).toEqual({ prefix, created_at });
      expect((await store.users.byAccessToken(sha256Hex(made.token)))?.id).toBe(user.id);
      expect(await store.users.byAccessToken(made.token)).toBeUndefined();
    });

    test('is accepted with Bearer and bare', async () => {
      const token = await create();
      for (const authorization of [`Bearer ${token}`, `bearer ${token}`, token, ` ${token} `]) {
        const principal = await auth.authenticatePanel(authorization);
        expect([principal.kind, principal.user.id]).toEqual(['pat', user.id]);
      }
      for (const authorization of [
        `Basic ${token}`,
        `Token ${token}`,
        `Bearer ${token} ${token}`,
        `${token},${token}`,
      ]) {
        await refusal(auth.authenticatePanel(authorization), 'auth.unauthorized');
      }
    });

    test.each([
      ['one with dots', 'a.b.c'],
      ['one that looks like a JWT of somebody else', 'eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJvdGhlciJ9.c2ln'],
      ['base64', 'q83vEjRWeJC/+mNlIQ0Jz3w5dWF4b2s='],
      ['one character', 'x'],
      ['512 characters', 'l'.repeat(512)],
    ])('an earlier layout’s token goes on: %s', async (_name, form) => {
      const token = `${form.slice(0, -1)}${user.id % 10}`;
      await keep(token);
      expect(await speaker(token)).toEqual(['pat', user.id]);
      expect((await auth.authenticatePanel(token)).user.id).toBe(user.id);
      expect(await auth.personalTokens.describe(await session())).toEqual({ prefix: '', created_at: 0 });
      await store.users.setAccessToken(user.id, null);
    });

    test('of more than 512 characters is refused, even with a known digest', async () => {
      const token = 'l'.repeat(513);
      await keep(token);
      await refusal(auth.authenticatePanel(token), 'auth.unauthorized');
    });

    test('a tampered access token is refused, even if stored as a personal token', async () => {
      const [head, body] = bearer(await signIn(auth, user))
        .slice('Bearer '.length)
        .split('.');
      const tampered = `${head}.${body}.${'A'.repeat(43)}`;
      const now = Math.floor(Date.now() / 1000);
      const foreign = await new SignJWT({ token_use: 'security_proof' })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('taskgate')
        .setAudience('taskgate-panel')
        .setExpirationTime(now + 60)
        .sign(new TextEncoder().encode('a key that the gateway does not have'));
      for (const token of [tampered, foreign]) {
        await keep(token);
        await refusal(auth.authenticatePanel(`Bearer ${token}`), 'auth.unauthorized');
        await refusal(auth.authenticatePanel(token), 'auth.unauthorized');
      }
    });

    test('its digest does not authenticate', async () => {
      const token = await create();
      await refusal(auth.authenticatePanel(`Bearer ${sha256Hex(token)}`), 'auth.unauthorized');
      await refusal(auth.authenticatePanel(`Bearer ${token.slice(0, 8)}`), 'auth.unauthorized');
      await refusal(auth.authenticatePanel(`Bearer ${token.toLowerCase()}`), 'auth.unauthorized');
    });

    test('a new one replaces the old one at once; other users keep theirs', async () => {
      const [first, others] = [await create(), await create(await addUser(store))];
      const second = await create();
      await refusal(auth.authenticatePanel(first), 'auth.unauthorized');
      expect(await speaker(second)).toEqual(['pat', user.id]);
      expect((await speaker(others))[0]).toBe('pat');
    });

    test('of many created concurrently, the last one stored is valid', async () => {
      const principal = await session();
      const made = await Promise.all(Array.from({ length: 10 }, () => auth.personalTokens.create(principal)));
      const outcomes = await Promise.allSettled(made.map(({ token }) => auth.authenticatePanel(token)));
      const valid = made.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      expect(valid).toHaveLength(1);
      expect((await auth.personalTokens.describe(principal))?.prefix).toBe(valid[0]?.prefix ?? '');
    });

    test('is deleted by its owner, repeatedly without error', async () => {
      const token = await create();
      const principal = await session();
      await auth.personalTokens.revoke(principal);
      await refusal(auth.authenticatePanel(token), 'auth.unauthorized');
      expect(await auth.personalTokens.describe(principal)).toBeNull();
      await auth.personalTokens.revoke(principal);
    });

    test('a disabled user’s is reported as disabled, a deleted user’s like any unknown text', async () => {
      const token = await create();
      await runRaw(place, `update users set status = 2 where id = ${user.id}`);
      await refusal(auth.authenticatePanel(token), 'auth.user_disabled');
      await runRaw(place, `update users set status = 1 where id = ${user.id}`);
      expect(await speaker(token)).toEqual(['pat', user.id]);
      await deleteUser(place, user.id);
      await refusal(auth.authenticatePanel(token), 'auth.unauthorized');
    });

    test('survives changes of password and factors, and the end of every session', async () => {
      const signedIn = await signIn(auth, user);
      const principal = await auth.authenticatePanel(bearer(signedIn));
      const { token } = await auth.personalTokens.create(principal);
      await auth.passwords.change(principal, {
        currentPassword: PASSWORD,
        newPassword: 'another good password',
        origin: ORIGIN,
      });
      expect(await speaker(token)).toEqual(['pat', user.id]);
      const { authVersion } = (await auth.authenticatePanel(token)).user;
      expect(await store.users.moveAuthVersion(user.id, authVersion)).toBe(true);
      await store.sessions.revokeAll({
        userId: user.id,
        exceptSid: null,
        reason: 'test',
        now: Math.floor(Date.now() / 1000),
      });
      expect(await speaker(token)).toEqual(['pat', user.id]);
    });

    test('a changed role counts at the next use', async () => {
      const token = await create();
      await runRaw(place, `update users set role = 10 where id = ${user.id}`);
      expect((await auth.authenticatePanel(token)).user.role).toBe(10);
    });

    test('cannot manage sessions, renew tokens or change security', async () => {
      const signedIn = await signIn(auth, user);
      const token = await create();
      const pat = await auth.authenticatePanel(token);
      const { sid } = signedIn.bundle.session;
      for (const work of [
        () => auth.sessions.list(pat),
        () => auth.sessions.revoke(pat, sid),
        () => auth.sessions.revokeOthers(pat),
        () => auth.sessions.ofUsers.list(pat, user.id),
        () => auth.sessions.ofUsers.revoke(pat, user.id, sid),
        () => auth.sessions.ofUsers.revokeAll(pat, user.id),
        () => auth.personalTokens.create(pat),
        () => auth.personalTokens.revoke(pat),
        () => auth.passwords.change(pat, { currentPassword: PASSWORD, newPassword: 'a good password', origin: ORIGIN }),
      ]) {
        await refusal(work(), 'auth.session_required');
      }
      await refreshWith(auth, signedIn.refreshToken);
      expect(await speaker(token)).toEqual(['pat', user.id]);
      expect((await auth.personalTokens.describe(pat))?.prefix).toBe(token.slice(0, 8));
    });

    test('cross-use: it is not accepted as API key or refresh token, and signs nobody out', async () => {
      const token = await create();
      await refusal(auth.authenticateApiKey(`Bearer ${token}`), 'auth.api_key_invalid');
      await refusal(refreshWith(auth, token), 'auth.unauthorized');
      const request = {
        refreshToken: undefined,
        authorization: `Bearer ${token}`,
        expectedSid: undefined,
        origin: ORIGIN,
      };
      expect(await auth.sessions.signOut(request)).toEqual({ revokedSid: null, clearCookies: true });
      expect(await speaker(token)).toEqual(['pat', user.id]);
    });

    test('an unavailable database refuses nobody permanently', async () => {
      const token = await create();
      const users = overriding(store.users, { byAccessToken: () => Promise.reject(storeErrors.unavailable()) });
      const troubled = openAuth(overriding(store, { users }));
      await refusal(troubled.authenticatePanel(token), 'auth.unavailable');
    });
  });
}
