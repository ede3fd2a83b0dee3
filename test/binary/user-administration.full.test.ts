/**
 * Administration of accounts on the compiled binary: a change on one node applies on every node at
 * once, and money stays in balance.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PASSWORD } from '../support/cheap-hash.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import {
  Administrator,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { submit } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';

/** Cache entries outlive the test, so that no result depends on their expiry. */
const LONG_CACHE = { SYNC_FREQUENCY: '86400' };
const BILL = 5 * 0.02 * 500_000;

const SURROUNDINGS: readonly (readonly [name: string, nodes: number, redis: boolean])[] = [
  ['SQLite', 1, false],
  ...(IS_FULL_RUN ? ([['PostgreSQL', 2, false]] as const) : []),
  ['PostgreSQL and a shared Redis', 2, true],
];

/**
 * What ends a user's access, and how their personal access token and API key are refused from then
 * on; undefined: they still work.
 */
const ENDS: {
  what: string;
  refusals?: { token: string; key: string };
  act(root: Administrator, id: number): Promise<unknown>;
}[] = [
  {
    what: 'disabled',
    refusals: { token: 'AUTH_USER_DISABLED', key: 'api_key_user_disabled' },
    act: (root, id) => root.call('POST', '/api/user/manage', { id, action: 'disable' }),
  },
  {
    what: 'deleted',
    refusals: { token: 'AUTH_UNAUTHORIZED', key: 'api_key_invalid' },
    act: (root, id) => root.call('DELETE', `/api/user/${id}`),
  },
  { what: 'promoted', act: (root, id) => root.call('POST', '/api/user/manage', { id, action: 'promote' }) },
  {
    what: 're-passworded',
    act: (root, id) => root.call('PUT', '/api/user', { id, password: 'a third long password' }),
  },
];

