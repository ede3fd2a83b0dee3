/** The compiled binary in its topologies, and the cookies of a sign-in as a browser sees them. */
import { expect } from 'bun:test';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { type Backdoor, insertUser, openBackdoor } from '../support/backdoor.ts';
import { type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { SECRETS } from '../support/run-command.ts';
import { until } from '../support/until.ts';

export type TopologyName = 'SQLite' | 'PostgreSQL' | 'PostgreSQL with Redis';

/** Small, so that a test reaches them. */
export const LIMITS = { active: 4, issued: 6, window: 3600, critical: 160 };
export const PANEL_ORIGIN = 'https://panel.example.com';

export type Topology = {
  name: TopologyName;
  /** Two nodes of one database; on SQLite twice the same one. */
  nodes: readonly [Gateway, Gateway];
  db: Backdoor;
  /** A node with SESSION_COOKIE_SECURE=true; on SQLite with a database of its own. */
  secure: Gateway;
  secureDb: Backdoor;
  /** PostgreSQL: the proxies between the secure node and its database. */
  database: { away: Relay; hold: HoldingProxy } | undefined;
  redisUrl: string;
  stop(): Promise<void>;
};

export async function openTopology(name: TopologyName): Promise<Topology> {
  const databaseUrl = name === 'SQLite' ? '' : await migratedDatabaseUrl();
  const redis = name === 'PostgreSQL with Redis' ? await startOwnRedis() : undefined;
  const env = {
    ...SECRETS,
    LOG_LEVEL: 'debug',
    USER_SESSION_ACTIVE_LIMIT: `${LIMITS.active}`,
    USER_SESSION_ISSUANCE_LIMIT: `${LIMITS.issued}`,
    USER_SESSION_ISSUANCE_WINDOW_SECONDS: `${LIMITS.window}`,
    CRITICAL_RATE_LIMIT: `${LIMITS.critical}`,
    ...(redis ? { REDIS_URL: redis.url } : {}),
  };
  const secureEnv = { ...env, SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_TRUSTED_URL: PANEL_ORIGIN };

  const first = await startGateway({ databaseUrl, env });
  await setUp(first);
  let second = first;
  let secure: Gateway;
  let database: Topology['database'];
  if (databaseUrl === '') {
    secure = await startGateway({ env: secureEnv });
    await setUp(secure);
  } else {
    const url = new URL(databaseUrl);
    const hold = await startHoldingProxy({ host: url.hostname, port: Number(url.port || 5432) });
    url.hostname = '127.0.0.1';
    url.port = new URL(hold.url).port;
    const away = await startRelay(url.href);
    database = { away, hold };
    [second, secure] = await Promise.all([
      startGateway({ databaseUrl, env }),
      startGateway({ databaseUrl: away.url, env: secureEnv }),
    ]);
  }
  const db = openBackdoor(first);
  const secureDb = databaseUrl === '' ? openBackdoor(secure) : db;
  return {
    name,
    nodes: [first, second],
    db,
    secure,
    secureDb,
    database,
    redisUrl: redis?.url ?? '',
    async stop() {
      await Promise.all([...new Set([first, second, secure])].map((node) => node.kill()));
      await db.close();
      if (secureDb !== db) await secureDb.close();
      await database?.away.stop();
      await database?.hold.stop();
      await redis?.stop();
    },
  };
}

/**
 * An emptied database of a Redis server that other tests use too, with the same users and
 * addresses.
 */
async function startOwnRedis(): Promise<TestRedis> {
  const started = await startRedis();
  const url = new URL(started.url);
  url.pathname = '/12';
  const client = new Redis(url.href);
  await client.flushdb();
  client.disconnect();
  return { url: url.href, stop: started.stop };
}

export type SessionView = {
  sid: string;
  current: boolean;
  login_method: string;
  ip: string;
  user_agent: string;
  created_at: number;
  last_active_at: number;
  expires_at: number;
};
export type Bundle = {
  access_token: string;
  token_type: string;
  access_expires_at: number;
  user: Record<string, unknown>;
  session: SessionView;
};

export type Reply = {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
  /** `Set-Cookie` by the cookie's name. */
  cookies: Map<string, { value: string; attributes: Record<string, string | true> }>;
  /** Unix seconds before the request and after its answer. */
  sent: number;
  answered: number;
};

export type Ask = {
  /** The node is a secure one. */
  secure?: boolean;
  method?: string;
  /** The refresh cookie's value. */
  refresh?: string | undefined;
  /** An access token, or another value in its place. */
  bearer?: string | undefined;
  /** X-Auth-Session */
  sid?: string | undefined;
  /** The address to come from; the nodes believe a forwarded one from loopback. */
  ip?: string;
  headers?: Record<string, string>;
  body?: unknown;
};

export const unixNow = (): number => Math.floor(Date.now() / 1000);
export const REFRESH = '/api/user/auth/refresh';
export const LOGOUT = '/api/user/auth/logout';
export const SESSIONS = '/api/user/sessions';
const AGENT = 'matrix browser';

const refreshCookie = (secure: boolean) => (secure ? '__Secure-svc_refresh' : 'svc_refresh');
/** The name in full, which ends in six characters of the installation's id, by the session's id. */
const fullNames = new Map<string, string>();
const sidFor = (refresh: string): string => refresh.split('.')[0] ?? '';
/** The name in full of the cookie with this token; without the characters where none was seen. */
export const refreshName = (refresh: string, secure = false): string =>
  fullNames.get(sidFor(refresh)) ?? refreshCookie(secure);

/**
 * One request as a browser sends it; to a secure node from the trusted page, unless the headers say
 * otherwise.
 */
export async function ask(node: Gateway, path: string, { secure = false, ...options }: Ask = {}): Promise<Reply> {
  const sent = unixNow();
  const response = await fetch(`${node.url}${path}`, {
    method: options.method ?? 'POST',
    headers: {
      'user-agent': AGENT,
      ...(secure ? { origin: PANEL_ORIGIN } : {}),
      ...(options.ip === undefined ? {} : { 'x-forwarded-for': options.ip }),
      ...(options.refresh === undefined
        ? {}
        : { cookie: `${refreshName(options.refresh, secure)}=${options.refresh}` }),
      ...(options.bearer === undefined ? {} : { authorization: `Bearer ${options.bearer}` }),
      ...(options.sid === undefined ? {} : { 'x-auth-session': options.sid }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text },
    headers: response.headers,
    cookies: new Map(response.headers.getSetCookie().map(parseCookie)),
    sent,
    answered: unixNow(),
  };
}

/** Sends a request as raw text and gives the raw answer, for headers that occur more than once. */
export function askRaw(node: Gateway, requestLine: string, headers: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(node.port, '127.0.0.1', () => {
      const lines = [`${requestLine} HTTP/1.1`, ...headers, 'Content-Length: 0', 'Connection: close', '', ''];
      socket.write(lines.join('\r\n'));
    });
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

type NamedCookie = [name: string, cookie: { value: string; attributes: Record<string, string | true> }];

function parseCookie(line: string): NamedCookie {
  const [pair = '', ...rest] = line.split('; ');
  const [name = '', value = ''] = pair.split('=');
  const attributes = Object.fromEntries(
    rest.map((attribute) => {
      const at = attribute.indexOf('=');
      return at < 0 ? [attribute, true as const] : [attribute.slice(0, at), attribute.slice(at + 1)];
    }),
  );
  if (/^(?:__Secure-)?svc_refresh_\w{6}$/.test(name)) {
    if (value !== '') fullNames.set(sidFor(value), name);
    return [name.slice(0, -7), { value, attributes }];
  }
  return [name, { value, attributes }];
}

/** Attributes besides the times, exactly: no Domain, ever. */
const fixedAttributes = (secure: boolean) => ({
  refresh: {
    Path: '/api/user/auth',
    HttpOnly: true as const,
    SameSite: 'Strict',
    ...(secure ? { Secure: true as const } : {}),
  },
  hint: { Path: '/', SameSite: 'Strict', ...(secure ? { Secure: true as const } : {}) },
});

/** Both cookies, living exactly as long as the session of the answer; gives the refresh token. */
export function expectWritten(reply: Reply, secure = false): string {
  const { session } = readData<Bundle>(reply);
  const fixed = fixedAttributes(secure);
  expect([...reply.cookies.keys()]).toEqual([refreshCookie(secure), 'svc_has_session']);
  const refresh = reply.cookies.get(refreshCookie(secure));
  const hint = reply.cookies.get('svc_has_session');
  const maxAge = Number(refresh?.attributes['Max-Age']);
  const times = { 'Max-Age': `${maxAge}`, Expires: new Date(session.expires_at * 1000).toUTCString() };
  expect(refresh?.attributes).toEqual({ ...fixed.refresh, ...times });
  expect(hint).toEqual({ value: '1', attributes: { ...fixed.hint, ...times } });
  expect(maxAge).toBeGreaterThanOrEqual(session.expires_at - reply.answered);
  expect(maxAge).toBeLessThanOrEqual(session.expires_at - reply.sent);
  const token = refresh?.value ?? '';
  expect(token).toMatch(/^[0-9a-f-]{36}\.[A-Za-z0-9]{64}$/);
  expect(token.split('.')[0]).toBe(session.sid);
  return token;
}

/** Both cookies cleared, on their own paths. */
export function expectCleared(reply: Reply, secure = false): void {
  const fixed = fixedAttributes(secure);
  const times = { 'Max-Age': '0', Expires: 'Thu, 01 Jan 1970 00:00:00 GMT' };
  expect(Object.fromEntries(reply.cookies)).toEqual({
    [refreshCookie(secure)]: { value: '', attributes: { ...fixed.refresh, ...times } },
    svc_has_session: { value: '', attributes: { ...fixed.hint, ...times } },
  });
}

/** An access token of the answer ends fifteen minutes after it was made. */
export function expectQuarterHour(expiresAt: number, { sent, answered }: Reply): void {
  expect(expiresAt).toBeGreaterThanOrEqual(sent + 900);
  expect(expiresAt).toBeLessThanOrEqual(answered + 900);
}

export const expectUntouched = (reply: Reply): void => expect(reply.headers.getSetCookie()).toEqual([]);

/** The envelope of a failure, exactly. */
export function expectRefusal(reply: Reply, status: number, code: string): void {
  expect([reply.status, reply.body]).toEqual([
    status,
    { success: false, code, message: expect.any(String), request_id: reply.headers.get('x-request-id') },
  ]);
  expect(String(reply.body.message).length).toBeGreaterThan(5);
  expect(reply.headers.get('content-type')).toStartWith('application/json');
  expect(reply.headers.get('cache-control')).toBe('no-store');
}

/** The `data` of a success. */
export function readData<T>(reply: Reply): T {
  expect([reply.status, reply.body]).toEqual([200, { success: true, message: '', data: expect.anything() }]);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  return reply.body.data as T;
}

export type TestUser = { id: number; name: string; ip: string };
export type SignedIn = { user: TestUser; sid: string; access: string; refresh: string; bundle: Bundle };

/** An address that no other test uses: limits count by address. */
export function freshAddress(): string {
  const [a = 1, b = 1] = crypto.getRandomValues(new Uint16Array(2)).map((part) => part || 1);
  return `2001:db8:${a.toString(16)}:${b.toString(16)}::1`;
}

let users = 0;

/** A user with root's password, written past the gateway. */
export async function addUser(db: Backdoor): Promise<TestUser> {
  users += 1;
  const name = `user-${users}`;
  return { id: await insertUser(db, name), name, ip: freshAddress() };
}

export const logIn = (node: Gateway, user: TestUser, options: Ask = {}): Promise<Reply> =>
  ask(node, '/api/user/login', {
    ip: user.ip,
    body: { username: user.name, password: ROOT.password },
    ...options,
  });

export async function signIn(node: Gateway, user: TestUser, secure = false): Promise<SignedIn> {
  const reply = await logIn(node, user, { secure });
  const bundle = readData<Bundle>(reply);
  const refresh = expectWritten(reply, secure);
  return { user, sid: bundle.session.sid, access: bundle.access_token, refresh, bundle };
}

/** Whether an access token is accepted; if not, it must be refused as revoked. */
export async function opens(node: Gateway, { access, user }: Pick<SignedIn, 'access' | 'user'>): Promise<boolean> {
  const reply = await ask(node, '/api/user/self', { method: 'GET', bearer: access, ip: user.ip });
  expectUntouched(reply);
  if (reply.status === 200) return true;
  expectRefusal(reply, 401, 'AUTH_SESSION_REVOKED');
  return false;
}

/** A session's row with its numbers as numbers. */
export async function readRow(db: Backdoor, sid: string): Promise<Record<string, unknown>> {
  const [row] = await db.run(`select * from user_sessions where sid = '${sid}'`);
  if (!row) throw new Error(`no row of session ${sid}`);
  const text = ['sid', 'status', 'refresh_hash', 'previous_refresh_hash', 'login_method', 'ip', 'user_agent'];
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      text.includes(name) || name === 'revoked_reason' || value === null ? value : Number(value),
    ]),
  );
}

/**
 * Sends a request to the secure node of a PostgreSQL topology and holds it at the statement that
 * contains `text`: it has been sent, and the database has not seen it. `release` lets it through,
 * `cut` breaks the connection instead; both give the answer.
 */
export async function holdAt(
  { secure, database }: Topology,
  text: string,
  send: () => Promise<Reply>,
): Promise<{ release(): Promise<Reply>; cut(): Promise<Reply> }> {
  if (!database) throw new Error('SQLite has no connection to hold');
  const { hold } = database;
  // Statements are sent by name once a connection knows them: fresh connections show their text.
  hold.cut();
  await until('the node has its database again', async () => {
    return (await ask(secure, '/readyz', { method: 'GET' })).status === 200;
  });
  const before = hold.held();
  hold.match = text;
  hold.mode = 'hold_requests';
  const answer = send();
  try {
    await until('the statement is on its way', () => hold.held() > before);
  } catch (error) {
    hold.release();
    throw error;
  }
  return {
    release() {
      hold.release();
      return answer;
    },
    cut() {
      hold.mode = 'pass';
      hold.cut();
      return answer;
    },
  };
}
