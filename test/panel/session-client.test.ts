import { describe, expect, test } from 'bun:test';
import { ApiError } from '../../src/panel/api/api-error.ts';
import type { ApiRequest, SendRequest } from '../../src/panel/api/send-request.ts';
import type { SessionBundle } from '../../src/panel/api/types.ts';
import { watchConnection } from '../../src/panel/session/connection.ts';
import { createSession } from '../../src/panel/session/session.ts';
import type { TabEvent } from '../../src/panel/session/sync-tabs.ts';

const refreshPath = '/api/user/auth/refresh';
const logoutPath = '/api/user/auth/logout';

function bundle(sid: string, token = `token-of-${sid}`): SessionBundle {
  return {
    access_token: token,
    token_type: 'Bearer',
    access_expires_at: 900,
    user: {
      id: 1,
      username: 'root',
      display_name: 'root',
      role: 100,
      status: 1,
      email: null,
      language: 'en',
      has_password: true,
      two_factor: false,
      passkeys: 0,
      bindings: [],
      group: 'default',
      quota: 0,
      used_quota: 0,
      request_count: 0,
    },
    session: {
      sid,
      current: true,
      login_method: 'password',
      ip: '127.0.0.1',
      user_agent: '',
      created_at: 0,
      last_active_at: 0,
      expires_at: 100_000,
    },
  };
}

type Answer = unknown | ApiError | (() => Promise<unknown>);

/** A session whose server returns these answers in order, per path; the last one repeats. */
function setUp(answers: Record<string, Answer[]>, { hint = false } = {}) {
  let nowMs = 0;
  const requests: ApiRequest[] = [];
  const published: TabEvent[] = [];
  let reloads = 0;
  let dispatch: (event: TabEvent) => void = () => {};
  const send = (async (request: ApiRequest) => {
    requests.push(request);
    const list = answers[request.path] ?? [];
    const answer = list.length > 1 ? list.shift() : list[0];
    if (answer instanceof ApiError) throw answer;
    return typeof answer === 'function' ? answer() : answer;
  }) as SendRequest;
  const session = createSession({
    send,
    tabs: { publish: (event) => published.push(event), subscribe: (listener) => (dispatch = listener) },
    hasHint: () => hint,
    reload: () => {
      reloads += 1;
    },
    now: () => nowMs,
  });
  const wait = (seconds: number): void => {
    nowMs += seconds * 1000;
  };
  return {
    wait,
    session,
    asked: requests,
    published,
    hear: (event: TabEvent) => dispatch(event),
    reloads: () => reloads,
  };
}

const refused = (status: number, code: string) => new ApiError({ status, code, message: code });

describe('cold start', () => {
  test("restores the cookie's session without naming one", async () => {
    const { session, asked: requests } = setUp({ [refreshPath]: [bundle('a')] });
    await session.restore();
    expect(session.read().bundle?.session.sid).toBe('a');
    expect(requests[0]?.headers).toBeUndefined();
  });

  test('asks once for concurrent callers', async () => {
    const { session, asked: requests } = setUp({ [refreshPath]: [() => Bun.sleep(5).then(() => bundle('a'))] });
    await Promise.all([session.restore(), session.restore(), session.restore()]);
    await session.restore();
    expect(requests).toHaveLength(1);
  });

  test('a rejected cookie means anonymous, and is not asked again', async () => {
    const { session, asked: requests } = setUp({ [refreshPath]: [refused(401, 'AUTH_UNAUTHORIZED')] });
    await session.restore();
    await session.restore();
    expect(session.read().phase).toBe('anonymous');
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['AUTH_SESSION_REVOKED', true, 'revoked'],
    ['AUTH_UNAUTHORIZED', true, 'expired'],
    ['AUTH_UNAUTHORIZED', false, null],
  ] as const)('%p with a previous session (%p): the reason is %p', async (code, hint, end) => {
    const { session } = setUp({ [refreshPath]: [refused(401, code)] }, { hint });
    await session.restore();
    expect(session.read()).toEqual({ phase: 'anonymous', bundle: null, end });
  });

  test.each([
    [0, 'UNREACHABLE'],
    [403, 'AUTH_ORIGIN_FORBIDDEN'],
    [409, 'AUTH_SESSION_MISMATCH'],
    [429, 'RATE_LIMITED'],
    [503, 'AUTH_UNAVAILABLE'],
  ])('a failure (%p %p) leaves the phase unknown: the next try may succeed', async (status, code) => {
    const { session } = setUp({ [refreshPath]: [refused(status, code), bundle('a')] });
    await expect(session.restore()).rejects.toThrow(code);
    expect(session.read().phase).toBe('unknown');
    await session.restore();
    expect(session.read().phase).toBe('signed_in');
  });
});

