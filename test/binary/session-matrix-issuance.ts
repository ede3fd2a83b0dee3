import { expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { until } from '../support/until.ts';
import {
  addUser,
  ask,
  type Bundle,
  expectQuarterHour,
  expectRefusal,
  expectUntouched,
  expectWritten,
  holdAt,
  LIMITS,
  logIn,
  opens,
  REFRESH,
  readData,
  readRow,
  SESSIONS,
  signIn,
  type TestUser,
  type Topology,
  type TopologyName,
  unixNow,
} from './session-matrix-nodes.ts';

const DAY = 86_400;

export function describeIssuance(name: TopologyName, open: () => Topology): void {
  const countRows = async ({ db }: Topology, user: TestUser) =>
    Number((await db.run(`select count(*) as n from user_sessions where user_id = ${user.id}`))[0]?.n);

  test('a login gives the unified result, both cookies, and a row that holds no secret', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    const reply = await logIn(nodes[0], user, { headers: { 'user-agent': 'first browser' } });
    const bundle = readData<Bundle>(reply);
    const token = expectWritten(reply);
    const { created_at } = bundle.session;
    expect(created_at).toBeGreaterThanOrEqual(reply.sent);
    expect(created_at).toBeLessThanOrEqual(reply.answered);
    expect(bundle).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      access_expires_at: expect.any(Number),
      user: expect.objectContaining({ id: user.id, username: user.name, role: 1, status: 1 }),
      session: {
        sid: expect.any(String),
        current: true,
        login_method: 'password',
        ip: user.ip,
        user_agent: 'first browser',
        created_at,
        last_active_at: created_at,
        expires_at: created_at + 30 * DAY,
      },
    });
    expectQuarterHour(bundle.access_expires_at, reply);
    expect(decodeProtectedHeader(bundle.access_token)).toEqual({ alg: 'HS256', typ: 'JWT' });
    const claims = { sid: bundle.session.sid, sub: `${user.id}`, uv: 1, sv: 1, exp: bundle.access_expires_at };
    expect(decodeJwt(bundle.access_token)).toMatchObject(claims);

    const row = await readRow(db, bundle.session.sid);
    expect(row).toMatchObject({
      user_id: user.id,
      status: 'active',
      version: 1,
      user_auth_version: 1,
      login_method: 'password',
      previous_refresh_hash: null,
      revoked_at: 0,
      expires_at: created_at + 30 * DAY,
    });
    expect(row.refresh_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(token.split('.')[1] ?? '');
    expect(reply.body).not.toHaveProperty('data.refresh_token');
    expect(JSON.stringify(reply.body)).not.toContain(token.split('.')[1] ?? '');
  });

  test('a login while signed in makes a new session and leaves the old one', async () => {
    const { nodes, db } = open();
    const first = await signIn(nodes[0], await addUser(db));
    const before = await readRow(db, first.sid);
    const reply = await logIn(nodes[1], first.user, { refresh: first.refresh, bearer: first.access, sid: first.sid });
    const second = readData<Bundle>(reply).session.sid;
    expect(expectWritten(reply)).not.toBe(first.refresh);
    expect(second).not.toBe(first.sid);
    expect(await readRow(db, first.sid)).toEqual(before);
    expect(await opens(nodes[1], first)).toBe(true);
  });

  test('a refused login issues nothing and touches no cookie', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    const signedIn = await signIn(nodes[0], user);
    const body = { username: user.name, password: 'a wrong password' };
    const wrong = await logIn(nodes[1], user, { body, refresh: signedIn.refresh });
    expectRefusal(wrong, 401, 'AUTH_INVALID_CREDENTIALS');
    expectUntouched(wrong);
    expect(await countRows(open(), user)).toBe(1);
    expect(await opens(nodes[0], signedIn)).toBe(true);
  });

  test('the active limit counts both nodes: 409, nothing is issued, and revoke-others lowers the count', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    const first = await signIn(nodes[0], user);
    for (let i = 1; i < LIMITS.active; i += 1) await signIn(nodes[i % 2] ?? nodes[0], user);
    await db.run(`update users set last_login_at = 77 where id = ${user.id}`);
    for (const node of nodes) {
      const refused = await logIn(node, user, { refresh: first.refresh });
      expectRefusal(refused, 409, 'AUTH_SESSION_LIMIT');
      expectUntouched(refused);
    }
    expect(await countRows(open(), user)).toBe(LIMITS.active);
    const [seen] = await db.run(`select last_login_at as at from users where id = ${user.id}`);
    expect(Number(seen?.at)).toBe(77);
    expect(await opens(nodes[1], first)).toBe(true);

    const cleared = await ask(nodes[1], `${SESSIONS}/revoke-others`, { bearer: first.access, ip: user.ip });
    expect(readData<unknown>(cleared)).toEqual({ revoked_count: LIMITS.active - 1 });
    await signIn(nodes[0], user);
  });

  test('the active limit counts sessions of older auth versions, and neither expired nor revoked ones', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    const sessions = [];
    for (let i = 0; i < LIMITS.active; i += 1) sessions.push(await signIn(nodes[0], user));
    await db.run(`update users set auth_version = auth_version + 1 where id = ${user.id}`);
    expectRefusal(await logIn(nodes[1], user), 409, 'AUTH_SESSION_LIMIT');
    await db.run(`update user_sessions set expires_at = ${unixNow() - 1} where sid = '${sessions[0]?.sid}'`);
    await signIn(nodes[1], user);
    expectRefusal(await logIn(nodes[1], user), 409, 'AUTH_SESSION_LIMIT');
    await db.run(`update user_sessions set status = 'revoked', revoked_at = 1 where sid = '${sessions[1]?.sid}'`);
    await signIn(nodes[0], user);
  });

  test('an account that is already over the active limit keeps its sessions', async () => {
    const { nodes, db } = open();
    const session = await signIn(nodes[0], await addUser(db));
    for (let i = 0; i < LIMITS.active + 2; i += 1) {
      await db.run(
        `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
         last_active_at, expires_at) select '${crypto.randomUUID()}', user_id, user_auth_version, status, refresh_hash,
         login_method, ip, user_agent, 1, last_active_at, expires_at from user_sessions where sid = '${session.sid}'`,
      );
    }
    expectRefusal(await logIn(nodes[1], session.user), 409, 'AUTH_SESSION_LIMIT');
    expect(await opens(nodes[1], session)).toBe(true);
    const refreshed = await ask(nodes[1], REFRESH, { refresh: session.refresh, ip: session.user.ip });
    expect(readData<Bundle>(refreshed).session.sid).toBe(session.sid);
  });

  test('the issuance limit counts revoked and old-version sessions of the window: 429 with Retry-After', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    let session = await signIn(nodes[0], user);
    for (let i = 1; i < LIMITS.issued; i += 1) {
      const bearer = session.access;
      readData(await ask(nodes[0], `${SESSIONS}/${session.sid}`, { method: 'DELETE', bearer, ip: user.ip }));
      session = await signIn(nodes[i % 2] ?? nodes[0], user);
    }
    await db.run(`update users set auth_version = auth_version + 1 where id = ${user.id}`);
    for (const node of nodes) {
      const refused = await logIn(node, user);
      expectRefusal(refused, 429, 'AUTH_SESSION_ISSUANCE_LIMIT');
      expectUntouched(refused);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(LIMITS.window);
    }
    expect(await countRows(open(), user)).toBe(LIMITS.issued);

    // One of them leaves the window.
    const before = unixNow() - LIMITS.window - 1;
    await db.run(`update user_sessions set created_at = ${before} where sid = '${session.sid}'`);
    await signIn(nodes[1], user);
    expectRefusal(await logIn(nodes[0], user), 429, 'AUTH_SESSION_ISSUANCE_LIMIT');
  });

  test('with both limits reached the active one is reported, since the user can act on it', async () => {
    const { nodes, db } = open();
    const user = await addUser(db);
    const { sid } = await signIn(nodes[0], user);
    for (let i = 0; i < LIMITS.issued; i += 1) {
      await db.run(
        `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
         last_active_at, expires_at) select '${crypto.randomUUID()}', user_id, user_auth_version, status, refresh_hash,
         login_method, ip, user_agent, created_at, last_active_at, expires_at from user_sessions where sid = '${sid}'`,
      );
    }
    expectRefusal(await logIn(nodes[1], user), 409, 'AUTH_SESSION_LIMIT');
  });

  if (name === 'SQLite') return;
  test('a count that fails rejects the login: 503, nothing is issued, no cookie is touched', async () => {
    const { secure, db } = open();
    const user = await addUser(db);
    const held = await holdAt(open(), 'count(', () => logIn(secure, user, { secure: true }));
    const refused = await held.cut();
    expectRefusal(refused, 503, 'AUTH_UNAVAILABLE');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expectUntouched(refused);
    expect(await countRows(open(), user)).toBe(0);
    await until('the login works again', async () => (await logIn(secure, user, { secure: true })).status === 200);
  });
}
