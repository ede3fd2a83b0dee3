import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import type { Auth } from '../../src/auth/index.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { newUuid } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, overriding, refreshWith, signIn, testConfig } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`panel access on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let user: UserRecord;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      user = await addUser(store);
    });

    /** A token with a valid signature and the claims of a test. */
    const signed = (claims: object, sid: string) => {
      const now = clock.unix();
      return new SignJWT({ token_use: 'access', sid, uv: user.authVersion, sv: 1, ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('taskgate')
        .setAudience('taskgate-panel')
        .setSubject(String(user.id))
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + 900)
        .setJti(newUuid())
        .sign(deriveSessionKeys(testConfig().sessionSecrets).access[0]);
    };

    test('an access token authenticates its session, with Bearer in any letter case or bare', async () => {
      const signedIn = await signIn(auth, user);
      const token = signedIn.bundle.access_token;
      for (const authorization of [`Bearer ${token}`, `bearer ${token}`, token]) {
        const principal = await auth.authenticatePanel(authorization);
        expect(principal).toMatchObject({ kind: 'session', sid: signedIn.bundle.session.sid, sessionVersion: 1 });
        expect(principal.user.id).toBe(user.id);
      }
    });

    test('no credential, other schemes and unknown strings: unauthorized', async () => {
      for (const authorization of [undefined, '', 'Bearer', 'Basic dXNlcjpwYXNz', 'Bearer a b', 'tgp_abc', 'a.b.c']) {
        await refusal(auth.authenticatePanel(authorization), 'auth.unauthorized');
      }
    });

    test('an expired token is reported as expired, on a node that had cached it and on one that had not', async () => {
      const authorization = bearer(await signIn(auth, user));
      await auth.authenticatePanel(authorization);
      clock.advance(905);
      await refusal(auth.authenticatePanel(authorization), 'auth.token_expired');
      await refusal(openAuth(store, { clock }).authenticatePanel(authorization), 'auth.token_expired');
    });

    test('a revoked session is refused at once, also with a token that was just accepted', async () => {
      const signedIn = await signIn(auth, user);
      await auth.authenticatePanel(bearer(signedIn));
      await store.sessions.revoke(signedIn.bundle.session.sid, 'test', clock.unix());
      await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
    });

    test('an outdated auth version is refused at once', async () => {
      const signedIn = await signIn(auth, user);
      await auth.authenticatePanel(bearer(signedIn));
      await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
      await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
    });

    test('a disabled or deleted user is refused at once', async () => {
      const signedIn = await signIn(auth, user);
      for (const present of [{ ...user, status: 2 as const }, undefined]) {
        const users = overriding(store.users, { byId: async () => present });
        const sessions = overriding(store.sessions, {
          async withUser(sid) {
            const found = await store.sessions.withUser(sid);
            return found && present && { ...found, user: present };
          },
        });
        const node = openAuth(overriding(store, { users, sessions }), { clock });
        await refusal(node.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        await refusal(refreshWith(node, signedIn.refreshToken), 'auth.session_revoked');
      }
    });

    test('role and status come from the database, never from the token', async () => {
      const { sid } = (await signIn(auth, user)).bundle.session;
      const principal = await auth.authenticatePanel(await signed({ role: 100, status: 1, group: 'vip' }, sid));
      expect(principal.user).toMatchObject({ role: 1, group: 'default' });
    });

    test('a token whose versions, user and session do not match is refused', async () => {
      const { sid } = (await signIn(auth, user)).bundle.session;
      const other = await addUser(store);
      const foreign = (await signIn(auth, other)).bundle.session.sid;
      for (const [claims, session] of [
        [{ uv: user.authVersion + 1 }, sid],
        [{ sv: 2 }, sid],
        [{ sub: String(other.id) }, foreign],
        [{}, foreign],
        [{}, newUuid()],
      ] as const) {
        await refusal(auth.authenticatePanel(await signed({ ...claims }, session)), 'auth.session_revoked');
      }
    });

    test('cross-use: no credential is accepted in place of another', async () => {
      const signedIn = await signIn(auth, user);
      const principal = await auth.authenticatePanel(bearer(signedIn));
      const apiKey = (await auth.apiKeys.create(principal, { name: 'key', unlimited_quota: true })).key;
      const access = signedIn.bundle.access_token;
      const refresh = signedIn.refreshToken;
      const proof = await signed({ token_use: 'security_proof' }, signedIn.bundle.session.sid);
      const setup = (await auth.setup.openLink()) ?? 'none';

      for (const credential of [refresh, apiKey, proof, setup]) {
        await refusal(auth.authenticatePanel(`Bearer ${credential}`), 'auth.unauthorized');
      }
      for (const credential of [access, refresh, proof, setup]) {
        await refusal(auth.authenticateApiKey(`Bearer ${credential}`), 'auth.api_key_invalid');
      }
      for (const credential of [access, apiKey, proof, setup]) {
        await refusal(refreshWith(auth, credential), 'auth.unauthorized');
      }
      for (const credential of [access, apiKey, proof, refresh]) {
        const attempt = { token: credential, username: 'owner', password: 'a good root password' };
        await refusal(auth.setup.complete(attempt), 'auth.setup_token_invalid');
      }
      // A logout with another credential instead of the access token uses the cookie, and there is
      // none.
      for (const authorization of [refresh, apiKey, proof, setup]) {
        const request = { refreshToken: undefined, authorization, expectedSid: undefined, origin: ORIGIN };
        expect(await auth.sessions.signOut(request)).toEqual({ revokedSid: null, clearCookies: true });
      }
      await auth.authenticatePanel(bearer(signedIn));
    });
  });
}
