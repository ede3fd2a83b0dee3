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

/** A session whose server gives these answers in turn, path by path; the last one is repeated. */
function setUp(answers: Record<string, Answer[]>, { hint = false } = {}) {
  let nowMs = 0;
  const asked: ApiRequest[] = [];
  const published: TabEvent[] = [];
  let reloads = 0;
  let hear: (event: TabEvent) => void = () => {};
  const send = (async (request: ApiRequest) => {
    asked.push(request);
    const list = answers[request.path] ?? [];
    const answer = list.length > 1 ? list.shift() : list[0];
    if (answer instanceof ApiError) throw answer;
    return typeof answer === 'function' ? answer() : answer;
  }) as SendRequest;
  const session = createSession({
    send,
    tabs: { publish: (event) => published.push(event), subscribe: (listener) => (hear = listener) },
    hasHint: () => hint,
    reload: () => {
      reloads += 1;
    },
    now: () => nowMs,
  });
  const wait = (seconds: number): void => {
    nowMs += seconds * 1000;
  };
  return { wait, session, asked, published, hear: (event: TabEvent) => hear(event), reloads: () => reloads };
}

const refused = (status: number, code: string) => new ApiError({ status, code, message: code });

describe('cold start', () => {
  test('restores the session of the cookie without naming one', async () => {
    const { session, asked } = setUp({ [refreshPath]: [bundle('a')] });
    await session.restore();
    expect(session.read().bundle?.session.sid).toBe('a');
    expect(asked[0]?.headers).toBeUndefined();
  });

  test('asks once, however many parts of the page want to know', async () => {
    const { session, asked } = setUp({ [refreshPath]: [() => Bun.sleep(5).then(() => bundle('a'))] });
    await Promise.all([session.restore(), session.restore(), session.restore()]);
    await session.restore();
    expect(asked).toHaveLength(1);
  });

  test('a refused cookie is a verdict: anonymous, and not asked again', async () => {
    const { session, asked } = setUp({ [refreshPath]: [refused(401, 'AUTH_UNAUTHORIZED')] });
    await session.restore();
    await session.restore();
    expect(session.read().phase).toBe('anonymous');
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['AUTH_SESSION_REVOKED', true, 'revoked'],
    ['AUTH_UNAUTHORIZED', true, 'expired'],
    ['AUTH_UNAUTHORIZED', false, null],
  ] as const)('%p to a browser that had a session (%p): the reason is %p', async (code, hint, end) => {
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
  ])('trouble (%p %p) is no verdict: the next try may succeed', async (status, code) => {
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

  test('a refused access token is renewed once and the request sent again with the new one', async () => {
    const { session, asked } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [bundle('a', 'second')],
    });
    expect(await session.send<{ id: number }>({ method: 'GET', path: '/api/user/self' })).toEqual({ id: 1 });
    expect(asked.at(-1)?.headers?.authorization).toBe('Bearer second');
    expect(asked.find((request) => request.path === refreshPath)?.headers).toEqual({ 'x-auth-session': 'a' });
  });

  test('an access token is renewed before its last minute, not after every request', async () => {
    const { session, asked, wait } = await signedIn({
      '/api/user/self': [{ id: 1 }],
      [refreshPath]: [bundle('a', 'second')],
    });
    const readSelf = () => session.send({ method: 'GET', path: '/api/user/self' });
    wait(800);
    await readSelf();
    expect(asked.at(-1)?.headers?.authorization).toBe('Bearer token-of-a');
    wait(50);
    await Promise.all([readSelf(), readSelf()]);
    await readSelf();
    expect(asked.at(-1)?.headers?.authorization).toBe('Bearer second');
    expect(asked.filter((request) => request.path === refreshPath)).toHaveLength(1);
  });

  test.each([
    [0, 'UNREACHABLE'],
    [429, 'RATE_LIMITED'],
    [503, 'AUTH_UNAVAILABLE'],
  ])('trouble (%p %p) leaves the session as it was, and the token is used while it lasts', async (status, code) => {
    const { session, asked, wait } = await signedIn({
      '/api/user/self': [{ id: 1 }, refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [refused(status, code), refused(status, code), refused(status, code), bundle('a', 'second')],
    });
    const readSelf = () => session.send<{ id: number }>({ method: 'GET', path: '/api/user/self' });
    wait(870);
    expect(await readSelf()).toEqual({ id: 1 });
    await expect(readSelf()).rejects.toThrow(code);
    expect(session.read()).toMatchObject({ phase: 'signed_in', bundle: { session: { sid: 'a' } } });
    expect(await readSelf()).toEqual({ id: 1 });
    expect(asked.at(-1)?.headers?.authorization).toBe('Bearer second');
  });

  test('after the end nobody asks for another token', async () => {
    const { session, asked } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_SESSION_REVOKED')],
      [refreshPath]: [refused(401, 'AUTH_SESSION_REVOKED')],
    });
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow();
    }
    expect(session.read().end).toBe('revoked');
    expect(asked.filter((request) => request.path === refreshPath)).toHaveLength(1);
  });

  test('what a change of the own account answers is taken over by the session that goes on', async () => {
    const { session, asked, wait } = await signedIn({ '/api/user/self': [{ id: 1 }] });
    wait(850);
    const { user, ...rotation } = bundle('a', 'rotated');
    session.adopt(rotation);
    session.adopt({ user: { ...user, display_name: 'Ada' } });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(asked.at(-1)?.headers?.authorization).toBe('Bearer rotated');
    expect(asked.filter((request) => request.path === refreshPath)).toEqual([]);
    expect(session.read().bundle?.user.display_name).toBe('Ada');
  });

  test('a late answer to somebody else, or of another session, changes nothing', async () => {
    const { session } = await signedIn({});
    const before = session.read();
    const { user, ...rotation } = bundle('b', 'of-another-session');
    session.adopt(rotation);
    session.adopt({ user: { ...user, id: user.id + 1, display_name: 'Eve' } });
    expect(session.read()).toEqual(before);
  });

  test('a second refusal ends it: no endless loop', async () => {
    const { session, asked } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_UNAUTHORIZED')],
      [refreshPath]: [bundle('a', 'second')],
    });
    await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow('AUTH_UNAUTHORIZED');
    expect(asked.filter((request) => request.path === '/api/user/self')).toHaveLength(2);
  });

  test('a revoked session becomes anonymous and the other tabs hear of it', async () => {
    const { session, published } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_SESSION_REVOKED')],
      [refreshPath]: [refused(401, 'AUTH_SESSION_REVOKED')],
    });
    await expect(session.send({ method: 'GET', path: '/api/user/self' })).rejects.toThrow();
    expect(session.read().phase).toBe('anonymous');
    expect(published.at(-1)).toEqual({ kind: 'signed_out', sid: 'a' });
  });

  test('a cookie of another login is taken over after one more question without the old session', async () => {
    const { session, asked } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 2 }],
      [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), bundle('b')],
    });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(session.read().bundle?.session.sid).toBe('b');
    const refreshes = asked.filter((request) => request.path === refreshPath);
    expect(refreshes.map((request) => request.headers)).toEqual([{ 'x-auth-session': 'a' }, undefined]);
  });

  test.each([
    ['refused', 0],
    ['about to end', 860],
  ])(
    'a cookie of another user loads the page anew; what was asked with a token %s is not done in his name',
    async (_, seconds) => {
      const other = bundle('b');
      const { session, asked, reloads, wait } = await signedIn({
        '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 2 }],
        [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), { ...other, user: { ...other.user, id: 2 } }],
      });
      wait(seconds);
      const request = session.send({ method: 'PUT', path: '/api/user/self', body: { display_name: 'Ada' } });
      await expect(request).rejects.toThrow('ended.revoked');
      expect(reloads()).toBe(1);
      const changes = asked.filter(({ path }) => path === '/api/user/self');
      expect(changes.filter(({ headers }) => headers?.authorization === 'Bearer token-of-b')).toEqual([]);
    },
  );

  test('a lost race is tried again', async () => {
    const { session } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED'), { id: 1 }],
      [refreshPath]: [refused(409, 'AUTH_REFRESH_RACE'), refused(409, 'AUTH_REFRESH_RACE'), bundle('a', 'second')],
    });
    await session.send({ method: 'GET', path: '/api/user/self' });
    expect(session.read().bundle?.access_token).toBe('second');
  });

  test('an answer that a logout overtook does not sign in again', async () => {
    let release: (value: SessionBundle) => void = () => {};
    const { session, asked } = await signedIn({
      '/api/user/self': [refused(401, 'AUTH_TOKEN_EXPIRED')],
      [refreshPath]: [() => new Promise<SessionBundle>((resolve) => (release = resolve))],
      [logoutPath]: [null],
    });
    const pending = session.send({ method: 'GET', path: '/api/user/self' }).catch(() => null);
    while (!asked.some((request) => request.path === refreshPath)) await Bun.sleep(1);
    await session.signOut();
    release(bundle('a', 'late'));
    await pending;
    expect(session.read().phase).toBe('anonymous');
  });
});

