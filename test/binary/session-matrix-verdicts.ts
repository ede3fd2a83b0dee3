import { expect, test } from 'bun:test';
import { decodeJwt, SignJWT } from 'jose';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { SECRETS } from '../support/run-command.ts';
import {
  addUser,
  ask,
  type Bundle,
  expectCleared,
  expectQuarterHour,
  expectRefusal,
  expectUntouched,
  expectWritten,
  holdAt,
  LOGOUT,
  opens,
  REFRESH,
  readData,
  readRow,
  SESSIONS,
  type SignedIn,
  signIn,
  type Topology,
  type TopologyName,
  unixNow,
} from './session-matrix-nodes.ts';

const SECRET = 'a'.repeat(64);
const UNKNOWN_SID = '00000000-0000-4000-8000-000000000000';
const AT_ONCE = 100;

/** Values of the cookie that no session has ever had. */
const MALFORMED: [what: string, value: string][] = [
  ['a word', 'garbage'],
  ['a session id alone', UNKNOWN_SID],
  ['an empty secret', `${UNKNOWN_SID}.`],
  ['a short secret', `${UNKNOWN_SID}.abc`],
  ['three parts', `${UNKNOWN_SID}.${SECRET}.x`],
  ['JSON', '{"sid":1}'],
  ['a number', '17'],
  ['a broken escape', '%E0%A4%A'],
  ['an access token in its place', `eyJhbGciOiJub25lIn0.${SECRET}.`],
  ['6,000 characters', 'x'.repeat(6000)],
];

