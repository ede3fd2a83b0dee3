/**
 * OWASP ASVS 5.0, 7.4: the end of a session on two nodes of the executable, with every cache
 * topology of the specification.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Backdoor, insertUser, openBackdoor } from '../support/backdoor.ts';
import { type Answer, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { type OwnRedis, startOwnRedis } from '../support/own-redis.ts';
import { withoutTimeout } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { longestEntry } from './longest-entry.ts';

/** Seconds; short, since independent caches wait this long. */
const SYNC_FREQUENCY = 3;

type Person = { id: number; username: string };
type Session = { token: string; cookie: string; sid: string };

for (const [topology, caches] of [
  ['no cache', 0],
  ['a cache for each node', 2],
  ['a shared cache', 1],
] as const) {
  describe(`two nodes with ${topology}`, () => {
    const servers: OwnRedis[] = [];
    let nodes: [Gateway, Gateway];
    let db: Backdoor;
    let people = 0;

    beforeAll(async () => {
      const databaseUrl = await migratedDatabaseUrl();
      for (let i = 0; i < caches; i += 1) servers.push(await startOwnRedis());
      const env = (i: number): Record<string, string> => {
        const cache = servers[i % Math.max(1, servers.length)];
        return { SYNC_FREQUENCY: `${SYNC_FREQUENCY}`, ...(cache ? { REDIS_URL: withoutTimeout(cache.url) } : {}) };
      };
      const first = await startGateway({ databaseUrl, env: env(0) });
      await setUp(first);
      nodes = [first, await startGateway({ databaseUrl, env: env(1) })];
      db = openBackdoor(first);
      if (caches > 0) await until('both nodes believe their cache', showsCache);
    });
    afterAll(async () => {
      await Promise.all((nodes ?? []).map((node) => node.kill()));
      await db?.close();
      for (const server of servers) await server.stop();
    });

    /** Signs in a new user who has root's password hash. */
    async function addPerson(): Promise<Person> {
      people += 1;
      const username = `person-${people}`;
      return { id: await insertUser(db, username), username };
    }

    async function signIn({ username }: Person): Promise<Session> {
      const answer = await ask(`${nodes[0].url}/api/user/login`, { body: { username, password: ROOT.password } });
      if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${JSON.stringify(answer.body)}`);
      const { access_token: token, session } = answer.body.data as { access_token: string; session: { sid: string } };
      const cookie = answer.headers.getSetCookie().find((set) => set.startsWith('svc_refresh_')) ?? '';
      return { token, cookie: cookie.split(';', 1)[0] ?? '', sid: session.sid };
    }

    /**
     * Whether the nodes answer from their caches: a session that ends in the database only stays
     * valid for a while. Without caching the tests below would prove nothing.
     */
    async function showsCache(): Promise<boolean> {
      const session = await signIn(await addPerson());
      for (const node of nodes) await access(node, session);
      await db.run(`UPDATE user_sessions SET status = 'revoked' WHERE sid = '${session.sid}' RETURNING sid`);
      return (await Promise.all(nodes.map((node) => access(node, session)))).every(([status]) => status === 200);
    }

    const seen = (answer: Answer): [number, unknown] => [
      answer.status,
      answer.body.code ?? (answer.body.error as { code?: unknown } | undefined)?.code,
    ];
    const access = async (node: Gateway, { token }: { token: string }) =>
      seen(await ask(`${node.url}/api/user/self`, { token }));
    const refresh = async (node: Gateway, { cookie }: Session) =>
      seen(await ask(`${node.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie } }));

    const REVOKED = [401, 'AUTH_SESSION_REVOKED'] as const;
    /** At once; with independent caches, when the other node's entry expires at the latest. */
    const expectAccessEnds = async (session: Session) => {
      expect(await access(nodes[0], session)).toEqual([...REVOKED]);
      if (caches < 2) expect(await access(nodes[1], session)).toEqual([...REVOKED]);
      else {
        expect(await servers[1]?.look(longestEntry)).toBeLessThanOrEqual(SYNC_FREQUENCY * 1000);
        await until('the other node has seen the end', async () => (await access(nodes[1], session))[0] === 401);
      }
    };

    test('ASVS 7.4.1: after a logout access and refresh fail on both nodes', async () => {
      const session = await signIn(await addPerson());
      for (const node of nodes) expect(await access(node, session)).toEqual([200, undefined]);
      await ask(`${nodes[0].url}/api/user/auth/logout`, { method: 'POST', headers: { cookie: session.cookie } });
      await expectAccessEnds(session);
      expect(await refresh(nodes[1], session)).toEqual([...REVOKED]);
    });

    test('ASVS 7.4.1: so they do after the session is ended from another device', async () => {
      const person = await addPerson();
      const [session, device] = [await signIn(person), await signIn(person)];
      for (const node of nodes) expect(await access(node, session)).toEqual([200, undefined]);
      const ended = await ask(`${nodes[0].url}/api/user/sessions/${session.sid}`, {
        method: 'DELETE',
        token: device.token,
      });
      expect(ended.status).toBe(200);
      await expectAccessEnds(session);
      expect(await refresh(nodes[1], session)).toEqual([...REVOKED]);
      for (const node of nodes) expect(await access(node, device)).toEqual([200, undefined]);
    });

    test('ASVS 7.4.3: after a password change the other sessions fail at once on both nodes', async () => {
      const person = await addPerson();
      const [session, device] = [await signIn(person), await signIn(person)];
      for (const node of nodes) expect(await access(node, session)).toEqual([200, undefined]);
      const changed = await ask(`${nodes[0].url}/api/user/self`, {
        method: 'PUT',
        token: device.token,
        body: { original_password: ROOT.password, password: 'another good password' },
      });
      const { access_token: token } = changed.body.data as { access_token: string };
      for (const node of nodes) {
        expect(await access(node, session)).toEqual([...REVOKED]);
        expect(await access(node, device)).toEqual([...REVOKED]);
        expect(await access(node, { token })).toEqual([200, undefined]);
        expect(await refresh(node, session)).toEqual([...REVOKED]);
      }
    });

    for (const [what, change] of [
      ['disabled', 'status = 2, auth_version = auth_version + 1'],
      ['deleted', 'deleted_at = 1000'],
    ] as const) {
      test(`ASVS 7.4.2: a user who is ${what} loses access, refresh, personal access token and API key at once on both nodes`, async () => {
        const person = await addPerson();
        const session = await signIn(person);
        const post = async (path: string, body?: object) =>
          (await ask(`${nodes[0].url}${path}`, { method: 'POST', token: session.token, ...(body ? { body } : {}) }))
            .body.data as { token: string; key: string };
        const { token: pat } = await post('/api/user/token');
        const { key } = await post('/api/token', { name: 'test', unlimited_quota: true });
        const statuses = async (node: Gateway) => {
          const answers = await Promise.all([
            ask(`${node.url}/api/user/self`, { token: session.token }),
            ask(`${node.url}/api/user/self`, { token: pat }),
            ask(`${node.url}/api/usage/token`, { token: key }),
            ask(`${node.url}/v1/tasks/task_none`, { token: key }),
          ]);
          return answers.map(({ status }) => status);
        };
        for (const node of nodes) expect(await statuses(node)).toEqual([200, 200, 200, 404]);
        await db.run(`UPDATE users SET ${change} WHERE id = ${person.id} RETURNING id`);
        for (const node of nodes) {
          expect(await statuses(node)).toEqual([401, 401, 401, 401]);
          expect((await refresh(node, session))[0]).toBe(401);
        }
      });
    }
  });
}
