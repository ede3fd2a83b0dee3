/**
 * A disabled or deleted user loses all access at once, with every credential, on every node, with
 * and without a shared cache.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Backdoor, insertUser, openBackdoor } from '../support/backdoor.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

/** Cache entries outlive the test, so that no result depends on their expiry. */
const LONG_CACHE = { SYNC_FREQUENCY: '86400' };

const SURROUNDINGS: readonly (readonly [name: string, nodes: number, redis: 'none' | 'shared' | 'one each'])[] = [
  ['SQLite', 1, 'none'],
  ...(IS_FULL_RUN
    ? ([
        ['PostgreSQL', 2, 'none'],
        ['PostgreSQL and a shared Redis', 2, 'shared'],
      ] as const)
    : []),
  ['PostgreSQL and a Redis for each node', 2, 'one each'],
];

/** What ends a user's access, and how each credential is refused from then on. */
const ENDS = [
  {
    what: 'disabled',
    set: 'status = 2',
    refusals: { token: 'AUTH_USER_DISABLED', key: 'api_key_user_disabled' },
  },
  {
    what: 'deleted',
    set: 'deleted_at = 1',
    refusals: { token: 'AUTH_UNAUTHORIZED', key: 'api_key_invalid' },
  },
];

for (const [name, count, sharing] of SURROUNDINGS) {
  describe(`on ${name}`, () => {
    const nodes: Gateway[] = [];
    let redis: TestRedis | undefined;
    let backdoor: Backdoor;

    beforeAll(async () => {
      const databaseUrl = name === 'SQLite' ? '' : await migratedDatabaseUrl();
      redis = sharing === 'none' ? undefined : await startRedis();
      for (let i = 0; i < count; i += 1) {
        const redisUrl = redis && { REDIS_URL: sharing === 'shared' ? redis.url : databaseFor(redis.url, i) };
        nodes.push(await startGateway({ databaseUrl, env: { ...LONG_CACHE, ...redisUrl } }));
      }
      const [first] = nodes;
      if (!first) throw new Error('no node was started');
      await setUp(first);
      backdoor = openBackdoor(first);
    });
    afterAll(async () => {
      await backdoor?.close();
      for (const node of nodes) await node.stop();
      await redis?.stop();
    });

    for (const { what, set, refusals } of ENDS) {
      test(`a ${what} user loses access token, refresh, personal access token and API keys at once`, async () => {
        const username = `${what}-user`;
        const id = await insertUser(backdoor, username);
        const held = await collectCredentials(username);

        // Every node has seen every credential, so that its caches have them.
        for (const node of nodes) {
          for (const { access } of held.sessions) expect(await readStatus(node, access)).toBe(200);
          expect(await readStatus(node, held.pat)).toBe(200);
          expect(await codeOfKey(node, held.key)).toBe('not_found');
        }

        await backdoor.run(`update users set ${set} where id = ${id}`);
        for (const [i, node] of nodes.entries()) {
          const who = `on node ${i + 1}`;
          for (const { access } of held.sessions) {
            expect([who, ...(await readOutcome(node, `Bearer ${access}`))]).toEqual([who, 401, 'AUTH_SESSION_REVOKED']);
          }
          for (const authorization of [`Bearer ${held.pat}`, held.pat]) {
            expect([who, ...(await readOutcome(node, authorization))]).toEqual([who, 401, refusals.token]);
          }
          expect([who, await codeOfKey(node, held.key)]).toEqual([who, refusals.key]);
          const login = await ask(`${node.url}/api/user/login`, { body: { username, password: ROOT.password } });
          expect([who, login.status, login.body.code]).toEqual([who, 401, 'AUTH_INVALID_CREDENTIALS']);
          const refreshed = await refresh(node, held.sessions[i]?.cookie ?? '');
          expect([who, refreshed.status, refreshed.body.code]).toEqual([who, 401, 'AUTH_SESSION_REVOKED']);
          const cleared = refreshed.headers.getSetCookie().filter((cookie) => cookie.includes('Max-Age=0'));
          expect([who, cleared.length]).toEqual([who, 2]);
        }
      });
    }

    test('enabling a user restores their tokens and keys, but no refused session', async () => {
      const username = 'returning-user';
      const id = await insertUser(backdoor, username);
      const held = await collectCredentials(username);
      await backdoor.run(`update users set status = 2 where id = ${id}`);
      for (const [i, node] of nodes.entries()) {
        expect((await refresh(node, held.sessions[i]?.cookie ?? '')).status).toBe(401);
        expect(await readStatus(node, held.pat)).toBe(401);
      }
      await backdoor.run(`update users set status = 1 where id = ${id}`);
      for (const node of nodes) {
        expect(await readStatus(node, held.pat)).toBe(200);
        expect(await codeOfKey(node, held.key)).toBe('not_found');
        for (const { access, cookie } of held.sessions) {
          expect(await readOutcome(node, `Bearer ${access}`)).toEqual([401, 'AUTH_SESSION_REVOKED']);
          expect((await refresh(node, cookie)).status).toBe(401);
        }
      }
    });

    /** A session from each node, a personal access token and an API key. */
    async function collectCredentials(username: string) {
      const sessions: { access: string; cookie: string }[] = [];
      for (const node of nodes) {
        const login = await ask(`${node.url}/api/user/login`, { body: { username, password: ROOT.password } });
        expect(login.status).toBe(200);
        const cookie = login.headers.getSetCookie().find((line) => line.startsWith('svc_refresh_'));
        sessions.push({
          access: (login.body.data as { access_token: string }).access_token,
          cookie: cookie?.split(';')[0] ?? '',
        });
      }
      const [node, session] = [nodes[0], sessions[0]];
      if (!node || !session) throw new Error('no node was started');
      const token = session.access;
      const pat = await ask(`${node.url}/api/user/token`, { method: 'POST', token });
      const key = await ask(`${node.url}/api/token`, { token, body: { name: 'key', unlimited_quota: true } });
      return {
        sessions,
        pat: (pat.body.data as { token: string }).token,
        key: (key.body.data as { key: string }).key,
      };
    }
  });
}

/** Another database of the same Redis server: no other node sees it. */
function databaseFor(url: string, index: number): string {
  const other = new URL(url);
  other.pathname = `/${index + 1}`;
  return other.href;
}

async function readOutcome(node: Gateway, authorization: string): Promise<[number, unknown]> {
  const answer = await ask(`${node.url}/api/user/self`, { headers: { authorization } });
  return [answer.status, answer.body.code];
}
const readStatus = async (node: Gateway, token: string) => (await readOutcome(node, `Bearer ${token}`))[0];

/** A valid key gets 404 for a task that does not exist. */
async function codeOfKey(node: Gateway, key: string): Promise<unknown> {
  const answer = await ask(`${node.url}/v1/videos/task_of_nobody`, { token: key });
  return (answer.body.error as { code?: unknown } | undefined)?.code;
}

const refresh = (node: Gateway, cookie: string) =>
  ask(`${node.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie } });
