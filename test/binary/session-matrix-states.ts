import { expect, test } from 'bun:test';
import { ROOT } from '../support/gateway.ts';
import { runBeside, SECRETS } from '../support/run-command.ts';
import {
  addUser,
  ask,
  type Bundle,
  expectCleared,
  expectRefusal,
  expectUntouched,
  expectWritten,
  LIMITS,
  logIn,
  opens,
  REFRESH,
  type Reply,
  readData,
  readRow,
  SESSIONS,
  type SessionView,
  type SignedIn,
  signIn,
  type TestUser,
  type Topology,
  type TopologyName,
  unixNow,
} from './session-matrix-nodes.ts';

export function describeStates(name: TopologyName, open: () => Topology): void {
  const a = () => open().nodes[0];
  const b = () => open().nodes[1];
  const start = async (user?: TestUser): Promise<SignedIn> => signIn(a(), user ?? (await addUser(open().db)));
  const row = (sid: string) => readRow(open().db, sid);
  const change = (sid: string, set: string) => open().db.run(`update user_sessions set ${set} where sid = '${sid}'`);
  const as = (session: SignedIn, method: string, body?: unknown) => ({
    method,
    bearer: session.access,
    ip: session.user.ip,
    ...(body === undefined ? {} : { body }),
  });
  const list = async (session: SignedIn, node = a()): Promise<SessionView[]> =>
    readData<SessionView[]>(await ask(node, SESSIONS, { ...as(session, 'GET') }));
  const remove = (session: SignedIn, sid: string, node = a()): Promise<Reply> =>
    ask(node, `${SESSIONS}/${sid}`, { ...as(session, 'DELETE') });
  const refresh = (session: SignedIn, node = b()): Promise<Reply> =>
    ask(node, REFRESH, { refresh: session.refresh, ip: session.user.ip });
  const expectDead = async (session: SignedIn) => {
    for (const node of [b(), a()]) expect(await opens(node, session)).toBe(false);
    const reply = await refresh(session);
    expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
    expectCleared(reply);
  };
  /** Makes both nodes look at the session, so that a cache has it. */
  const expectAlive = async (...sessions: SignedIn[]) => {
    for (const session of sessions) for (const node of [a(), b()]) expect(await opens(node, session)).toBe(true);
  };
  /** More rows like that of `sid`, with another id each. */
  const copies = async (sid: string, count: number, columns: Record<string, string>) => {
    const names = ['user_id', 'user_auth_version', 'status', 'refresh_hash', 'login_method', 'ip', 'user_agent'];
    const all = [...names, 'created_at', 'last_active_at', 'expires_at'];
    for (let i = 0; i < count; i += 1) {
      await open().db.run(
        `insert into user_sessions (sid, ${all.join(', ')}) select '${crypto.randomUUID()}',
         ${all.map((column) => columns[column]?.replaceAll('$i', `${i}`) ?? column).join(', ')} from user_sessions where sid = '${sid}'`,
      );
    }
  };

  test('the list: the current session first, then the latest active, the same on both nodes', async () => {
    const first = await start();
    const second = await start(first.user);
    const third = await start(first.user);
    const now = unixNow();
    for (const [i, { sid }] of [first, second, third].entries())
      await change(sid, `created_at = ${now - 500 + i}, last_active_at = ${now - [300, 100, 200][i]!}`);
    for (const [session, order] of [
      [first, [first, second, third]],
      [third, [third, second, first]],
    ] as const) {
      for (const node of [a(), b()]) {
        const listed = await list(session, node);
        expect(listed.map(({ sid }) => sid)).toEqual(order.map(({ sid }) => sid));
        expect(listed.map(({ current }) => current)).toEqual([true, false, false]);
      }
    }
    expect((await list(first))[0]).toEqual({
      ...first.bundle.session,
      created_at: now - 500,
      last_active_at: now - 300,
    });
  });

  test('the list shows address and browser of a refresh on the other node', async () => {
    const session = await start();
    const moved = { refresh: session.refresh, ip: '2001:db8::99', headers: { 'user-agent': 'moved' } };
    readData(await ask(b(), REFRESH, { ...moved }));
    expect(await list(session)).toMatchObject([{ sid: session.sid, ip: '2001:db8::99', user_agent: 'moved' }]);
  });

  test('the list: at most 100, the current one among them even if it is the longest idle', async () => {
    const session = await start();
    await copies(session.sid, 105, { last_active_at: 'last_active_at + 1 + $i' });
    const listed = await list(session, b());
    expect(listed).toHaveLength(100);
    expect(listed[0]).toEqual(session.bundle.session);
    expect(listed[1]?.last_active_at).toBe(session.bundle.session.last_active_at + 105);
    expect(listed.at(-1)?.last_active_at).toBe(session.bundle.session.last_active_at + 7);
  });

  test("the list: no revoked, expired, older-version or another user's session", async () => {
    const session = await start();
    const other = await start();
    await copies(session.sid, 1, { status: "'revoked'" });
    await copies(session.sid, 1, { expires_at: `${unixNow() - 1}` });
    await copies(session.sid, 1, { user_auth_version: '0' });
    expect((await list(session, b())).map(({ sid }) => sid)).toEqual([session.sid]);
    expect((await list(other)).map(({ sid }) => sid)).toEqual([other.sid]);
  });

  test('delete: another session ends at once on both nodes; no cookie is touched', async () => {
    const mine = await start();
    const other = await start(mine.user);
    await expectAlive(mine, other);
    const reply = await remove(mine, other.sid);
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: other.sid, current: false });
    expectUntouched(reply);
    expect(await row(other.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'user_revoked' });
    expect(Number((await row(other.sid)).revoked_at)).toBeGreaterThanOrEqual(reply.sent);
    await expectDead(other);
    await expectAlive(mine);
    expect((await list(mine, b())).map(({ sid }) => sid)).toEqual([mine.sid]);
  });

  test('delete: the current session too; the next refresh clears its cookies', async () => {
    const session = await start();
    await expectAlive(session);
    const reply = await remove(session, session.sid, b());
    expect(readData<unknown>(reply)).toEqual({ revoked_sid: session.sid, current: true });
    expectUntouched(reply);
    await expectDead(session);
  });

  test("delete: another user's, an ended, an expired and an unknown session look alike, and nothing ends", async () => {
    const session = await start();
    const foreign = await start();
    const ended = await start(session.user);
    readData(await remove(session, ended.sid));
    const expired = await start(session.user);
    await change(expired.sid, `expires_at = ${unixNow() - 1}`);
    const unknown = [
      '00000000-0000-4000-8000-000000000000',
      'x',
      '%00',
      'a%00b',
      "'",
      '%F0%9F%90%88',
      'x'.repeat(3000),
    ];
    for (const sid of [foreign.sid, ended.sid, expired.sid, session.sid.toUpperCase(), ...unknown]) {
      const reply = await remove(session, sid, b());
      expectRefusal(reply, 404, 'AUTH_SESSION_NOT_FOUND');
      expectUntouched(reply);
    }
    await expectAlive(session, foreign);
  });

  test.each(['%20', '%09', '%20%20'])('delete: the blank id "%s" is 400 AUTH_SESSION_ID_REQUIRED', async (sid) => {
    const reply = await remove(await start(), sid, b());
    expectRefusal(reply, 400, 'AUTH_SESSION_ID_REQUIRED');
    expectUntouched(reply);
  });

  test('revoke-others: all but the current one, those of older auth versions too, at once on both nodes', async () => {
    const mine = await start();
    const [second, third] = [await start(mine.user), await start(mine.user)];
    await expectAlive(mine, second, third);
    await copies(mine.sid, 2, { user_auth_version: '0' });
    await copies(mine.sid, 1, { status: "'revoked'" });
    const reply = await ask(b(), `${SESSIONS}/revoke-others`, { ...as(mine, 'POST') });
    expect(readData<unknown>(reply)).toEqual({ revoked_count: 4 });
    expectUntouched(reply);
    await expectDead(second);
    await expectDead(third);
    await expectAlive(mine);
    readData(await refresh(mine));
    const stale = await open().db.run(
      `select status from user_sessions where user_id = ${mine.user.id} and user_auth_version = 0`,
    );
    expect(stale.map(({ status }) => status)).toEqual(['revoked', 'revoked']);
    const again = await ask(a(), `${SESSIONS}/revoke-others`, { ...as(mine, 'POST') });
    expect(readData<unknown>(again)).toEqual({ revoked_count: 0 });
  });

  test('revoke-others does not reach another user', async () => {
    const [mine, foreign] = [await start(), await start()];
    readData(await ask(a(), `${SESSIONS}/revoke-others`, { ...as(mine, 'POST') }));
    await expectAlive(foreign);
  });

  test('a change of password raises the version, ends other sessions, and gives the current one a new access token', async () => {
    const mine = await start();
    const other = await start(mine.user);
    await expectAlive(mine, other);
    const before = await row(mine.sid);
    const change = { original_password: ROOT.password, password: 'another good password' };
    const reply = await ask(a(), '/api/user/self', { ...as(mine, 'PUT', change) });
    const rotation = readData<Omit<Bundle, 'user'>>(reply);
    expect(Object.keys(rotation).sort()).toEqual(['access_expires_at', 'access_token', 'session', 'token_type']);
    expect(rotation.session).toMatchObject({
      sid: mine.sid,
      current: true,
      expires_at: mine.bundle.session.expires_at,
    });
    expectUntouched(reply);
    // The node that has cached the session accepts the new token and refuses the old one at once.
    expect(await opens(b(), { ...mine, access: rotation.access_token })).toBe(true);
    for (const node of [b(), a()]) expect(await opens(node, mine)).toBe(false);
    await expectDead(other);
    expect(await row(other.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'password_changed' });
    expect(await row(mine.sid)).toMatchObject({
      status: 'active',
      version: Number(before.version) + 1,
      user_auth_version: Number(before.user_auth_version) + 1,
      refresh_hash: before.refresh_hash,
    });
    expect(expectWritten(await refresh(mine))).not.toBe(mine.refresh);
    expectRefusal(await logIn(b(), mine.user), 401, 'AUTH_INVALID_CREDENTIALS');
    const renewed = { username: mine.user.name, password: change.password };
    readData(await logIn(b(), mine.user, { body: renewed }));
  });

  test('a wrong current password is 400 and ends no session', async () => {
    const mine = await start();
    const change = { original_password: 'a wrong password', password: 'another good password' };
    const reply = await ask(b(), '/api/user/self', { ...as(mine, 'PUT', change) });
    expect([reply.status, reply.body.code]).toEqual([400, 'AUTH_PASSWORD_INVALID']);
    expectUntouched(reply);
    await expectAlive(mine);
  });

  test('a password reset ends every session on both nodes and keeps the issuance count', async () => {
    const sessions = [await start()];
    const [{ user }] = sessions as [SignedIn];
    for (let i = 1; i < LIMITS.active; i += 1) sessions.push(await start(user));
    await expectAlive(...sessions);
    const reset = await runBeside(a(), ['admin', 'reset-password', '--username', user.name, '--password-stdin'], {
      env: { REDIS_URL: open().redisUrl, ...SECRETS },
      stdin: ROOT.password,
    });
    expect(reset).toMatchObject({ code: 0 });
    for (const session of sessions) {
      expect(await row(session.sid)).toMatchObject({ status: 'revoked', revoked_reason: 'password_reset' });
      await expectDead(session);
    }
    for (let i = LIMITS.active; i < LIMITS.issued; i += 1) await signIn(b(), user);
    expectRefusal(await logIn(b(), user), 429, 'AUTH_SESSION_ISSUANCE_LIMIT');
  });

  test('a change of group ends no session', async () => {
    const session = await start();
    await expectAlive(session);
    await open().db.run(`update users set "group" = 'vip' where id = ${session.user.id}`);
    await expectAlive(session);
    expect(readData<Bundle>(await refresh(session)).user).toMatchObject({ group: 'vip' });
    expect((await row(session.sid)).user_auth_version).toBe(1);
  });

  test('an expired session is refused wherever the database is read, and its row stays', async () => {
    const session = await start();
    const other = await start(session.user);
    await change(other.sid, `expires_at = ${unixNow() - 1}`);
    // A cache may still have the former end, since only the test moves it by hand.
    if (name !== 'PostgreSQL with Redis') for (const node of [a(), b()]) expect(await opens(node, other)).toBe(false);
    expectRefusal(await refresh(other), 401, 'AUTH_SESSION_REVOKED');
    expectRefusal(await remove(session, other.sid), 404, 'AUTH_SESSION_NOT_FOUND');
    expect((await list(session)).map(({ sid }) => sid)).toEqual([session.sid]);
    expect((await row(other.sid)).status).toBe('active');
  });

  test('the current session cannot be used by an access token of another user or session', async () => {
    const [mine, foreign] = [await start(), await start()];
    const [head = '', , signature = ''] = mine.access.split('.');
    const [, payload = ''] = foreign.access.split('.');
    const reply = await ask(b(), '/api/user/self', { method: 'GET', bearer: `${head}.${payload}.${signature}` });
    expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
  });

  test('a personal access token can neither list nor end sessions', async () => {
    const session = await start();
    const token = `tgp_${crypto.randomUUID().replaceAll('-', '')}${crypto.randomUUID().replaceAll('-', '')}`;
    const hash = new Bun.CryptoHasher('sha256').update(token).digest('hex');
    await open().db.run(`update users set access_token = '${hash}' where id = ${session.user.id}`);
    for (const authorization of [`Bearer ${token}`, token]) {
      const asked = { headers: { authorization }, ip: session.user.ip };
      for (const node of [a(), b()]) {
        const self = await ask(node, '/api/user/self', { method: 'GET', ...asked });
        expect(readData<{ id: number }>(self).id).toBe(session.user.id);
      }
      for (const [method, path] of [
        ['GET', SESSIONS],
        ['DELETE', `${SESSIONS}/${session.sid}`],
        ['POST', `${SESSIONS}/revoke-others`],
      ] as const) {
        const reply = await ask(b(), path, { method, ...asked });
        expectRefusal(reply, 403, 'AUTH_SESSION_REQUIRED');
        expectUntouched(reply);
      }
      const refreshed = await ask(b(), REFRESH, { ...asked });
      expectRefusal(refreshed, 401, 'AUTH_UNAUTHORIZED');
    }
    await expectAlive(session);
  });

  test.each([
    ['GET', SESSIONS],
    ['DELETE', `${SESSIONS}/00000000-0000-4000-8000-000000000000`],
    ['POST', `${SESSIONS}/revoke-others`],
  ])('%s %s without credentials, or with the cookie alone, is 401', async (method, path) => {
    const session = await start();
    for (const refresh of [undefined, session.refresh]) {
      const reply = await ask(b(), path, { method, refresh, ip: session.user.ip });
      expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
      expectUntouched(reply);
    }
  });
}
