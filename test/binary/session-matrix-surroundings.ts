import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { ROOT } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  addUser,
  ask,
  askRaw,
  type Bundle,
  expectCleared,
  expectRefusal,
  expectUntouched,
  expectWritten,
  freshAddress,
  LIMITS,
  LOGOUT,
  logIn,
  opens,
  PANEL_ORIGIN,
  REFRESH,
  type Reply,
  readData,
  readRow,
  refreshName,
  SESSIONS,
  type SignedIn,
  signIn,
  type Topology,
  type TopologyName,
} from './session-matrix-nodes.ts';

export function describeSurroundings(name: TopologyName, open: () => Topology): void {
  const start = async (): Promise<SignedIn> => signIn(open().nodes[0], await addUser(open().db));
  const startSecure = async (): Promise<SignedIn> => signIn(open().secure, await addUser(open().secureDb), true);
  const secureRow = (sid: string) => readRow(open().secureDb, sid);

  // Secure mode.

  test('secure mode: login, refresh and logout carry the secure cookies, exactly', async () => {
    const { secure } = open();
    const session = await startSecure();
    const options = { refresh: session.refresh, ip: session.user.ip, sid: session.sid };
    const refreshed = await ask(secure, REFRESH, { ...options, secure: true });
    const next = expectWritten(refreshed, true);
    expect(next).not.toBe(session.refresh);
    const missing = await ask(secure, REFRESH, { secure: true });
    expectRefusal(missing, 401, 'AUTH_UNAUTHORIZED');
    expectCleared(missing, true);
    const out = await ask(secure, LOGOUT, { ...options, refresh: next, secure: true });
    expect(readData<unknown>(out)).toEqual({ revoked_sid: null, cookie_cleared: true });
    expectCleared(out, true);
    expect(await opens(secure, session)).toBe(false);
  });

  test('secure mode: the cookie without its prefix, which any plain-http page could set, is not read', async () => {
    const { secure } = open();
    const session = await startSecure();
    for (const name of ['svc_refresh', refreshName(session.refresh, true).replace('__Secure-', '')]) {
      const headers = { cookie: `${name}=${session.refresh}` };
      const reply = await ask(secure, REFRESH, { headers, ip: session.user.ip, secure: true });
      expectRefusal(reply, 401, 'AUTH_UNAUTHORIZED');
    }
    expect((await secureRow(session.sid)).status).toBe('active');
  });

  const OWN = 'own';
  const origins: [what: string, headers: string[], passes: boolean][] = [
    ['the trusted origin', [`Origin: ${PANEL_ORIGIN}`], true],
    ['its own exact origin', [`Origin: ${OWN}`], true],
    ['a trusted referer alone', [`Referer: ${PANEL_ORIGIN}/account?x=1`], true],
    ['its own referer alone', [`Referer: ${OWN}/account`], true],
    ['neither Origin nor Referer', [], false],
    ['another site', ['Origin: https://evil.example'], false],
    ['an opaque origin', ['Origin: null'], false],
    ['an opaque origin beside a trusted referer', ['Origin: null', `Referer: ${PANEL_ORIGIN}/`], false],
    ['an empty origin beside a trusted referer', ['Origin:', `Referer: ${PANEL_ORIGIN}/`], false],
    ['another site beside a trusted referer', ['Origin: https://evil.example', `Referer: ${PANEL_ORIGIN}/`], false],
    ['two origins, the trusted first', [`Origin: ${PANEL_ORIGIN}`, 'Origin: https://evil.example'], false],
    ['two origins, the trusted last', ['Origin: https://evil.example', `Origin: ${PANEL_ORIGIN}`], false],
    ['the trusted origin twice', [`Origin: ${PANEL_ORIGIN}`, `Origin: ${PANEL_ORIGIN}`], false],
    ['two origins in one', [`Origin: ${PANEL_ORIGIN}, https://evil.example`], false],
    ['two referers, the trusted first', [`Referer: ${PANEL_ORIGIN}/`, 'Referer: https://evil.example/'], false],
    ['two referers, the trusted last', ['Referer: https://evil.example/', `Referer: ${PANEL_ORIGIN}/`], false],
    ['two referers, one no address', [`Referer: ${PANEL_ORIGIN}/`, 'Referer: about:blank'], false],
    ['a referer with user info', ['Referer: https://panel.example.com:x@evil.example/'], false],
    ['a foreign referer that quotes the trusted one', [`Referer: https://evil.example/?${PANEL_ORIGIN}/`], false],
    ['a subdomain', ['Origin: https://x.panel.example.com'], false],
    ['the trusted name, continued', ['Origin: https://panel.example.com.evil.example'], false],
    ['another port', [`Origin: ${PANEL_ORIGIN}:8443`], false],
    ['the trusted name over http', ['Origin: http://panel.example.com'], false],
    ['a forged X-Forwarded-Proto', ['Origin: own-over-https', 'X-Forwarded-Proto: https'], false],
    ['a forged X-Forwarded-Host', ['Origin: http://evil.example', 'X-Forwarded-Host: evil.example'], false],
    ['a forged Forwarded', ['Origin: https://evil.example', 'Forwarded: host=evil.example;proto=https'], false],
    ['a second Host', ['Origin: http://evil.example', 'Host: evil.example'], false],
    ['a Host with user info', ['Origin: http://evil.example', 'Host: x@evil.example'], false],
  ];
  test('secure mode: only the origin admits refresh and logout: 403 changes and clears nothing', async () => {
    const { secure } = open();
    let session = await startSecure();
    const own = `127.0.0.1:${secure.port}`;
    const send = (path: string, headers: readonly string[], token: string) =>
      askRaw(secure, `POST ${path}`, [
        `Host: ${own}`,
        `X-Forwarded-For: ${session.user.ip}`,
        `Cookie: ${refreshName(token, true)}=${token}`,
        ...headers.map((line) => line.replace('own-over-https', `https://${own}`).replace(/: own/, `: http://${own}`)),
      ]);
    for (const [what, headers, passes] of origins) {
      for (const path of [REFRESH, LOGOUT]) {
        const before = await secureRow(session.sid);
        const answer = await send(path, headers, session.refresh);
        const [status] = answer.split('\r\n');
        if (passes) {
          expect([what, path, status]).toEqual([what, path, 'HTTP/1.1 200 OK']);
          expect((await secureRow(session.sid)).status).toBe(path === REFRESH ? 'active' : 'revoked');
          if (path === LOGOUT) session = await startSecure();
        } else {
          expect([what, path, status]).toEqual([what, path, expect.stringMatching(/^HTTP\/1.1 40[03] /)]);
          expect(answer.toLowerCase()).not.toContain('set-cookie');
          expect(await secureRow(session.sid)).toEqual(before);
          if (status?.includes(' 403 ')) expect(answer).toMatch(/"code":"(?:AUTH_ORIGIN|HOST)_FORBIDDEN"/);
        }
        expect(answer.toLowerCase()).not.toContain('access-control-');
      }
    }
  });

  test('plain mode: the origin is not checked', async () => {
    const session = await start();
    for (const origin of ['https://evil.example', 'null', '']) {
      const headers = { origin };
      const reply = await ask(open().nodes[1], REFRESH, { refresh: session.refresh, ip: session.user.ip, headers });
      expectWritten(reply);
    }
  });

  // The client's address, as a real connection brings it.

  test('X-Forwarded-For: lines are joined, read from the right, and end at the first that is not an address', async () => {
    const { nodes, db } = open();
    const rows: [lines: string[], client: string][] = [
      [[], '127.0.0.1'],
      [['X-Forwarded-For: 203.0.113.9'], '203.0.113.9'],
      [['X-Forwarded-For: 1.2.3.4', 'X-Forwarded-For: 203.0.113.9'], '203.0.113.9'],
      [['X-Forwarded-For: 203.0.113.9', 'X-Forwarded-For: 10.0.0.3'], '203.0.113.9'],
      [['X-Forwarded-For: 1.2.3.4, 203.0.113.9', 'X-Forwarded-For: 10.0.0.3', 'X-Forwarded-For: ::1'], '203.0.113.9'],
      [['X-Forwarded-For: 203.0.113.9', 'X-Forwarded-For: unknown, 10.0.0.3'], '10.0.0.3'],
      [['X-Forwarded-For: 192.168.0.9', 'X-Forwarded-For: 10.0.0.3'], '192.168.0.9'],
      [['X-Forwarded-For: 203.0.113.9, <script>'], '127.0.0.1'],
      [['X-Forwarded-For: ::ffff:203.0.113.9'], '203.0.113.9'],
      [['X-Real-IP: 1.2.3.4', 'Forwarded: for=1.2.3.4', 'CF-Connecting-IP: 1.2.3.4'], '127.0.0.1'],
    ];
    const session = await start();
    let token = session.refresh;
    for (const [lines, client] of rows) {
      const cookie = `Cookie: ${refreshName(token)}=${token}`;
      const answer = await askRaw(nodes[1], `POST ${REFRESH}`, ['Host: localhost', cookie, ...lines]);
      token = /svc_refresh_\w{6}=([^;]+)/.exec(answer)?.[1] ?? '';
      expect([lines, (await readRow(db, session.sid)).ip]).toEqual([lines, client]);
    }
  });

  // Limits by address.

  test('the Critical limit: 429 RATE_LIMITED in JSON with Retry-After clears nothing; shared where the cache is', async () => {
    const { nodes } = open();
    const ip = freshAddress();
    const session = await start();
    const spend = (node: 0 | 1, count: number): Promise<Reply[]> =>
      Promise.all(Array.from({ length: count }, () => ask(nodes[node], REFRESH, { ip })));
    // Without a shared cache each node counts for itself.
    const shared = name !== 'PostgreSQL';
    const spent = shared
      ? [await spend(0, LIMITS.critical / 2), await spend(1, LIMITS.critical / 2)]
      : [await spend(0, LIMITS.critical)];
    for (const reply of spent.flat()) expect(reply.status).toBe(401);
    const body = { username: session.user.name, password: ROOT.password };
    const asked: [path: string, options: object][] = [
      [REFRESH, { refresh: session.refresh }],
      [LOGOUT, { refresh: session.refresh, bearer: session.access }],
      ['/api/user/login', { refresh: session.refresh, body }],
    ];
    for (const node of shared ? nodes : [nodes[0]]) {
      for (const [path, options] of asked) {
        const reply = await ask(node, path, { ip, ...options });
        expectRefusal(reply, 429, 'RATE_LIMITED');
        expectUntouched(reply);
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(1200);
      }
    }
    if (!shared) expect((await ask(nodes[1], REFRESH, { ip })).status).toBe(401);
    // Other routes are served, and so is the session from another address.
    const listed = await ask(nodes[0], SESSIONS, { method: 'GET', bearer: session.access, ip });
    expect(listed.status).toBe(200);
    expectWritten(await ask(nodes[1], REFRESH, { refresh: session.refresh, ip: session.user.ip }));
  });

  // Failures.

  const expectUnavailable = (reply: Reply): void => {
    expectRefusal(reply, 503, 'AUTH_UNAVAILABLE');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(String(reply.body.message)).not.toMatch(/sql|postgres|redis|host|port/i);
    expectUntouched(reply);
  };

  test('the database is unreachable: 503 AUTH_UNAVAILABLE with Retry-After everywhere, and nobody is logged out', async () => {
    const { secure, secureDb, database } = open();
    const session = await startSecure();
    const { refresh, access: bearer, user, sid } = session;
    const before = await secureRow(sid);
    const refreshed = () => ask(secure, REFRESH, { refresh, ip: user.ip, sid, secure: true });
    const loggedOut = (asked: object = {}) => ask(secure, LOGOUT, { refresh, ip: user.ip, ...asked, secure: true });
    const loggedIn = () => logIn(secure, user, { refresh, secure: true });
    if (database) {
      await database.away.cut();
      const panel = (method: string, path: string) => ask(secure, path, { method, bearer, ip: user.ip, secure: true });
      const replies = await Promise.all([
        refreshed(),
        loggedOut(),
        loggedOut({ bearer }),
        loggedIn(),
        panel('GET', '/api/user/self'),
        panel('GET', SESSIONS),
        panel('DELETE', `${SESSIONS}/${sid}`),
        panel('POST', `${SESSIONS}/revoke-others`),
      ]);
      for (const reply of replies) expectUnavailable(reply);
      await database.away.mend();
    } else {
      const blocker = new Database(join(secure.dataDir, 'taskgate.db'));
      blocker.run('pragma busy_timeout = 5000');
      blocker.run('begin immediate');
      try {
        // Each waits five seconds for the lock.
        for (const reply of await Promise.all([refreshed(), loggedIn()])) expectUnavailable(reply);
      } finally {
        blocker.run('rollback');
        blocker.close();
      }
    }
    await until(
      'the gateway has its database again',
      async () => (await ask(secure, '/readyz', { method: 'GET' })).status === 200,
    );
    expect(await secureRow(sid)).toEqual(before);
    expect(await secureDb.run(`select count(*) as n from user_sessions where user_id = ${user.id}`)).toMatchObject([
      { n: name === 'SQLite' ? 1 : '1' },
    ]);
    const back = await until('the refresh works again', async () => {
      const reply = await refreshed();
      if (reply.status !== 200) expectUnavailable(reply);
      return reply.status === 200 && reply;
    });
    expectWritten(back, true);
    expect(await opens(secure, { user, access: readData<Bundle>(back).access_token })).toBe(true);
  });

  test('nothing of a sign-in reaches the log: no password, no token of any generation', async () => {
    const { nodes } = open();
    const first = await start();
    const secrets = [first.access, first.refresh];
    for (const node of nodes) {
      const reply = await ask(node, REFRESH, { refresh: secrets.at(-1) ?? '', ip: first.user.ip });
      secrets.push(readData<Bundle>(reply).access_token, expectWritten(reply));
    }
    await ask(nodes[0], REFRESH, { refresh: `${first.sid}.${'b'.repeat(64)}`, ip: first.user.ip });
    const bearer = secrets.at(-2) ?? '';
    readData(await ask(nodes[1], LOGOUT, { refresh: secrets.at(-1), bearer, ip: first.user.ip }));
    const { access, refresh } = await startSecure();
    secrets.push(access, refresh, 'b'.repeat(64), ROOT.password);
    for (const node of new Set([...nodes, open().secure])) {
      // The log is complete up to a request that comes after all others.
      const marker = `/api/${crypto.randomUUID()}`;
      await ask(node, marker, { method: 'GET' });
      await node.logged(marker);
      const log = node.log();
      for (const secret of secrets.flatMap((token) => [token, token.split('.').at(-1) ?? token])) {
        expect(log.includes(secret)).toBe(false);
      }
    }
  });
}