describe('renewal', () => {
  async function signedIn(answers: Record<string, Answer[]>) {
    const all = setUp({ '/api/user/auth/login': [bundle('a')], ...answers });
    await all.session.signIn('root', 'secret');
    return all;
  }

  test('a rejected access token is renewed once and the request repeated', async () => {
    const { session, asked: requests } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [bundle('a', 'second')],
    });
    expect(await session.send<{ id: number }>({ method: 'GET', path: '/api/user/self' })).toEqual({ id: 1 });
    expect(requests.at(-1)?.headers?.authorization).toBe('Bearer second');
    expect(requests.find((request) => request.path === refreshPath)?.headers).toEqual({ 'x-auth-session': 'a' });
  });

  test('an access token is renewed before its last minute, not after every request', async () => {
    const {
      session,
      asked: requests,
      wait,
    } = await signedIn({
      '/api/user/self': [{ id: 1 }],
      [refreshPath]: [bundle('a', 'second')],
    });
    const readSelf = () => session.send({ method: 'GET', path: '/api/user/self' });
    wait(800);
    await readSelf();
    expect(requests.at(-1)?.headers?.authorization).toBe('Bearer token-of-a');
    wait(50);
    await Promise.all([readSelf(), readSelf()]);
    await readSelf();
    expect(requests.at(-1)?.headers?.authorization).toBe('Bearer second');
    expect(requests.filter((request) => request.path === refreshPath)).toHaveLength(1);
  });

  test.each([
    [0, 'UNREACHABLE'],
    [429, 'RATE_LIMITED'],
    [503, 'AUTH_UNAVAILABLE'],
  ])('a failure (%p %p) keeps the session, and the token is used until it expires', async (status, code) => {
    const {
      session,
      asked: requests,
      wait,
    } = await signedIn({
      '/api/user/self': [{ id: 1 }, refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [refused(status, code), refused(status, code), refused(status, code), bundle('a', 'second')],
    });
    const readSelf = () => session.send<{ id: number }>({ method: 'GET', path: '/api/user/self' });
    wait(870);
    expect(await readSelf()).toEqual({ id: 1 });
    await expect(readSelf()).rejects.toThrow(code);
    expect(session.read()).toMatchObject({ phase: 'signed_in', bundle: { session: { sid: 'a' } } });
    expect(await readSelf()).toEqual({ id: 1 });
    expect(requests.at(-1)?.headers?.authorization).toBe('Bearer second');
  });

  test('after the session ended, no renewal is attempted', async () => {
    const { session, asked: requests } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_SESSION_REVOKED')],
      [refreshPath]: [refused(401, 'AUTH_SESSION_REVOKED')],
    });
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow();
    }
    expect(session.read().end).toBe('revoked');
    expect(requests.filter((request) => request.path === refreshPath)).toHaveLength(1);
  });

  test('the session adopts the answer to a change of the own account', async () => {
    const { session, asked: requests, wait } = await signedIn({ '/api/user/self': [{ id: 1 }] });
    wait(850);
    const { user, ...rotation } = bundle('a', 'rotated');
    session.adopt(rotation);
    session.adopt({ user: { ...user, display_name: 'Ada' } });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(requests.at(-1)?.headers?.authorization).toBe('Bearer rotated');
    expect(requests.filter((request) => request.path === refreshPath)).toEqual([]);
    expect(session.read().bundle?.user.display_name).toBe('Ada');
  });

  test('a late answer for another user or session changes nothing', async () => {
    const { session } = await signedIn({});
    const before = session.read();
    const { user, ...rotation } = bundle('b', 'of-another-session');
    session.adopt(rotation);
    session.adopt({ user: { ...user, id: user.id + 1, display_name: 'Eve' } });
    expect(session.read()).toEqual(before);
  });

  test('a second 401 ends it: no endless loop', async () => {
    const { session, asked: requests } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_UNAUTHORIZED')],
      [refreshPath]: [bundle('a', 'second')],
    });
    await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow('AUTH_UNAUTHORIZED');
    expect(requests.filter((request) => request.path === '/api/user/self')).toHaveLength(2);
  });

  test('a revoked session becomes anonymous and the other tabs are notified', async () => {
    const { session, published } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_SESSION_REVOKED')],
      [refreshPath]: [refused(401, 'AUTH_SESSION_REVOKED')],
    });
    await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow();
    expect(session.read().phase).toBe('anonymous');
    expect(published.at(-1)).toEqual({ kind: 'signed_out', sid: 'a' });
  });

  test('a cookie of another login is adopted after one request without the old session', async () => {
    const { session, asked: requests } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 2 }],
      [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), bundle('b')],
    });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(session.read().bundle?.session.sid).toBe('b');
    const refreshes = requests.filter((request) => request.path === refreshPath);
    expect(refreshes.map((request) => request.headers)).toEqual([{ 'x-auth-session': 'a' }, undefined]);
  });

  test.each([
    ['refused', 0],
    ['about to end', 860],
  ])(
    'a cookie of another user reloads the page; a request with a token %s is not repeated in their name',
    async (_, seconds) => {
      const other = bundle('b');
      const {
        session,
        asked: requests,
        reloads,
        wait,
      } = await signedIn({
        '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 2 }],
        [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), { ...other, user: { ...other.user, id: 2 } }],
      });
      wait(seconds);
      const request = session.send({ method: 'PUT', path: '/api/user/self', body: { display_name: 'Ada' } });
      await expect(request).rejects.toThrow('ended.revoked');
      expect(reloads()).toBe(1);
      const changes = requests.filter(({ path }) => path === '/api/user/self');
      expect(changes.filter(({ headers }) => headers?.authorization === 'Bearer token-of-b')).toEqual([]);
    },
  );

  test('a lost refresh race is retried', async () => {
    const { session } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [refused(409, 'AUTH_REFRESH_RACE'), refused(409, 'AUTH_REFRESH_RACE'), bundle('a', 'second')],
    });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(session.read().bundle?.access_token).toBe('second');
  });

  test('an answer overtaken by a logout does not sign in again', async () => {
    let release: (value: SessionBundle) => void = () => {};
    const { session, asked: requests } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED')],
      [refreshPath]: [() => new Promise<SessionBundle>((resolve) => (release = resolve))],
      [logoutPath]: [null],
    });
    const pending = session.send({ method: 'GET', path: '/api/user/self' }).catch(() => null);
    while (!requests.some((request) => request.path === refreshPath)) await Bun.sleep(1);
    await session.signOut();
    release(bundle('a', 'late'));
    await pending;
    expect(session.read().phase).toBe('anonymous');
  });
});