describe('the second factor', () => {
  test('a password alone signs nobody in; the code does', async () => {
    const due = { require_2fa: true, flow_token: 'a flow', expires_at: 1 };
    const { session, asked, published } = setUp({
      '/api/user/auth/login': [due],
      '/api/user/login/2fa': [refused(400, 'AUTH_CODE_INVALID'), bundle('a')],
    });
    expect(await session.signIn('root', 'secret')).toBe('a flow');
    expect(session.read().phase).toBe('unknown');
    await expect(session.finishSignIn('a flow', '000000')).rejects.toThrow('AUTH_CODE_INVALID');
    expect(session.read().phase).toBe('unknown');
    await session.finishSignIn('a flow', '123456');
    expect(asked.at(-1)?.body).toEqual({ flow_token: 'a flow', code: '123456' });
    expect(session.read().bundle?.session.sid).toBe('a');
    expect(published).toEqual([{ kind: 'authenticated', sid: 'a' }]);
  });
});

describe('sign-out', () => {
  test('is confirmed by the server, or the session stays', async () => {
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

  test('with a cookie of another login: renews first, then ends that one', async () => {
    const { session, asked } = setUp({
      '/api/user/auth/login': [bundle('a')],
      [logoutPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), null],
      [refreshPath]: [refused(409, 'AUTH_SESSION_MISMATCH'), bundle('b')],
    });
    await session.signIn('root', 'secret');
    await session.signOut();
    expect(asked.at(-1)?.headers?.['x-auth-session']).toBe('b');
    expect(session.read().phase).toBe('anonymous');
  });
});

describe('other tabs', () => {
  test('tell which session began or ended, and never a token', async () => {
    const { session, published } = setUp({ '/api/user/auth/login': [bundle('a')], [logoutPath]: [null] });
    await session.signIn('root', 'secret');
    await session.signOut();
    expect(published).toEqual([
      { kind: 'authenticated', sid: 'a' },
      { kind: 'signed_out', sid: 'a' },
    ]);
    expect(JSON.stringify(published)).not.toContain('token');
  });

  test('a logout elsewhere ends this one; that of another session does not', async () => {
    const { session, hear } = setUp({ '/api/user/auth/login': [bundle('a')] });
    await session.signIn('root', 'secret');
    hear({ kind: 'signed_out', sid: 'b' });
    expect(session.read().phase).toBe('signed_in');
    hear({ kind: 'signed_out', sid: 'a' });
    expect(session.read()).toEqual({ phase: 'anonymous', bundle: null, end: 'signed_out' });
  });

  test('a login as somebody else loads this page anew', async () => {
    const { session, hear, reloads } = setUp({ '/api/user/auth/login': [bundle('a')] });
    await session.signIn('root', 'secret');
    hear({ kind: 'authenticated', sid: 'a' });
    expect(reloads()).toBe(0);
    hear({ kind: 'authenticated', sid: 'b' });
    expect(reloads()).toBe(1);
  });
});

describe('the connection', () => {
  /**
   * One that is answered as `answers` say, the last of them for ever; its waits end when the test
   * says so.
   */
  function connect(answers: (ApiError | object)[]) {
    const asked: string[] = [];
    const waits: { ms: number; end(): void }[] = [];
    const { connection, send } = watchConnection({
      send: (async ({ path }: ApiRequest) => {
        asked.push(path);
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof ApiError) throw answer;
        return answer;
      }) as SendRequest,
      wait: (ms) => new Promise((resolve) => waits.push({ ms, end: resolve })),
    });
    const states: boolean[] = [];
    connection.subscribe(() => states.push(connection.isUnreachable()));
    return { connection, send, asked, waits, states };
  }
  const away = refused(0, 'UNREACHABLE');

  test('is away after an answer that did not come, asks less and less often, and is back with the first answer', async () => {
    const { connection, send, asked, waits, states } = connect([away, away, away, {}]);
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.isUnreachable()).toBe(true);
    for (let round = 0; round < 3; round += 1) {
      while (waits.length <= round) await Bun.sleep(1);
      waits[round]?.end();
    }
    while (connection.isUnreachable()) await Bun.sleep(1);
    expect(asked).toEqual(['/api/task', '/api/status', '/api/status', '/api/status']);
    expect(waits.map(({ ms }) => ms)).toEqual([1000, 2000, 4000]);
    expect(states).toEqual([true, false]);
  });

  test.each([
    [503, 'AUTH_UNAVAILABLE', false],
    [500, 'INTERNAL', false],
    [401, 'AUTH_UNAUTHORIZED', false],
    [502, 'UNREADABLE', true],
  ])('%p %p: away is %p', async (status, code, expected) => {
    const { connection, send } = connect([refused(status, code)]);
    await expect(send({ method: 'GET', path: '/api/task' })).rejects.toThrow();
    expect(connection.isUnreachable()).toBe(expected);
  });

  test('news of the network make it look at once', async () => {
    const { connection, asked } = connect([away, {}]);
    connection.checkNow();
    while (!connection.isUnreachable()) await Bun.sleep(1);
    connection.checkNow();
    while (connection.isUnreachable()) await Bun.sleep(1);
    expect(asked).toEqual(['/api/status', '/api/status']);
  });
});