for (const [name, count, shared] of SURROUNDINGS) {
  describe(`on ${name}`, () => {
    const nodes: Gateway[] = [];
    let redis: TestRedis | undefined;
    let vendor: VendorProcess;
    let proxy: HoldingProxy;
    let root: Administrator;

    beforeAll(async () => {
      vendor = await startVendor();
      proxy = await startHoldingProxy({ host: '127.0.0.1', port: vendor.port });
      const databaseUrl = name === 'SQLite' ? '' : await migratedDatabaseUrl();
      redis = shared ? await startRedis() : undefined;
      const env = { ...LONG_CACHE, TASK_POLL_INTERVAL_SECONDS: '1', ...(redis ? { REDIS_URL: redis.url } : {}) };
      for (let i = 0; i < count; i += 1) nodes.push(await startGateway({ databaseUrl, env }));
      root = await setUp(first());
      await root.createChannel(proxy.url);
      const price = { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' };
      await root.call('PUT', '/api/price', price);
    });
    afterAll(async () => {
      for (const node of nodes) await node.stop();
      await proxy?.stop();
      await vendor?.stop();
      await redis?.stop();
    });

    const first = (): Gateway => {
      const [node] = nodes;
      if (!node) throw new Error('no node was started');
      return node;
    };
    const last = (): Gateway => nodes.at(-1) ?? first();

    const makeUser = (username: string, fields: object = {}) => root.createUser({ username, ...fields });
    async function signIn(node: Gateway, username: string, password = PASSWORD) {
      const login = await ask(`${node.url}/api/user/login`, { body: { username, password } });
      expect([username, login.status]).toEqual([username, 200]);
      const cookie = login.headers.getSetCookie().find((line) => line.startsWith('svc_refresh_'));
      const { access_token: access } = login.body.data as { access_token: string };
      return { access, cookie: cookie?.split(';')[0] ?? '', caller: new Administrator(node.url, access) };
    }

    for (const { what, refusals, act } of ENDS) {
      test(`a ${what} user is out on every node at once`, async () => {
        const username = `${what}-user`;
        const id = await makeUser(username);
        const sessions = await Promise.all(nodes.map((node) => signIn(node, username)));
        const [session] = sessions;
        if (!session) throw new Error('no session was opened');
        const { caller } = session;
        const { token: pat } = await caller.call<{ token: string }>('POST', '/api/user/token');
        const key = await caller.createKey();
        // Every node has seen every credential, so that its caches have them.
        for (const node of nodes) {
          for (const { access } of sessions) expect(await readOutcome(node, access)).toEqual([200, undefined]);
          expect(await readOutcome(node, pat)).toEqual([200, undefined]);
          expect(await codeOfKey(node, key)).toBe('not_found');
        }

        await act(root, id);
        for (const [i, node] of nodes.entries()) {
          const who = `node ${i + 1}`;
          for (const { access } of sessions) {
            expect([who, ...(await readOutcome(node, access))]).toEqual([who, 401, 'AUTH_SESSION_REVOKED']);
          }
          const { cookie } = sessions[i] ?? session;
          const refreshed = await ask(`${node.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie } });
          expect([who, refreshed.status, refreshed.body.code]).toEqual([who, 401, 'AUTH_SESSION_REVOKED']);
          expect([who, ...(await readOutcome(node, pat))]).toEqual([
            who,
            ...(refusals ? [401, refusals.token] : [200, undefined]),
          ]);
          expect([who, await codeOfKey(node, key)]).toEqual([who, refusals?.key ?? 'not_found']);
        }
      });
    }

    test('an administrator who is demoted on one node writes nothing on another', async () => {
      const id = await makeUser('short-lived-admin');
      await root.call('POST', '/api/user/manage', { id, action: 'promote' });
      const target = await makeUser('target-of-admin');
      const { access } = await signIn(last(), 'short-lived-admin');
      const body = { id: target, remark: 'seen' };
      const write = () => ask(`${last().url}/api/user`, { method: 'PUT', token: access, body });
      expect((await write()).status).toBe(200);
      await root.call('POST', '/api/user/manage', { id, action: 'demote' });
      const refused = await write();
      expect([refused.status, refused.body.code]).toEqual([401, 'AUTH_SESSION_REVOKED']);
      const again = await signIn(last(), 'short-lived-admin');
      const denied = await ask(`${last().url}/api/user`, { method: 'PUT', token: again.access, body });
      expect([denied.status, denied.body.code]).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
    });

    test('running tasks of a deleted user finish: one is charged, one refunded, the ledger is in balance', async () => {
      const id = await makeUser('busy-user', { quota: 5 * BILL, email: 'busy@example.org' });
      const { caller } = await signIn(last(), 'busy-user');
      const key = await caller.createKey();
      const ids: string[] = [];
      // The vendor reports their end only after the user is deleted.
      Object.assign(proxy, { mode: 'hold_answers', match: 'GET /v1/jobs/' });
      for (const prompt of ['a cat [duration=1]', 'a cat [duration=1] [fail]']) {
        const submitted = await submit(last().url, key, { seconds: 5, prompt });
        expect(submitted.status).toBe(200);
        ids.push(String(submitted.body.task_id ?? submitted.body.id));
      }
      const readStatus = async (taskId: string) =>
        (await root.call<{ status: string }>('GET', `/api/task/${taskId}`)).status;
      for (const taskId of ids) expect(['SUCCESS', 'FAILURE']).not.toContain(await readStatus(taskId));

      const left = await root.call<{ quota: number }>('DELETE', `/api/user/${id}`);
      expect(left.quota).toBe(3 * BILL);
      proxy.release();
      for (const [i, ending] of ['SUCCESS', 'FAILURE'].entries()) {
        await until(`task ${i} ends`, async () => (await readStatus(ids[i] ?? '')) === ending);
      }
      const view = () => root.call<{ quota: number; used_quota: number }>('GET', `/api/user/${id}`);
      expect(await view()).toMatchObject({ username: `deleted:${id}`, quota: 4 * BILL, used_quota: BILL, api_keys: 0 });
      expect((await ask(`${first().url}/v1/tasks/${ids[0]}`, { token: key })).status).toBe(401);

      // Name and address are free for another person, who sees nothing of the former owner.
      await makeUser('busy-user', { email: 'busy@example.org' });
      const next = await signIn(first(), 'busy-user');
      expect(await next.caller.call('GET', '/api/task')).toMatchObject({ total: 0 });
      const doctor = await runBeside(first(), ['doctor', '--json']);
      expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining('"ok":true')]);
    });

    test('balances set while both nodes reserve for tasks stay the sum of their ledger lines', async () => {
      const id = await makeUser('paid-user', { quota: 10 * BILL });
      const { caller } = await signIn(first(), 'paid-user');
      const key = await caller.createKey();
      const change = (more: object) => root.call('POST', '/api/user/manage', { id, action: 'add_quota', ...more });
      await Promise.all(
        Array.from({ length: 24 }, (_, i) => {
          if (i % 3 === 0) return change({ mode: 'override', value: (8 + i) * BILL });
          if (i % 3 === 1) return change({ mode: 'add', value: 7, idempotency_key: `k${i % 2}` });
          return submit(nodes[i % nodes.length]?.url ?? first().url, key, {
            seconds: 5,
            prompt: 'a cat [duration=0.2]',
          });
        }),
      );
      const doctor = await runBeside(first(), ['doctor', '--json']);
      expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining('"ok":true')]);
    });
  });
}

async function readOutcome(node: Gateway, token: string): Promise<[number, unknown]> {
  const answer = await ask(`${node.url}/api/user/self`, { token });
  return [answer.status, answer.body.code];
}

/** A valid key gets 404 for a task that does not exist. */
async function codeOfKey(node: Gateway, key: string): Promise<unknown> {
  const answer = await ask(`${node.url}/v1/videos/task_of_nobody`, { token: key });
  return (answer.body.error as { code?: unknown } | undefined)?.code;
}
