/**
 * OWASP ASVS 5.0, chapters 7 and 10: sessions and refresh tokens. Each test name begins with the id
 * of its requirement.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, overriding, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const DAY = 86_400;

for (const dialect of RULE_DATABASES) {
  describe(`sessions on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    /** A second node on the same database. */
    let other: Auth;
    let user: UserRecord;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      other = openAuth(store, { clock });
      user = await addUser(store);
    });

    const asUser = async (role: 1 | 10 | 100) => {
      const someone = await addUser(store, { role });
      return auth.authenticatePanel(bearer(await signIn(auth, someone)));
    };

    test('ASVS 7.1.2: at the limit a new session is refused, open ones continue, and ending one allows another', async () => {
      const capped = openAuth(store, { clock, config: { activeSessionLimit: 2 } });
      const [first, second] = [await signIn(capped, user), await signIn(capped, user)];
      await refusal(signIn(capped, user), 'auth.session_limit');
      for (const running of [first, second]) await capped.authenticatePanel(bearer(running));
      await capped.sessions.revokeOthers(await capped.authenticatePanel(bearer(first)));
      await signIn(capped, user);
    });

    test('ASVS 7.2.1: a token’s claims are checked against the database at every request', async () => {
      const signedIn = await signIn(auth, user);
      await auth.authenticatePanel(bearer(signedIn));
      const sessions = overriding(store.sessions, { withUser: async () => undefined });
      const gone = openAuth(overriding(store, { sessions }), { clock });
      await refusal(gone.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
    });

    test('ASVS 7.2.3: session ids and refresh tokens are random, long and never repeat', async () => {
      const signedIn = await Promise.all(Array.from({ length: 40 }, () => signIn(auth, user)));
      const secrets = signedIn.map(({ refreshToken }) => refreshToken.split('.')[1] ?? '');
      const sids = signedIn.map(({ bundle }) => bundle.session.sid);
      for (const values of [secrets, sids]) expect(new Set(values).size).toBe(values.length);
      // 64 of 62 characters are 381 bits; a version 4 UUID has 122, and is not a credential.
      for (const secret of secrets) expect(secret).toMatch(/^[A-Za-z0-9]{64}$/);
      for (const sid of sids) expect(sid).toMatch(/^[0-9a-f-]{14}4/);
      // No position of the secret is constant or nearly so.
      for (let at = 0; at < 64; at += 1) {
        expect(new Set(secrets.map((secret) => secret[at])).size).toBeGreaterThan(10);
      }
    });

    test('ASVS 7.2.2, 7.2.4: every login creates a new session with new tokens, also while signed in', async () => {
      const before = await signIn(auth, user);
      const after = await signIn(auth, user);
      expect(after.bundle.session.sid).not.toBe(before.bundle.session.sid);
      expect(after.refreshToken).not.toBe(before.refreshToken);
      expect(after.bundle.access_token).not.toBe(before.bundle.access_token);
    });

    test('ASVS 7.2.4: confirming a change with the password ends the former access token', async () => {
      const before = await signIn(auth, user);
      const bundle = await auth.passwords.change(await auth.authenticatePanel(bearer(before)), {
        currentPassword: PASSWORD,
        newPassword: 'another good password',
        origin: ORIGIN,
      });
      await refusal(auth.authenticatePanel(bearer(before)), 'auth.session_revoked');
      await auth.authenticatePanel(`Bearer ${bundle.access_token}`);
    });

    test('ASVS 7.3.2, 10.4.8: a session ends 30 days after its login, however often it is refreshed', async () => {
      const signedIn = await signIn(auth, user);
      const end = signedIn.bundle.session.created_at + 30 * DAY;
      let token = signedIn.refreshToken;
      for (let day = 0; day < 30; day += 1) {
        const next = await refreshWith(auth, token);
        expect(next.refreshExpiresAt).toBe(end);
        expect(next.bundle.session.expires_at).toBe(end);
        expect(next.bundle.access_expires_at).toBeLessThanOrEqual(end);
        token = next.refreshToken;
        clock.advance(day < 29 ? DAY : DAY - 60);
      }
      // In the last minute the access token expires with the session.
      const last = await refreshWith(auth, token);
      expect(last.bundle.access_expires_at).toBe(end);
      clock.advance(60);
      await refusal(refreshWith(auth, last.refreshToken), 'auth.session_revoked');
      await refusal(auth.authenticatePanel(bearer(last)), 'auth.session_revoked');
    });

    test('ASVS 7.1.1, 7.3.1: with an inactivity timeout a session that is not used ends; without one it does not', async () => {
      const timed = openAuth(store, { clock, config: { sessionIdleSeconds: 1800 } });
      const signedIn = await signIn(timed, user);
      clock.advance(1799);
      const next = await refreshWith(timed, signedIn.refreshToken);
      clock.advance(1800);
      await refusal(refreshWith(timed, next.refreshToken), 'auth.session_revoked');
      await refusal(timed.authenticatePanel(bearer(next)), 'auth.token_expired');
      // It stays ended, whatever idle timeout another node has.
      await refusal(refreshWith(auth, next.refreshToken), 'auth.session_revoked');

      const untimed = await signIn(auth, user);
      clock.advance(29 * DAY);
      await refreshWith(auth, untimed.refreshToken);
    });

    for (const [ending, end] of [
      [
        'logout',
        (signedIn: Awaited<ReturnType<typeof signIn>>) =>
          auth.sessions.signOut({
            refreshToken: signedIn.refreshToken,
            authorization: undefined,
            expectedSid: undefined,
            origin: ORIGIN,
          }),
      ],
      [
        'the list of sessions',
        async (signedIn: Awaited<ReturnType<typeof signIn>>) =>
          auth.sessions.revoke(await auth.authenticatePanel(bearer(signedIn)), signedIn.bundle.session.sid),
      ],
      [
        'root',
        async (signedIn: Awaited<ReturnType<typeof signIn>>) =>
          auth.sessions.ofUsers.revoke(await asUser(100), user.id, signedIn.bundle.session.sid),
      ],
    ] as const) {
      test(`ASVS 7.4.1: after ${ending}, access and refresh token fail at once, on another node too`, async () => {
        const signedIn = await signIn(auth, user);
        for (const node of [auth, other]) await node.authenticatePanel(bearer(signedIn));
        await end(signedIn);
        for (const node of [auth, other]) {
          await refusal(node.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
          await refusal(refreshWith(node, signedIn.refreshToken), 'auth.session_revoked');
        }
      });
    }

    test('ASVS 7.4.5: root ends one session of any user, or all of them', async () => {
      const sessions = [await signIn(auth, user), await signIn(auth, user), await signIn(auth, user)];
      const root = await asUser(100);
      const [first] = sessions;
      await auth.sessions.ofUsers.revoke(root, user.id, first?.bundle.session.sid ?? '');
      expect(await auth.sessions.ofUsers.list(root, user.id)).toHaveLength(2);
      expect(await auth.sessions.ofUsers.revokeAll(root, user.id)).toEqual({ revoked_count: 2 });
      for (const ended of sessions) await refusal(other.authenticatePanel(bearer(ended)), 'auth.session_revoked');
    });

    test('ASVS 7.5.2: users list their sessions and end one, or all others', async () => {
      const [current, second, third] = [await signIn(auth, user), await signIn(auth, user), await signIn(auth, user)];
      const principal = await auth.authenticatePanel(bearer(current));
      expect((await auth.sessions.list(principal)).map(({ current: isCurrent }) => isCurrent)).toEqual([
        true,
        false,
        false,
      ]);
      await auth.sessions.revoke(principal, second.bundle.session.sid);
      expect(await auth.sessions.revokeOthers(principal)).toEqual({ revoked_count: 1 });
      for (const ended of [second, third]) {
        await refusal(auth.authenticatePanel(bearer(ended)), 'auth.session_revoked');
      }
      await auth.authenticatePanel(bearer(current));
    });

    test('ASVS 10.4.5: reusing a refresh token after its successor was issued ends the session', async () => {
      const signedIn = await signIn(auth, user);
      const stolen = signedIn.refreshToken;
      const next = await refreshWith(auth, stolen);
      clock.advance(31);
      await refusal(refreshWith(auth, stolen), 'auth.session_revoked');
      await refusal(refreshWith(auth, next.refreshToken), 'auth.session_revoked');
      await refusal(auth.authenticatePanel(bearer(next)), 'auth.session_revoked');
    });

    test('ASVS 10.4.5, as far as met: an older token is refused and ends nothing', async () => {
      const signedIn = await signIn(auth, user);
      const second = await refreshWith(auth, signedIn.refreshToken);
      const third = await refreshWith(auth, second.refreshToken);
      clock.advance(31);
      await refusal(refreshWith(auth, signedIn.refreshToken), 'auth.unauthorized');
      await refreshWith(auth, third.refreshToken);
    });
  });
}
