import { type Gateway, ROOT, setUp } from '../../test/support/gateway.ts';
import { startOwnRedis } from '../../test/support/own-redis.ts';
import { testDatabaseUrl } from '../../test/support/postgres.ts';
import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { startBuild } from '../stage.ts';
import { NO_LIMITS, prepareRefreshes } from './requests.ts';

type Surroundings = { name: string; gateway: Gateway; token: string };

/**
 * What people's sessions cost, with and without Redis, on SQLite and PostgreSQL: a request through
 * the session check, a refresh (a durable rotation), a login (a password hash, a new session). All
 * four gateways stand by, and each operation is measured on one after the other, so that what else
 * the machine does meets them alike. The PostgreSQL is one of the tests', without fsync.
 */
export async function benchStores({ build, seconds }: Run): Promise<Figure[]> {
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
      const gateway = await startBuild(build, { databaseUrl, env });
      open.push({ name, gateway, token: (await setUp(gateway)).token });
    }
    const login = formatRequest('POST', '/api/user/login', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ROOT),
    });
    const figures: Figure[] = [];
    for (const { name, gateway, token } of open) {
      const self = formatRequest('GET', '/api/user/self', { headers: { authorization: `Bearer ${token}` } });
      figures.push(...(await measureRequests({ what: `session read, ${name}`, gateway, seconds, next: () => self })));
    }
    for (const { name, gateway } of open) {
      const requests = await prepareRefreshes(gateway.url);
      figures.push(...(await measureRequests({ what: `refresh, ${name}`, gateway, seconds, ...requests })));
    }
    for (const { name, gateway } of open) {
      // A password hash takes so much time that nothing else has to be warm.
      const load = { gateway, seconds, next: () => login, warmUpRequests: 0 };
      figures.push(...(await measureRequests({ what: `login, ${name}`, ...load })));
    }
    return figures;
  } finally {
    await Promise.all(open.map(({ gateway }) => gateway.stop()));
    await redis.stop();
  }
}
