import { type Gateway, ROOT, setUp, startGateway } from '../test/support/gateway.ts';
import { startOwnRedis } from '../test/support/own-redis.ts';
import { testDatabaseUrl } from '../test/support/postgres.ts';
import { CLIENTS, createSend, measureRate, type Send } from './request-rate.ts';
import type { Row } from './row.ts';

/** So many that no limit is met. */
const NO_LIMITS = {
  CRITICAL_RATE_LIMIT: '1000000000',
  GLOBAL_API_RATE_LIMIT: '1000000000',
  USER_SESSION_ACTIVE_LIMIT: '1000000',
  USER_SESSION_ISSUANCE_LIMIT: '1000000',
};

type Surroundings = { name: string; gateway: Gateway; send: Send; token: string; cookies: string[] };

/**
 * What people's sessions cost, with and without Redis, on SQLite and PostgreSQL: a request through
 * the session check, a refresh (a durable rotation), a login (a password hash, a new session). All
 * four gateways stand by, and each operation is measured on one after the other, so that what else
 * the machine does meets them alike. The PostgreSQL is one of the tests', without fsync.
 */
export async function benchSessions(): Promise<Row[]> {
  const redis = await startOwnRedis();
  const open: Surroundings[] = [];
  try {
    for (const [name, databaseUrl, redisUrl] of [
      ['SQLite', '', ''],
      ['SQLite, Redis', '', redis.url],
      ['PostgreSQL', await testDatabaseUrl(), ''],
      ['PostgreSQL, Redis', await testDatabaseUrl(), redis.url],
    ] as const) {
      const env = { ...NO_LIMITS, ...(redisUrl ? { REDIS_URL: redisUrl } : {}) };
      const gateway = await startGateway({ databaseUrl, env });
      const send = createSend(gateway.url);
      open.push({ name, gateway, send, token: (await setUp(gateway)).token, cookies: [] });
    }
    const logIn = ({ send }: Surroundings) =>
      send('/api/user/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(ROOT),
      });
    for (const surroundings of open) {
      for (let i = 0; i < CLIENTS; i += 1) surroundings.cookies.push(refreshCookie(await logIn(surroundings)));
    }

    const rows: Row[] = [];
    for (const { name, send, token } of open) {
      const headers = { authorization: `Bearer ${token}` };
      rows.push(await measureRate(`GET /api/user/self, ${name}`, () => send('/api/user/self', { headers })));
    }
    for (const { name, send, cookies } of open) {
      const refresh = async (client: number) => {
        const headers = { cookie: cookies[client] ?? '' };
        cookies[client] = refreshCookie(await send('/api/user/auth/refresh', { method: 'POST', headers }));
      };
      rows.push(await measureRate(`refresh, ${name}`, refresh));
    }
    for (const surroundings of open) {
      rows.push(await measureRate(`login, ${surroundings.name}`, () => logIn(surroundings)));
    }
    return rows;
  } finally {
    await Promise.all(open.map(({ gateway }) => gateway.stop()));
    await redis.stop();
  }
}

/** The refresh cookie that an answer sets, as a client sends it back. */
function refreshCookie(answer: Response): string {
  const set = answer.headers.getSetCookie().find((cookie) => cookie.startsWith('svc_refresh='));
  if (set === undefined) throw new Error('an answer without a refresh cookie');
  return set.slice(0, set.indexOf(';'));
}