describe('the second factor', () => {
  test('a password alone does not sign in; the code does', async () => {
    const due = { require_2fa: true, flow_token: 'a flow', expires_at: 1 };
    const {
      session,
      asked: requests,
      published,
    } = setUp({
      '/api/user/auth/login': [due],
      '/api/user/login/2fa': [refused(400, 'AUTH_CODE_INVALID'), bundle('a')],
    });
    expect(await session.signIn('root', 'secret')).toBe('a flow');
    expect(session.read().phase).toBe('unknown');
    await expect(session.finishSignIn('a flow', '000000')).rejects.toThrow('AUTH_CODE_INVALID');
    expect(session.read().phase).toBe('unknown');
    await session.finishSignIn('a flow', '123456');
    expect(requests.at(-1)?.body).toEqual({ flow_token: 'a flow', code: '123456' });
    expect(session.read().bundle?.session.sid).toBe('a');
    expect(published).toEqual([{ kind: 'authenticated', sid: 'a' }]);
  });
});

describe('sign-out', () => {
  test("needs the server's confirmation, otherwise the session stays", async () => {
    const { session, published } = setUp({
      '/api/user/auth/login': [bundle('a')],
      [logoutPath]: [refused(503, 'AUTH_UNAVAILABLE'), null],
    });
    await session.signIn('root', 'secret');
    await expect(session.signOut()).rejects.toThrow('AUTH_UNAVAILABLE');
    expect(session.read().phase).toBe('signed_in');
    await session.signOut();
    expect(session.read().phase).toBe('anonymous');
    expect(published.map((event) => event.kind)).toEqual(['authenticated', 'signed_out']);
  });

  test('with a cookie of another login renews first, then ends that login', async () => {
    const { session, asked: requests } = setUp({
      '/api/user/auth/login': [bundle('a')],
      [logoutPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), null],
      [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), bundle('b')],
    });
    await session.signIn('root', 'secret');
    await session.signOut();
    expect(requests.at(-1)?.headers?.['x-auth-session']).toBe('b');
    expect(session.read().phase).toBe('anonymous');
  });
});

