/**
 * Privilege escalation on the executable: nobody changes an account of the same or a higher rank,
 * or their own by an administrator's route.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASE_NAMES } from '../support/databases.ts';
import { type Administrator, ask, type Gateway, setUp, signIn, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';

const ROOT_ID = 1;
const USER = 1;
const ADMIN = 10;

type Request = [method: string, path: string, body?: Record<string, unknown>];

/** All changes that can be made to an account. */
const requestsTo = (id: number): Request[] => [
  ['PUT', '/api/user', { id, remark: 'x' }],
  ['PUT', '/api/user', { id, password: 'taken over by somebody' }],
  ...['enable', 'disable', 'promote', 'demote', 'delete'].map(
    (action): Request => ['POST', '/api/user/manage', { id, action }],
  ),
  ['POST', '/api/user/manage', { id, action: 'add_quota', mode: 'override', value: 0 }],
  ['DELETE', `/api/user/${id}`],
  ['DELETE', `/api/user/${id}/2fa`],
  ['DELETE', `/api/user/${id}/reset_passkey`],
  ['DELETE', `/api/user/${id}/token`],
  ['DELETE', `/api/user/${id}/bindings/github`],
  ['DELETE', `/api/user/${id}/bindings/email`],
  ['GET', `/api/user/${id}/sessions`],
  ['DELETE', `/api/user/${id}/sessions`],
];

for (const database of RULE_DATABASE_NAMES) {
  describe(`on ${database}`, () => {
    let gateway: Gateway;
    let root: Administrator;
    let people = 0;

    beforeAll(async () => {
      gateway = await startGateway({
        databaseUrl: database === 'SQLite' ? '' : await migratedDatabaseUrl(),
        env: { CRITICAL_RATE_LIMIT: '100000' },
      });
      root = await setUp(gateway);
    });
    afterAll(() => gateway?.stop());

    async function make(role: number): Promise<{ id: number; token: string }> {
      people += 1;
      const username = `person${people}`;
      const id = await root.createUser({ username, role });
      return { id, token: (await signIn(gateway.url, { username })).token };
    }
    async function listRefusals(token: string, requests: Request[]): Promise<unknown[]> {
      const outcomes = [];
      for (const [method, path, body] of requests) {
        const { status, body: answer } = await ask(`${gateway.url}${path}`, {
          method,
          token,
          ...(body ? { body } : {}),
        });
        if (status !== 403) outcomes.push([method, path, body ?? null, status, answer.code ?? null]);
      }
      return outcomes;
    }
    const look = (id: number) => root.call<Record<string, unknown>>('GET', `/api/user/${id}`);

    test('an administrator cannot change a peer or root', async () => {
      const [operator, peer] = [await make(ADMIN), await make(ADMIN)];
      const before = [await look(peer.id), await look(ROOT_ID)];
      for (const id of [peer.id, ROOT_ID]) {
        expect(await listRefusals(operator.token, [['GET', `/api/user/${id}`], ...requestsTo(id)])).toEqual([]);
      }
      expect([await look(peer.id), await look(ROOT_ID)]).toEqual(before);
      expect((await ask(`${gateway.url}/api/user/self`, { token: peer.token })).status).toBe(200);
    });

    test('an administrator cannot create or promote a peer, nor read options, providers or the audit log', async () => {
      const [operator, user] = [await make(ADMIN), await make(USER)];
      const requests: Request[] = [
        ['POST', '/api/user', { username: 'a-new-admin', password: PASSWORD, role: ADMIN }],
        ['POST', '/api/user', { username: 'a-new-root', password: PASSWORD, role: 100 }],
        ['POST', '/api/user/manage', { id: user.id, action: 'promote' }],
        ['GET', '/api/option'],
        ['PUT', '/api/option', { key: 'RegisterEnabled', value: 'true' }],
        ['POST', '/api/option/test', { what: 'telegram' }],
        ['GET', '/api/custom-oauth-provider'],
        ['GET', '/api/audit'],
        ['DELETE', `/api/user/${user.id}/sessions`],
      ];
      // The role of root cannot be given at all.
      const others = (await listRefusals(operator.token, requests)).filter(
        (outcome) => (outcome as unknown[])[3] !== 400,
      );
      expect(others).toEqual([]);
      expect((await look(user.id)).role).toBe(USER);
    });

    test('a user cannot change any account', async () => {
      const [user, other] = [await make(USER), await make(USER)];
      for (const id of [user.id, other.id, ROOT_ID]) {
        expect(await listRefusals(user.token, [['GET', `/api/user/${id}`], ...requestsTo(id)])).toEqual([]);
      }
    });

    test('root cannot be disabled, promoted, demoted or deleted, not even by root', async () => {
      const before = await look(ROOT_ID);
      const requests = [
        ...['disable', 'promote', 'demote', 'delete'].map(
          (action): Request => ['POST', '/api/user/manage', { id: ROOT_ID, action }],
        ),
        ['DELETE', `/api/user/${ROOT_ID}`] satisfies Request,
        ['PUT', '/api/user', { id: ROOT_ID, password: 'taken over by somebody' }] satisfies Request,
      ];
      expect(await listRefusals(root.token, requests as Request[])).toEqual([]);
      expect(await look(ROOT_ID)).toEqual(before);
    });
  });
}