export function describeVerdicts(name: TopologyName, open: () => Topology): void {
  const start = async (): Promise<SignedIn> => signIn(open().nodes[0], await addUser(open().db));
  const refresh = (
    session: Pick<SignedIn, 'user' | 'refresh'>,
    options: { node?: 0 | 1; sid?: string; token?: string } = {},
  ) =>
    ask(open().nodes[options.node ?? 1], REFRESH, {
      refresh: options.token ?? session.refresh,
      ip: session.user.ip,
      sid: options.sid,
    });
  const rotated = async (session: SignedIn, node: 0 | 1 = 1): Promise<SignedIn> => {
    const reply = await refresh(session, { node });
    const bundle = readData<Bundle>(reply);
    return { ...session, access: bundle.access_token, refresh: expectWritten(reply), bundle };
  };
  const change = (sid: string, set: string) => open().db.run(`update user_sessions set ${set} where sid = '${sid}'`);
  const changeUser = (id: number, set: string) => open().db.run(`update users set ${set} where id = ${id}`);
  const row = (sid: string) => readRow(open().db, sid);

  // Refresh.

  test('refresh: the current token is rotated, 200, both cookies rewritten, as long-lived as before', async () => {
    const session = await start();
    await change(session.sid, `last_active_at = last_active_at - 50`);
    const before = await row(session.sid);
    const reply = await ask(open().nodes[1], REFRESH, {
      refresh: session.refresh,
      sid: session.sid,
      ip: '2001:db8::77',
      headers: { 'user-agent': 'another browser' },
    });
    const bundle = readData<Bundle>(reply);
    const successor = expectWritten(reply);
    expect(successor).not.toBe(session.refresh);
    expect(bundle.access_token).not.toBe(session.access);
    expect(bundle).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      access_expires_at: expect.any(Number),
      user: session.bundle.user,
      session: {
        ...session.bundle.session,
        ip: '2001:db8::77',
        user_agent: 'another browser',
        last_active_at: bundle.session.last_active_at,
      },
    });
    expect(bundle.session.last_active_at).toBeGreaterThanOrEqual(reply.sent);
    expectQuarterHour(bundle.access_expires_at, reply);
    expect(await row(session.sid)).toMatchObject({
      status: 'active',
      version: before.version,
      ip: '2001:db8::77',
      user_agent: 'another browser',
      previous_refresh_hash: before.refresh_hash,
      previous_valid_until: bundle.session.last_active_at + 30,
      expires_at: before.expires_at,
      created_at: before.created_at,
    });
    for (const node of open().nodes) expect(await opens(node, { ...session, access: bundle.access_token })).toBe(true);
  });

  test('refresh: cold start, no X-Auth-Session', async () => {
    const session = await start();
    expect((await rotated(session)).bundle.session.sid).toBe(session.sid);
  });

  test('refresh: near its end the session gives shorter tokens and cookies, and is not prolonged', async () => {
    const session = await start();
    const end = unixNow() + 100;
    await change(session.sid, `expires_at = ${end}`);
    const reply = await refresh(session);
    expectWritten(reply);
    const { access_expires_at, session: view } = readData<Bundle>(reply);
    expect([access_expires_at, view.expires_at]).toEqual([end, end]);
    expect((await row(session.sid)).expires_at).toBe(end);
  });

  test('refresh: no cookie is 401 AUTH_UNAUTHORIZED and clears both', async () => {
    for (const node of open().nodes) {
      for (const sid of [undefined, UNKNOWN_SID]) {
        const reply = await ask(node, REFRESH, { sid });
        expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
        expectCleared(reply);
      }
    }
  });

  test('refresh: an empty cookie is not a cookie', async () => {
    const reply = await ask(open().nodes[1], REFRESH, { refresh: '' });
    expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
    expectCleared(reply);
  });

  test.each(MALFORMED)('refresh: %s is 401 AUTH_UNAUTHORIZED and clears both', async (_what, token) => {
    for (const sid of [undefined, UNKNOWN_SID]) {
      const reply = await ask(open().nodes[1], REFRESH, { refresh: token, sid });
      expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
      expectCleared(reply);
    }
  });

  test('refresh: an unknown session is 401 AUTH_UNAUTHORIZED and clears both', async () => {
    const reply = await ask(open().nodes[1], REFRESH, { refresh: `${UNKNOWN_SID}.${SECRET}` });
    expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
    expectCleared(reply);
  });

  test('refresh: a random secret of a known session is 401, clears the asker, and leaves the session alone', async () => {
    const session = await start();
    const before = await row(session.sid);
    const reply = await refresh(session, { token: `${session.sid}.${SECRET}` });
    expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
    expectCleared(reply);
    expect(await row(session.sid)).toEqual(before);
    await rotated(session);
  });

  test('refresh: an older generation is 401, clears the caller’s cookies, and leaves the session alone', async () => {
    const first = await start();
    const third = await rotated(await rotated(first), 0);
    const before = await row(first.sid);
    for (const node of [0, 1] as const) {
      const reply = await refresh(first, { node });
      expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
      expectCleared(reply);
    }
    expect(await row(first.sid)).toEqual(before);
    await rotated(third);
  });

  test('refresh: probing: a random secret learns nothing of a session that has ended', async () => {
    const session = await start();
    await change(session.sid, `status = 'revoked', revoked_at = 1`);
    expectRefusal(await refresh(session, { token: `${session.sid}.${SECRET}` }), 401, 'AUTH_UNAUTHORIZED');
  });

  test('refresh: X-Auth-Session names another session: 409, nothing is rotated, revoked or cleared', async () => {
    const session = await start();
    const before = await row(session.sid);
    for (const sid of [UNKNOWN_SID, 'another', session.sid.toUpperCase(), `${session.sid}, ${session.sid}`, '']) {
      const reply = await refresh(session, { sid });
      expectRefusal(reply, 409, 'AUTH_SESSION_MISMATCH');
      expectUntouched(reply);
    }
    expect(await row(session.sid)).toEqual(before);
    expect(await opens(open().nodes[1], session)).toBe(true);
    // As the panel does then: it tries again without the stale id.
    await rotated(session);
  });

  test('refresh: a mismatch is reported before anything about the session', async () => {
    const session = await start();
    await change(session.sid, `status = 'revoked', revoked_at = 1`);
    for (const token of [session.refresh, `${UNKNOWN_SID}.${SECRET}`]) {
      const reply = await refresh(session, { token, sid: '11111111-1111-4111-8111-111111111111' });
      expectRefusal(reply, 409, 'AUTH_SESSION_MISMATCH');
      expectUntouched(reply);
    }
  });

  test('refresh: a revoked session is 401 AUTH_SESSION_REVOKED and clears both', async () => {
    const session = await start();
    await change(session.sid, `status = 'revoked', revoked_at = ${unixNow()}, revoked_reason = 'by hand'`);
    const reply = await refresh(session, { sid: session.sid });
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply);
    expect((await row(session.sid)).revoked_reason).toBe('by hand');
  });

  test('refresh: an expired session is 401 AUTH_SESSION_REVOKED and clears both', async () => {
    const session = await start();
    await change(session.sid, `expires_at = ${unixNow()}`);
    const reply = await refresh(session);
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply);
  });

  test.each([
    ['is disabled', 'status = 2'],
    ['is gone', 'deleted_at = 1'],
    ['has a newer auth version', 'auth_version = auth_version + 1'],
  ])('refresh: the user %s: the session ends, 401 AUTH_SESSION_REVOKED, both cleared', async (_what, set) => {
    const session = await start();
    await changeUser(session.user.id, set);
    const reply = await refresh(session);
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply);
    expect(await row(session.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'user_security_changed' });
    for (const node of open().nodes) expect(await opens(node, session)).toBe(false);
  });

  test('refresh: the previous token within 30 s gives the same successor and a fresh access token', async () => {
    const first = await start();
    const second = await rotated(first);
    const before = await row(first.sid);
    for (const node of [0, 1] as const) {
      const reply = await refresh(first, { node });
      expect(expectWritten(reply)).toBe(second.refresh);
      const { access_token } = readData<Bundle>(reply);
      expect(access_token).not.toBe(second.access);
      expect(await opens(open().nodes[node], { ...first, access: access_token })).toBe(true);
    }
    expect(await row(first.sid)).toEqual(before);
    await rotated(second);
  });

  test('refresh: the last second of the window still counts', async () => {
    for (;;) {
      const first = await start();
      const second = await rotated(first);
      const end = unixNow() + 1;
      await change(first.sid, `previous_valid_until = ${end}`);
      const reply = await refresh(first);
      // Only a request that was answered in time is known to have come in time.
      if (reply.answered > end) continue;
      expect(expectWritten(reply)).toBe(second.refresh);
      break;
    }
  });

  test('stolen refresh token: the previous one after its window ends the session for both, on both nodes', async () => {
    const first = await start();
    const second = await rotated(first);
    for (const node of open().nodes) expect(await opens(node, second)).toBe(true);
    await change(first.sid, `previous_valid_until = ${unixNow() - 1}`);
    const reply = await refresh(first);
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply);
    expect(await row(first.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'refresh_reuse' });
    for (const node of open().nodes) expect(await opens(node, second)).toBe(false);
    const next = await refresh(second, { node: 0 });
    expectRefusal(next, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(next);
  });

  test(`refresh: ${AT_ONCE} at once with one token over both nodes: one rotation, ${AT_ONCE} equal successors`, async () => {
    const session = await start();
    const before = await row(session.sid);
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => refresh(session, { node: i % 2 === 0 ? 0 : 1, sid: session.sid })),
    );
    const successors = new Set(replies.map((reply) => expectWritten(reply)));
    expect(successors.size).toBe(1);
    const access = replies.map((reply) => readData<Bundle>(reply).access_token);
    expect(new Set(access).size).toBe(AT_ONCE);
    const after = await row(session.sid);
    expect(after).toMatchObject({ status: 'active', previous_refresh_hash: before.refresh_hash });
    expect(after.refresh_hash).not.toBe(before.refresh_hash);
    for (const [i, token] of [access[0], access[AT_ONCE - 1]].entries()) {
      expect(await opens(open().nodes[i] ?? open().nodes[0], { ...session, access: token ?? '' })).toBe(true);
    }
    // The one successor is the session's current token: it rotates once more.
    const [successor = ''] = successors;
    await rotated({ ...session, refresh: successor });
    expect((await row(session.sid)).previous_refresh_hash).toBe(after.refresh_hash);
  });

  test('a logout in the middle of refreshes ends the session for good', async () => {
    const session = await start();
    const tokens = new Set([session.refresh]);
    const asked = Array.from({ length: 10 }, (_, i) => refresh(session, { node: i % 2 === 0 ? 0 : 1 }));
    const out = await ask(open().nodes[0], LOGOUT, { bearer: session.access, ip: session.user.ip });
    expect(out.status).toBe(200);
    for (const reply of await Promise.all(asked)) {
      if (reply.status === 200) tokens.add(expectWritten(reply));
      else expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    }
    expect((await row(session.sid)).status).toBe('revoked');
    for (const token of tokens) expectRefusal(await refresh(session, { token }), 401, 'AUTH_SESSION_REVOKED');
  });

  // Logout.

  const logOut = (
    session: SignedIn | undefined,
    options: { refresh?: string; bearer?: string; sid?: string; node?: 0 | 1 },
  ) =>
    ask(open().nodes[options.node ?? 0], LOGOUT, {
      refresh: options.refresh,
      bearer: options.bearer,
      sid: options.sid,
      ...(session ? { ip: session.user.ip } : {}),
    });
  /** Ended as a logout does it, at once on both nodes. */
  const expectEnded = async (session: SignedIn) => {
    expect(await row(session.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'logout' });
    for (const node of open().nodes) expect(await opens(node, session)).toBe(false);
    for (const node of [0, 1] as const) {
      const reply = await refresh(session, { node });
      expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
      expectCleared(reply);
    }
  };
  const expectAlive = async (session: SignedIn) => {
    expect((await row(session.sid)).status).toBe('active');
    for (const node of open().nodes) expect(await opens(node, session)).toBe(true);
  };

  test('logout: the cookie alone ends its session and is cleared; a second time is answered alike', async () => {
    const session = await start();
    await expectAlive(session);
    for (let i = 0; i < 2; i += 1) {
      const reply = await logOut(session, { refresh: session.refresh });
      expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
      expectCleared(reply);
      await expectEnded(session);
    }
  });

  test('logout: cookie, bearer and X-Auth-Session of one session: it ends, is named, and its cookies are cleared', async () => {
    const session = await start();
    await expectAlive(session);
    const all = { refresh: session.refresh, bearer: session.access, sid: session.sid };
    for (let i = 0; i < 2; i += 1) {
      const reply = await logOut(session, all);
      expect(readData<unknown>(reply)).toEqual({ revoked_sid: session.sid, cookie_cleared: true });
      expectCleared(reply);
      await expectEnded(session);
    }
  });

  test("logout: a bearer with another session's cookie: that cookie and that session stay", async () => {
    const a = await start();
    const b = await signIn(open().nodes[1], a.user);
    const reply = await logOut(a, { refresh: b.refresh, bearer: a.access });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: a.sid, cookie_cleared: false });
    expectUntouched(reply);
    await expectEnded(a);
    await expectAlive(b);
  });

  test('logout: a bearer alone ends its session', async () => {
    const session = await start();
    const reply = await logOut(session, { bearer: session.access, sid: session.sid });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: session.sid, cookie_cleared: false });
    expectUntouched(reply);
    await expectEnded(session);
  });

  test('logout: X-Auth-Session differs from the cookie: 409, nothing is revoked or cleared', async () => {
    const a = await start();
    const b = await signIn(open().nodes[1], a.user);
    for (const bearer of [undefined, b.access, a.access]) {
      const reply = await logOut(a, { refresh: a.refresh, sid: b.sid, ...(bearer ? { bearer } : {}) });
      expectRefusal(reply, 409, 'AUTH_SESSION_MISMATCH');
      expectUntouched(reply);
    }
    await expectAlive(a);
    await expectAlive(b);
  });

  test('logout: X-Auth-Session differs from the bearer: 409, nothing is revoked or cleared', async () => {
    const a = await start();
    const b = await signIn(open().nodes[1], a.user);
    for (const cookie of [a.refresh, undefined]) {
      const reply = await logOut(a, { bearer: b.access, sid: a.sid, ...(cookie ? { refresh: cookie } : {}) });
      expectRefusal(reply, 409, 'AUTH_SESSION_MISMATCH');
      expectUntouched(reply);
    }
    await expectAlive(a);
    await expectAlive(b);
  });

  test('logout: nothing to end: 200, both cleared', async () => {
    const reply = await logOut(undefined, {});
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(reply);
  });

  test.each(MALFORMED)('logout: %s as cookie: 200, both cleared', async (_what, token) => {
    const reply = await logOut(undefined, { refresh: token, sid: UNKNOWN_SID });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(reply);
  });

  test('forced logout: a known session id with a random secret is cleared and ends nothing', async () => {
    const session = await start();
    const reply = await logOut(session, { refresh: `${session.sid}.${SECRET}`, sid: session.sid });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(reply);
    await expectAlive(session);
  });

  test('logout: the previous token ends the session within its window', async () => {
    const first = await start();
    const second = await rotated(first);
    expectCleared(await logOut(first, { refresh: first.refresh }));
    await expectEnded(second);
  });

  test('logout: the previous token after its window is cleared and ends nothing', async () => {
    const first = await start();
    const second = await rotated(first);
    await change(first.sid, `previous_valid_until = ${unixNow() - 1}`);
    expectCleared(await logOut(first, { refresh: first.refresh }));
    await expectAlive(second);
  });

  test('logout: an older generation is cleared and ends nothing', async () => {
    const first = await start();
    const third = await rotated(await rotated(first));
    expectCleared(await logOut(first, { refresh: first.refresh }));
    await expectAlive(third);
  });

  test.each([
    ['garbage', () => 'garbage'],
    ['a personal access token', () => `tgp_${'x'.repeat(40)}`],
    ['a tampered access token', (access: string) => `${access.slice(0, -3)}xxx`],
    ['its own refresh token', (_access: string, token: string) => token],
  ])('logout: %s as bearer is ignored, the cookie decides', async (_what, readBearer) => {
    const session = await start();
    const bearer = readBearer(session.access, session.refresh);
    const alone = await logOut(session, { bearer });
    expect(readData<unknown>(alone)).toEqual({ revoked_sid: null, cookie_cleared: true });
    await expectAlive(session);
    const reply = await logOut(session, { bearer, refresh: session.refresh });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(reply);
    await expectEnded(session);
  });

  test('an access token that has expired: 401 AUTH_TOKEN_EXPIRED, no cookie touched; the session refreshes and signs out by cookie', async () => {
    const session = await start();
    const past = unixNow() - 1000;
    const access = await new SignJWT({ ...decodeJwt(session.access), iat: past, nbf: past - 5, exp: past + 900 })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(deriveSessionKeys([SECRETS.SESSION_SECRET]).access[0]);
    for (const node of open().nodes) {
      const reply = await ask(node, '/api/user/self', { method: 'GET', bearer: access, ip: session.user.ip });
      expectRefusal(reply, 401, 'AUTH_TOKEN_EXPIRED');
      expectUntouched(reply);
    }
    const refreshed = await rotated(session);
    const alone = await logOut(session, { bearer: access });
    expect(readData<unknown>(alone)).toEqual({ revoked_sid: null, cookie_cleared: true });
    await expectAlive(refreshed);
    const reply = await logOut(session, { bearer: access, refresh: refreshed.refresh });
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(reply);
    await expectEnded(refreshed);
  });

  test('logout: of a session that has ended otherwise: 200, cleared, and the first reason stays', async () => {
    const session = await start();
    const bearer = session.access;
    readData(
      await ask(open().nodes[0], `${SESSIONS}/${session.sid}`, { method: 'DELETE', bearer, ip: session.user.ip }),
    );
    expectCleared(await logOut(session, { refresh: session.refresh, bearer }));
    expect((await row(session.sid)).revoked_reason).toBe('user_revoked');
  });

  // The earlier gateway's credentials.

  test('the old `session` cookie and user-id headers have no effect', async () => {
    const session = await start();
    const old = {
      cookie: `session=MTcyNjA1${SECRET}; svc_has_session=1`,
      'new-api-user': `${session.user.id}`,
      'x-user-id': `${session.user.id}`,
      'user-id': '1',
    };
    for (const path of ['/api/user/self', SESSIONS]) {
      const reply = await ask(open().nodes[0], path, { method: 'GET', headers: old, ip: session.user.ip });
      expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
      expectUntouched(reply);
    }
    const refreshed = await ask(open().nodes[0], REFRESH, { headers: old, ip: session.user.ip });
    expectRefusal(refreshed, 401, 'AUTH_UNAUTHORIZED');
    expectCleared(refreshed);
    expect(refreshed.cookies.has('session')).toBe(false);
    // Beside a real credential they do not change who is signed in.
    const asked = {
      method: 'GET',
      bearer: session.access,
      ip: session.user.ip,
      headers: { ...old, 'new-api-user': '1' },
    };
    expect(readData<{ id: number }>(await ask(open().nodes[1], '/api/user/self', { ...asked })).id).toBe(
      session.user.id,
    );
  });

  if (name === 'SQLite') return;
  test('refresh: the row ends in the middle of its rotation: 401 AUTH_SESSION_REVOKED, both cleared', async () => {
    const { secure } = open();
    const session = await signIn(secure, await addUser(open().db), true);
    const held = await holdAt(open(), 'update "user_sessions"', () =>
      ask(secure, REFRESH, { refresh: session.refresh, ip: session.user.ip, secure: true }),
    );
    await change(session.sid, `status = 'revoked', revoked_at = ${unixNow()}, revoked_reason = 'by hand'`);
    const reply = await held.release();
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply, true);
    expect((await row(session.sid)).revoked_reason).toBe('by hand');
  });
}