describe('other tabs', () => {
  test('are told session ids and events, never a token', async () => {
    const { session, published } = setUp({ '/api/user/auth/login': [bundle('a')], [logoutPath]: [null] });
    await session.signIn('root', 'secret');
    await session.signOut();
    expect(published).toEqual([
      { kind: 'authenticated', sid: 'a' },
      { kind: 'signed_out', sid: 'a' },
    ]);
    expect(JSON.stringify(published)).not.toContain('token');
  });

  test('a logout in another tab ends this session; one of another session does not', async () => {
    const { session, hear: dispatch } = setUp({ '/api/user/auth/login': [bundle('a')] });
    await session.signIn('root', 'secret');
    dispatch({ kind: 'signed_out', sid: 'b' });
    expect(session.read().phase).toBe('signed_in');
    dispatch({ kind: 'signed_out', sid: 'a' });
    expect(session.read()).toEqual({ phase: 'anonymous', bundle: null, end: 'signed_out' });
  });

  test('a login as another user reloads this page', async () => {
    const { session, hear: dispatch, reloads } = setUp({ '/api/user/auth/login': [bundle('a')] });
    await session.signIn('root', 'secret');
    dispatch({ kind: 'authenticated', sid: 'a' });
    expect(reloads()).toBe(0);
    dispatch({ kind: 'authenticated', sid: 'b' });
    expect(reloads()).toBe(1);
  });
});

describe('the connection', () => {
  /**
   * A connection that is answered by `answers`, the last one repeating; the test ends its delays.
   */
  function createConnection(answers: (ApiError | object)[]) {
    const requests: string[] = [];
    const delays: { ms: number; end(): void }[] = [];
    const { connection, send } = watchConnection({
      send: (async ({ path }: ApiRequest) => {
        requests.push(path);
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof ApiError) throw answer;
        return answer;
      }) as SendRequest,
      wait: (ms) => new Promise((resolve) => delays.push({ ms, end: resolve })),
      now: () => requests.length * 1000,
    });
    const states: boolean[] = [];
    connection.subscribe(() => states.push(connection.isUnreachable()));
    return { connection, send, asked: requests, waits: delays, states };
  }
  const unreachable = refused(0, 'UNREACHABLE');

  test('is unreachable after a missing answer, probes with growing delays, and recovers with the first answer', async () => {
    const {
      connection,
      send,
      asked: requests,
      waits: delays,
      states,
    } = createConnection([unreachable, unreachable, unreachable, {}]);
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.isUnreachable()).toBe(true);
    for (let round = 0; round < 3; round += 1) {
      while (delays.length <= round) await Bun.sleep(1);
      delays[round]?.end();
    }
    while (connection.isUnreachable()) await Bun.sleep(1);
    expect(requests).toEqual(['/api/task', '/api/status', '/api/status', '/api/status']);
    expect(delays.map(({ ms }) => ms)).toEqual([1000, 2000, 4000]);
    expect(states).toEqual([true, false]);
  });

  test.each([
    [503, 'AUTH_UNAVAILABLE', false],
    [500, 'INTERNAL', false],
    [401, 'AUTH_UNAUTHORIZED', false],
    [502, 'UNREADABLE', true],
  ])('%p %p: unreachable is %p', async (status, code, expected) => {
    const { connection, send } = createConnection([refused(status, code)]);
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.isUnreachable()).toBe(expected);
  });

  test('online and offline events probe at once', async () => {
    const { connection, asked: requests } = createConnection([unreachable, {}]);
    connection.checkNow();
    while (!connection.isUnreachable()) await Bun.sleep(1);
    connection.checkNow();
    while (connection.isUnreachable()) await Bun.sleep(1);
    expect(requests).toEqual(['/api/status', '/api/status']);
  });

  test('knows when the gateway last answered, also with an error', async () => {
    const { connection, send } = createConnection([{}, refused(404, 'NOT_FOUND'), unreachable]);
    await send({ method: 'GET', path: '/api/task' });
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.answeredAt()).toBe(2);
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.answeredAt()).toBe(2);
  });
});
