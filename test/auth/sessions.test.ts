import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { newUuid, randomAlnum } from '../../src/kernel/index.ts';
import type { SessionRecord, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { DATABASES, RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  bearer,
  ORIGIN,
  openAuth,
  openTestStore,
  originFor,
  overriding,
  refreshWith,
  signIn,
  testConfig,
} from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const DAY = 86_400;

test.each(DATABASES)('of 16 logins at once the limits let in as many as they say on %s', async (dialect) => {
  const { store, stop } = await openTestStore(dialect);
  try {
    const limits = [
      [{ activeSessionLimit: 5 }, 'auth.session_limit'],
      [{ sessionIssuanceLimit: 5, sessionIssuanceWindowSeconds: 3600 }, 'auth.session_issuance_limit'],
    ] as const;
    for (const [config, code] of limits) {
      const auth = openAuth(store, { config });
      const user = await addUser(store);
      // Connections are open, so that all run side by side.
      await Promise.all(Array.from({ length: 16 }, () => store.users.byId(user.id)));
      const logins = await Promise.allSettled(Array.from({ length: 16 }, () => signIn(auth, user)));
      const refused = logins.flatMap((login) => (login.status === 'rejected' ? [login.reason.code] : []));
      expect(refused).toEqual(Array.from({ length: 11 }, () => code));
    }
  } finally {
    await stop();
  }
});

for (const dialect of RULE_DATABASES) {
  describe(`sessions on ${dialect}`, () => {
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

    const row = async (sid: string): Promise<SessionRecord> => {
      const session = await store.sessions.bySid(sid);
      if (!session) throw new Error('the session is gone');
      return session;
    };
    const isSignedIn = (authorization: string) =>
      auth.authenticatePanel(authorization).then(
        () => true,
        () => false,
      );

    describe('creation', () => {
      test('a login returns the common result and stores no secret', async () => {
        const { bundle, refreshToken, refreshExpiresAt } = await signIn(auth, user);
        const now = clock.unix();
        expect(bundle).toEqual({
          access_token: bundle.access_token,
          token_type: 'Bearer',
          access_expires_at: now + 900,
          user: {
            id: user.id,
            username: user.username,
            display_name: user.displayName,
            role: 1,
            status: 1,
            email: null,
            group: 'default',
            quota: 0,
            used_quota: 0,
            request_count: 0,
            language: 'en',
            has_password: true,
            two_factor: false,
            passkeys: 0,
            bindings: [],
          },
          session: {
            sid: bundle.session.sid,
            current: true,
            login_method: 'password',
            ip: ORIGIN.ip,
            user_agent: ORIGIN.userAgent,
            created_at: now,
            last_active_at: now,
            expires_at: now + 30 * DAY,
          },
        });
        expect(refreshExpiresAt).toBe(now + 30 * DAY);
        const [sid = '', secret = ''] = refreshToken.split('.');
        expect(sid).toBe(bundle.session.sid);
        expect(JSON.stringify(await row(sid))).not.toContain(secret);
        expect(JSON.stringify(bundle)).not.toContain(secret);
        expect((await store.users.byId(user.id))?.lastLoginAt).toBe(now);
      });

      test('a login while signed in creates another session', async () => {
        const [first, second] = [await signIn(auth, user), await signIn(auth, user)];
        expect(second.bundle.session.sid).not.toBe(first.bundle.session.sid);
        expect(await isSignedIn(bearer(first))).toBe(true);
      });

      test('the active limit refuses the next login and changes nothing', async () => {
        const limited = openAuth(store, { clock, config: { activeSessionLimit: 2 } });
        const first = await signIn(limited, user);
        clock.advance(10);
        await signIn(limited, user);
        const before = await store.users.byId(user.id);
        clock.advance(10);
        expect((await refusal(signIn(limited, user), 'auth.session_limit')).kind).toBe('conflict');
        expect(await store.users.byId(user.id)).toEqual(before as UserRecord);
        expect(await store.sessions.countActive(user.id, clock.unix())).toBe(2);
        await limited.sessions.revokeOthers(await limited.authenticatePanel(bearer(first)));
        await signIn(limited, user);
      });

      test('the active limit counts sessions of older auth versions, but not expired ones', async () => {
        const limited = openAuth(store, { clock, config: { activeSessionLimit: 1 } });
        await signIn(limited, user);
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
        await refusal(signIn(limited, user), 'auth.session_limit');
        clock.advance(30 * DAY);
        await signIn(limited, user);
      });

      test('the issuance limit counts revoked sessions until the window has passed', async () => {
        const limited = openAuth(store, {
          clock,
          config: { sessionIssuanceLimit: 2, sessionIssuanceWindowSeconds: 3600 },
        });
        for (let i = 0; i < 2; i += 1) {
          const { refreshToken } = await signIn(limited, user);
          await limited.sessions.signOut({
            refreshToken,
            authorization: undefined,
            expectedSid: undefined,
            origin: ORIGIN,
          });
        }
        const error = await refusal(signIn(limited, user), 'auth.session_issuance_limit');
        expect(error.kind).toBe('rate_limited');
        expect(error.retryAfterSeconds).toBe(3600);
        clock.advance(3601);
        await signIn(limited, user);
      });

      test('the issuance limit counts sessions of older auth versions, and a new password does not reset it', async () => {
        const limited = openAuth(store, { clock, config: { sessionIssuanceLimit: 2 } });
        await signIn(limited, user);
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
        await signIn(limited, user);
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion + 1);
        await store.sessions.revokeAll({ userId: user.id, exceptSid: null, reason: 'test', now: clock.unix() });
        await refusal(signIn(limited, user), 'auth.session_issuance_limit');
      });

      test('lowering a limit ends no session and refuses the next login', async () => {
        const [first, second] = [await signIn(auth, user), await signIn(auth, user)];
        const lowered = openAuth(store, { clock, config: { activeSessionLimit: 1 } });
        await refusal(signIn(lowered, user), 'auth.session_limit');
        await refreshWith(lowered, first.refreshToken);
        await lowered.authenticatePanel(bearer(second));
      });

      test('the active limit is reported before the issuance limit', async () => {
        const limited = openAuth(store, { clock, config: { activeSessionLimit: 1, sessionIssuanceLimit: 1 } });
        await signIn(limited, user);
        await refusal(signIn(limited, user), 'auth.session_limit');
      });

      test('an overlong or malformed user agent is truncated, not refused', async () => {
        const { bundle } = await signIn(auth, user, originFor('x'.repeat(100), `\0${'ü'.repeat(400)}`));
        expect(bundle.session.ip).toHaveLength(64);
        expect(bundle.session.user_agent).toBe('ü'.repeat(256));
        const odd = await signIn(auth, user, originFor('', `a${'ü'.repeat(400)}`));
        expect(odd.bundle.session.user_agent).toBe(`a${'ü'.repeat(255)}`);
      });
    });

    describe('refresh', () => {
      test('the current token is rotated and returns a new access token', async () => {
        const signedIn = await signIn(auth, user);
        const sid = signedIn.bundle.session.sid;
        clock.advance(100);
        const refreshed = await auth.sessions.refresh({
          refreshToken: signedIn.refreshToken,
          expectedSid: sid,
          origin: originFor('198.51.100.9', 'another browser'),
        });
        expect(refreshed.refreshToken).not.toBe(signedIn.refreshToken);
        expect(refreshed.bundle.access_token).not.toBe(signedIn.bundle.access_token);
        expect(refreshed.bundle.user).toEqual(signedIn.bundle.user);
        const seen = { ip: '198.51.100.9', user_agent: 'another browser', last_active_at: clock.unix() };
        expect(refreshed.bundle.session).toEqual({ ...signedIn.bundle.session, ...seen });
        expect(await row(sid)).toMatchObject({ ip: '198.51.100.9', userAgent: 'another browser', status: 'active' });
        expect(await isSignedIn(bearer(signedIn))).toBe(true);
        expect(await isSignedIn(bearer(refreshed))).toBe(true);
      });

      test('no token: unauthorized', async () => {
        expect((await refusal(refreshWith(auth, undefined), 'auth.unauthorized')).kind).toBe('unauthenticated');
      });

      test('a malformed token: unauthorized, also when another session is named', async () => {
        await refusal(refreshWith(auth, 'garbage'), 'auth.unauthorized');
        await refusal(refreshWith(auth, 'garbage', newUuid()), 'auth.unauthorized');
      });

      test('an unknown session: unauthorized', async () => {
        await refusal(refreshWith(auth, `${newUuid()}.${randomAlnum(64)}`), 'auth.unauthorized');
      });

      test('X-Auth-Session names another session: 409, and nothing is rotated or revoked', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const before = await row(bundle.session.sid);
        expect((await refusal(refreshWith(auth, refreshToken, newUuid()), 'auth.session_mismatch')).kind).toBe(
          'conflict',
        );
        await refusal(refreshWith(auth, refreshToken, ''), 'auth.session_mismatch');
        expect(await row(bundle.session.sid)).toEqual(before);
        await refreshWith(auth, refreshToken, bundle.session.sid);
      });

      test('a mismatch is reported before anything about the session', async () => {
        await refusal(refreshWith(auth, `${newUuid()}.${randomAlnum(64)}`, newUuid()), 'auth.session_mismatch');
      });

      test('a revoked session: session revoked', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        await store.sessions.revoke(bundle.session.sid, 'test', clock.unix());
        await refusal(refreshWith(auth, refreshToken), 'auth.session_revoked');
      });

      test('an expired session: session revoked; no refresh prolongs the 30 days', async () => {
        let { refreshToken, refreshExpiresAt } = await signIn(auth, user);
        const end = refreshExpiresAt;
        for (let day = 0; day < 29; day += 1) {
          clock.advance(DAY);
          ({ refreshToken, refreshExpiresAt } = await refreshWith(auth, refreshToken));
          expect(refreshExpiresAt).toBe(end);
        }
        clock.advance(DAY - 10);
        const last = await refreshWith(auth, refreshToken);
        expect(last.bundle.access_expires_at).toBe(end);
        clock.advance(10);
        await refusal(refreshWith(auth, last.refreshToken), 'auth.session_revoked');
        await refusal(auth.authenticatePanel(bearer(last)), 'auth.session_revoked');
      });

      test("the user's auth version changed: session revoked, and the row says why", async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
        await refusal(refreshWith(auth, refreshToken), 'auth.session_revoked');
        expect(await row(bundle.session.sid)).toMatchObject({
          status: 'revoked',
          revokedReason: 'user_security_changed',
          revokedAt: clock.unix(),
        });
      });

      test('the previous token within 30 s gives the same successor and a fresh access token', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const first = await refreshWith(auth, refreshToken);
        const rotated = await row(bundle.session.sid);
        clock.advance(30);
        const replayed = await refreshWith(auth, refreshToken);
        expect(replayed.refreshToken).toBe(first.refreshToken);
        expect(replayed.bundle.access_token).not.toBe(first.bundle.access_token);
        expect(await row(bundle.session.sid)).toEqual(rotated);
        await refreshWith(auth, first.refreshToken);
      });

      test('a previous hash that an older column padded is still recognised', async () => {
        const pad = (value: string | null) => value && `${value}   `;
        const sessions = overriding(store.sessions, {
          bySid: async (sid) => {
            const session = await store.sessions.bySid(sid);
            return session && { ...session, previousRefreshHash: pad(session.previousRefreshHash) };
          },
        });
        const node = openAuth(overriding(store, { sessions }), { clock });
        const { refreshToken, bundle } = await signIn(node, user);
        const next = await refreshWith(node, refreshToken);
        expect((await refreshWith(node, refreshToken)).refreshToken).toBe(next.refreshToken);
        clock.advance(31);
        await refusal(refreshWith(node, refreshToken), 'auth.session_revoked');
        expect((await row(bundle.session.sid)).revokedReason).toBe('refresh_reuse');
      });

      test('stolen refresh token: the previous one after 30 s ends the session for both', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const successor = await refreshWith(auth, refreshToken);
        clock.advance(31);
        await refusal(refreshWith(auth, refreshToken), 'auth.session_revoked');
        expect(await row(bundle.session.sid)).toMatchObject({ status: 'revoked', revokedReason: 'refresh_reuse' });
        await refusal(refreshWith(auth, successor.refreshToken), 'auth.session_revoked');
        await refusal(auth.authenticatePanel(bearer(successor)), 'auth.session_revoked');
      });

      test('denial of service: older and random secrets are refused and end nothing', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const second = await refreshWith(auth, refreshToken);
        const third = await refreshWith(auth, second.refreshToken);
        clock.advance(60);
        await refusal(refreshWith(auth, refreshToken), 'auth.unauthorized');
        await refusal(refreshWith(auth, `${bundle.session.sid}.${randomAlnum(64)}`), 'auth.unauthorized');
        expect((await row(bundle.session.sid)).status).toBe('active');
        await refreshWith(auth, third.refreshToken);
      });

      test('probing: a session id alone reveals nothing of its state', async () => {
        const { bundle } = await signIn(auth, user);
        const probe = `${bundle.session.sid}.${randomAlnum(64)}`;
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
        await refusal(refreshWith(auth, probe), 'auth.unauthorized');
        expect((await row(bundle.session.sid)).status).toBe('active');
        await store.sessions.revoke(bundle.session.sid, 'test', clock.unix());
        await refusal(refreshWith(auth, probe), 'auth.unauthorized');
      });

      test('a hundred concurrent refreshes with one token: one rotation, equal successors, on two nodes', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const otherNode = openAuth(store, { clock });
        const results = await Promise.all(
          Array.from({ length: 100 }, (_, i) => refreshWith(i % 2 ? auth : otherNode, refreshToken)),
        );
        const successors = new Set(results.map((result) => result.refreshToken));
        expect(successors.size).toBe(1);
        expect(new Set(results.map((result) => result.bundle.access_token)).size).toBe(100);
        clock.advance(60);
        const [successor] = [...successors];
        await refreshWith(auth, successor);
        expect((await row(bundle.session.sid)).status).toBe('active');
      });

      test('the row becomes inactive between reading and rotating: session revoked', async () => {
        const { refreshToken, bundle } = await signIn(auth, user);
        const sessions = overriding(store.sessions, {
          async rotate(change) {
            await store.sessions.revoke(change.sid, 'test', clock.unix());
            return store.sessions.rotate(change);
          },
        });
        const racing = overriding(store, { sessions });
        await refusal(refreshWith(openAuth(racing, { clock }), refreshToken), 'auth.session_revoked');
        expect((await row(bundle.session.sid)).revokedReason).toBe('test');
      });

      test('the own security change comes between reading and rotating: the new token works', async () => {
        const { refreshToken } = await signIn(auth, user);
        let changes = 0;
        const sessions = overriding(store.sessions, {
          async rotate(change) {
            changes += 1;
            if (changes === 1) {
              await store.users.moveAuthVersion(user.id, user.authVersion);
              const expected = { expectedVersion: 1, expectedUserAuthVersion: user.authVersion };
              const moved = { sid: change.sid, userAuthVersion: user.authVersion + 1, now: clock.unix() };
              expect(await store.sessions.advance({ ...expected, ...moved })).toBe(true);
            }
            return store.sessions.rotate(change);
          },
        });
        const racing = openAuth(overriding(store, { sessions }), { clock });
        const { bundle } = await refreshWith(racing, refreshToken);
        expect(changes).toBe(2);
        expect(await isSignedIn(`Bearer ${bundle.access_token}`)).toBe(true);
      });

      test('rotating SESSION_SECRET keeps sessions alive only while the former one is set', async () => {
        const { refreshToken } = await signIn(auth, user);
        const [old] = testConfig().sessionSecrets;
        const rotated = openAuth(store, { clock, config: { sessionSecrets: ['a new secret', old] } });
        const moved = await refreshWith(rotated, refreshToken);
        expect((await refreshWith(rotated, refreshToken)).refreshToken).toBe(moved.refreshToken);
        // A node that knows only the former secret cannot derive the successor: it reports that and
        // changes nothing.
        await refusal(refreshWith(auth, refreshToken), 'auth.refresh_race');
        const finished = openAuth(store, { clock, config: { sessionSecrets: ['a new secret'] } });
        await refreshWith(finished, moved.refreshToken);
        await refusal(refreshWith(finished, refreshToken), 'auth.unauthorized');
      });
    });

    describe('idle time-out', () => {
      const MINUTE = 60;
      const idle = () => openAuth(store, { clock, config: { sessionIdleSeconds: 20 * MINUTE } });

      test('while off, a month without a request does not end a session', async () => {
        const { refreshToken } = await signIn(auth, user);
        clock.advance(29 * DAY);
        await refreshWith(auth, refreshToken);
      });

      test('a refresh after the idle time ends the session and says so', async () => {
        const node = idle();
        const { refreshToken, bundle } = await signIn(node, user);
        clock.advance(20 * MINUTE - 1);
        const next = await refreshWith(node, refreshToken);
        clock.advance(20 * MINUTE);
        await refusal(refreshWith(node, next.refreshToken), 'auth.session_revoked');
        expect(await row(bundle.session.sid)).toMatchObject({ status: 'revoked', revokedReason: 'idle' });
      });

      test('using the access token counts as activity', async () => {
        const node = idle();
        const signedIn = await signIn(node, user);
        const { sid } = signedIn.bundle.session;
        clock.advance(14 * MINUTE);
        await node.authenticatePanel(bearer(signedIn));
        const used = clock.unix();
        await until(async () => (await row(sid)).lastActiveAt === used);
        clock.advance(10 * MINUTE);
        await refreshWith(node, signedIn.refreshToken);
        expect((await row(sid)).status).toBe('active');
      });

      test('idle sessions neither count towards the active limit nor are listed', async () => {
        const config = { sessionIdleSeconds: 20 * MINUTE, activeSessionLimit: 2 };
        const node = openAuth(store, { clock, config });
        await signIn(node, user);
        await signIn(node, user);
        await refusal(signIn(node, user), 'auth.session_limit');
        clock.advance(20 * MINUTE);
        const fresh = await signIn(node, user);
        const listed = await node.sessions.list(await node.authenticatePanel(bearer(fresh)));
        expect(listed.map(({ sid }) => sid)).toEqual([fresh.bundle.session.sid]);
        const root = await addUser(store, { role: 100 });
        const overseer = await node.authenticatePanel(bearer(await signIn(node, root)));
        expect(await node.sessions.ofUsers.list(overseer, user.id)).toHaveLength(1);
        expect((await node.administration.find(overseer, user.id)).sessions).toBe(1);
      });

      test('a session id alone does not end an idle session', async () => {
        const node = idle();
        const { sid } = (await signIn(node, user)).bundle.session;
        clock.advance(DAY);
        await refusal(refreshWith(node, `${sid}.${randomAlnum(64)}`), 'auth.unauthorized');
        expect((await row(sid)).status).toBe('active');
      });

      test('failing to store a use does not refuse the request', async () => {
        const sessions = overriding(store.sessions, { touch: () => Promise.reject(new Error('disk full')) });
        const node = openAuth(overriding(store, { sessions }), { clock, config: { sessionIdleSeconds: 1200 } });
        const signedIn = await signIn(node, user);
        clock.advance(5 * MINUTE);
        await node.authenticatePanel(bearer(signedIn));
      });
    });

    describe('logout', () => {
      const logOut = (request: { refreshToken?: string; authorization?: string; expectedSid?: string }) =>
        auth.sessions.signOut({
          refreshToken: request.refreshToken,
          authorization: request.authorization,
          expectedSid: request.expectedSid,
          origin: ORIGIN,
        });

      test('the cookie alone ends its session and is cleared', async () => {
        const signedIn = await signIn(auth, user);
        expect(await logOut(signedIn)).toEqual({ revokedSid: null, clearCookies: true });
        expect(await row(signedIn.bundle.session.sid)).toMatchObject({ status: 'revoked', revokedReason: 'logout' });
        await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        expect(await logOut(signedIn)).toEqual({ revokedSid: null, clearCookies: true });
      });

      test('bearer and cookie of one session: the session ends, is named, and the cookie is cleared', async () => {
        const signedIn = await signIn(auth, user);
        const { sid } = signedIn.bundle.session;
        const request = { ...signedIn, authorization: bearer(signedIn), expectedSid: sid };
        expect(await logOut(request)).toEqual({ revokedSid: sid, clearCookies: true });
        expect((await row(sid)).status).toBe('revoked');
        expect(await logOut(request)).toEqual({ revokedSid: sid, clearCookies: true });
      });

      test("a bearer with another session's cookie: that cookie and session stay", async () => {
        const [a, b] = [await signIn(auth, user), await signIn(auth, user)];
        const result = await logOut({ refreshToken: b.refreshToken, authorization: bearer(a) });
        expect(result).toEqual({ revokedSid: a.bundle.session.sid, clearCookies: false });
        expect((await row(a.bundle.session.sid)).status).toBe('revoked');
        expect((await row(b.bundle.session.sid)).status).toBe('active');
      });

      test('a bearer alone ends its session', async () => {
        const signedIn = await signIn(auth, user);
        const { sid } = signedIn.bundle.session;
        expect(await logOut({ authorization: bearer(signedIn) })).toEqual({ revokedSid: sid, clearCookies: false });
        expect((await row(sid)).status).toBe('revoked');
      });

      test('X-Auth-Session differs from the cookie: 409, nothing changes', async () => {
        const [a, b] = [await signIn(auth, user), await signIn(auth, user)];
        const request = { ...a, authorization: bearer(b), expectedSid: b.bundle.session.sid };
        await refusal(logOut(request), 'auth.session_mismatch');
        for (const each of [a, b]) expect((await row(each.bundle.session.sid)).status).toBe('active');
      });

      test('X-Auth-Session differs from the bearer: 409, nothing changes', async () => {
        const [a, b] = [await signIn(auth, user), await signIn(auth, user)];
        const request = { ...a, authorization: bearer(b), expectedSid: a.bundle.session.sid };
        await refusal(logOut(request), 'auth.session_mismatch');
        for (const each of [a, b]) expect((await row(each.bundle.session.sid)).status).toBe('active');
      });

      test('no cookie or a malformed one is cleared, whatever session is named', async () => {
        expect(await logOut({})).toEqual({ revokedSid: null, clearCookies: true });
        expect(await logOut({ refreshToken: 'garbage', expectedSid: newUuid() })).toEqual({
          revokedSid: null,
          clearCookies: true,
        });
      });

      test('the previous token ends the session within its window', async () => {
        const signedIn = await signIn(auth, user);
        await refreshWith(auth, signedIn.refreshToken);
        clock.advance(30);
        await logOut(signedIn);
        expect((await row(signedIn.bundle.session.sid)).status).toBe('revoked');
      });

      test('the previous token after its window is cleared and ends nothing', async () => {
        const signedIn = await signIn(auth, user);
        await refreshWith(auth, signedIn.refreshToken);
        clock.advance(31);
        expect(await logOut(signedIn)).toEqual({ revokedSid: null, clearCookies: true });
        expect((await row(signedIn.bundle.session.sid)).status).toBe('active');
      });

      test('forced logout: a known session id with a random secret ends nothing', async () => {
        const { sid } = (await signIn(auth, user)).bundle.session;
        expect(await logOut({ refreshToken: `${sid}.${randomAlnum(64)}` })).toEqual({
          revokedSid: null,
          clearCookies: true,
        });
        expect((await row(sid)).status).toBe('active');
      });

      test('with an expired or foreign bearer the cookie decides', async () => {
        for (const authorization of ['Bearer garbage', 'tgp_something', 'expired'] as const) {
          const signedIn = await signIn(auth, user);
          const expired = authorization === 'expired';
          if (expired) clock.advance(906);
          const result = await logOut({ ...signedIn, authorization: expired ? bearer(signedIn) : authorization });
          expect(result).toEqual({ revokedSid: null, clearCookies: true });
          expect((await row(signedIn.bundle.session.sid)).status).toBe('revoked');
        }
      });
    });

    describe('list and revoke', () => {
      test('the current session comes first, then the latest active', async () => {
        const a = await signIn(auth, user);
        clock.advance(10);
        const b = await signIn(auth, user);
        clock.advance(10);
        const c = await signIn(auth, user);
        clock.advance(10);
        await refreshWith(auth, b.refreshToken);
        const listed = await auth.sessions.list(await auth.authenticatePanel(bearer(a)));
        expect(listed.map(({ sid }) => sid)).toEqual([a, b, c].map(({ bundle }) => bundle.session.sid));
        expect(listed.map(({ current }) => current)).toEqual([true, false, false]);
        expect(listed[0]).toEqual(a.bundle.session);
      });

      test('at most 100, with the current one among them even if it is the longest idle', async () => {
        const roomy = openAuth(store, { clock, config: { activeSessionLimit: 500, sessionIssuanceLimit: 500 } });
        const current = await signIn(roomy, user);
        const model = await row(current.bundle.session.sid);
        for (let i = 1; i <= 105; i += 1) {
          await store.sessions.insert({ ...model, sid: newUuid(), lastActiveAt: model.lastActiveAt + i });
        }
        const listed = await roomy.sessions.list(await roomy.authenticatePanel(bearer(current)));
        expect(listed).toHaveLength(100);
        expect(listed[0]).toEqual(current.bundle.session);
        expect(listed[1]?.last_active_at).toBe(model.lastActiveAt + 105);
      });

      test('ended sessions, those of other users and of older auth versions are not listed', async () => {
        const stale = await signIn(auth, user);
        await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
        const current = await signIn(auth, user);
        const ended = await signIn(auth, user);
        await store.sessions.revoke(ended.bundle.session.sid, 'test', clock.unix());
        await signIn(auth, await addUser(store));
        const principal = await auth.authenticatePanel(bearer(current));
        expect((await auth.sessions.list(principal)).map(({ sid }) => sid)).toEqual([current.bundle.session.sid]);
        expect(await auth.sessions.revokeOthers(principal)).toEqual({ revoked_count: 1 });
        expect(await row(stale.bundle.session.sid)).toMatchObject({
          status: 'revoked',
          revokedReason: 'user_revoked_others',
        });
        expect(await isSignedIn(bearer(current))).toBe(true);
      });

      test('one session is ended at once, the current one too', async () => {
        const [a, b] = [await signIn(auth, user), await signIn(auth, user)];
        const principal = await auth.authenticatePanel(bearer(a));
        const [sidA, sidB] = [a.bundle.session.sid, b.bundle.session.sid];
        expect(await auth.sessions.revoke(principal, sidB)).toEqual({ revoked_sid: sidB, current: false });
        expect(await isSignedIn(bearer(b))).toBe(false);
        await refusal(refreshWith(auth, b.refreshToken), 'auth.session_revoked');
        expect(await auth.sessions.revoke(principal, sidA)).toEqual({ revoked_sid: sidA, current: true });
        expect(await isSignedIn(bearer(a))).toBe(false);
        expect((await row(sidA)).revokedReason).toBe('user_revoked');
      });

      test("another user's session, an ended one and an unknown one answer alike", async () => {
        const a = await signIn(auth, user);
        const principal = await auth.authenticatePanel(bearer(a));
        const foreign = await signIn(auth, await addUser(store));
        const ended = await signIn(auth, user);
        await store.sessions.revoke(ended.bundle.session.sid, 'test', clock.unix());
        for (const sid of [foreign.bundle.session.sid, ended.bundle.session.sid, newUuid(), 'x']) {
          expect((await refusal(auth.sessions.revoke(principal, sid), 'auth.session_not_found')).kind).toBe(
            'not_found',
          );
        }
        await refusal(auth.sessions.revoke(principal, ' '), 'auth.session_id_required');
        expect(await isSignedIn(bearer(foreign))).toBe(true);
      });

      test('a personal access token cannot manage sessions', async () => {
        const principal = { kind: 'pat', user, tokenHash: '' } as const;
        await refusal(auth.sessions.list(principal), 'auth.session_required');
        await refusal(auth.sessions.revoke(principal, newUuid()), 'auth.session_required');
        await refusal(auth.sessions.revokeOthers(principal), 'auth.session_required');
        const change = { currentPassword: PASSWORD, newPassword: 'another password', origin: ORIGIN };
        await refusal(auth.passwords.change(principal, change), 'auth.session_required');
      });
    });
  });
}
