/** Two nodes over one database, in every cache topology. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { SignedIn } from '../../src/auth/index.ts';
import type { UserRecord } from '../../src/store/ports/index.ts';
import { deleteUser, runRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { bearer, ORIGIN, refreshWith, signIn } from './harness.ts';
import { longestEntry } from './longest-entry.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';
import { openTwoNodes, type TestNode, type Topology, type TwoNodes } from './two-nodes.ts';

/**
 * SYNC_FREQUENCY of the nodes. Independent caches see an end after this time, and no test should
 * wait a minute.
 */
const TTL_SECONDS = { shared: 60, independent: 1, none: 60 } as const satisfies Record<Topology, number>;

for (const dialect of DATABASES) {
  for (const topology of ['shared', 'independent', 'none'] as const) {
    describe(`two nodes on ${dialect}, caches: ${topology}`, () => {
      let clock: TestClock;
      let nodes: TwoNodes;
      let a: TestNode;
      let b: TestNode;
      let user: UserRecord;

      beforeAll(async () => {
        clock = createTestClock();
        nodes = await openTwoNodes({ dialect, topology, ttlSeconds: TTL_SECONDS[topology], clock });
        ({ a, b } = nodes);
        await Promise.all([a.believes(), b.believes()]);
      });
      afterAll(() => nodes.stop());
      beforeEach(async () => {
        user = await addUser(a.store);
      });

      /** Signs in on A and uses the session on B. */
      async function signInSeen(): Promise<SignedIn> {
        const signedIn = await signIn(a.auth, user);
        await b.auth.authenticatePanel(bearer(signedIn));
        return signedIn;
      }
      const isRefused = (node: TestNode, signedIn: SignedIn) =>
        node.auth.authenticatePanel(bearer(signedIn)).then(
          () => false,
          () => true,
        );
      /** A and B refuse at once; with independent caches B refuses when its entry expires. */
      async function expectEnded(signedIn: SignedIn): Promise<void> {
        await refusal(a.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        if (topology === 'independent') {
          expect(await nodes.servers.at(-1)?.look(longestEntry)).toBeLessThanOrEqual(TTL_SECONDS.independent * 1000);
          await until(() => isRefused(b, signedIn));
        }
        await refusal(b.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        for (const node of [a, b]) await refusal(refreshWith(node.auth, signedIn.refreshToken), 'auth.session_revoked');
      }

      /** Whether B checks a token without reading its session from the database. */
      const remembers = async (authorization: string): Promise<boolean> => {
        const before = b.sessionReads();
        await b.auth.authenticatePanel(authorization);
        return b.sessionReads() === before;
      };
      /** An entry may expire at the moment of the check: one successful check is enough. */
      const expectRemembered = async (authorization: string): Promise<void> => {
        if (topology === 'none') expect(await remembers(authorization)).toBe(false);
        else await until(() => remembers(authorization));
      };

      test('a session that a node has just checked is checked again without reading the database', async () => {
        await expectRemembered(bearer(await signInSeen()));
      });

      test('signed out on A: B refuses', async () => {
        for (const withBearer of [true, false]) {
          const signedIn = await signInSeen();
          const authorization = withBearer ? bearer(signedIn) : undefined;
          await a.auth.sessions.signOut({
            refreshToken: signedIn.refreshToken,
            authorization,
            expectedSid: undefined,
            origin: ORIGIN,
          });
          await expectEnded(signedIn);
        }
      });

      test('revoked on A by another session of the user: B refuses', async () => {
        const [signedIn, other] = [await signInSeen(), await signIn(a.auth, user)];
        const principal = await a.auth.authenticatePanel(bearer(other));
        await a.auth.sessions.revoke(principal, signedIn.bundle.session.sid);
        await expectEnded(signedIn);
        expect(await isRefused(b, other)).toBe(false);
      });

      test('all others revoked on A: B refuses them and accepts the kept one', async () => {
        const [first, second, own] = [await signInSeen(), await signInSeen(), await signInSeen()];
        const done = await a.auth.sessions.revokeOthers(await a.auth.authenticatePanel(bearer(own)));
        expect(done).toEqual({ revoked_count: 2 });
        for (const ended of [first, second]) await expectEnded(ended);
        expect(await isRefused(b, own)).toBe(false);
      });

      test('stolen refresh token, detected on A: B refuses the access token', async () => {
        const signedIn = await signInSeen();
        await refreshWith(a.auth, signedIn.refreshToken);
        clock.advance(31);
        await refusal(refreshWith(a.auth, signedIn.refreshToken), 'auth.session_revoked');
        await expectEnded(signedIn);
      });

      test('a new password on A: its token works on B at once, the old one and all other sessions do not', async () => {
        const [own, other] = [await signInSeen(), await signInSeen()];
        const principal = await a.auth.authenticatePanel(bearer(own));
        const change = { currentPassword: PASSWORD, newPassword: 'another fine password', origin: ORIGIN };
        const rotated = await a.auth.passwords.change(principal, change);
        await b.auth.authenticatePanel(`Bearer ${rotated.access_token}`);
        for (const signedIn of [own, other]) {
          await refusal(b.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
          await refusal(a.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        }
        const refreshed = await refreshWith(b.auth, own.refreshToken);
        await a.auth.authenticatePanel(bearer(refreshed));
        await expectRemembered(`Bearer ${rotated.access_token}`);
      });

      test('a password reset on A: every session is refused on B at once', async () => {
        const sessions = [await signInSeen(), await signInSeen()];
        await a.auth.passwords.reset({
          username: user.username,
          password: 'another fine password',
          resetFactors: false,
        });
        for (const signedIn of sessions) {
          await refusal(b.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
          await refusal(refreshWith(b.auth, signedIn.refreshToken), 'auth.session_revoked');
        }
      });

      test.each([
        ['who is disabled', (id: number) => runRaw(nodes, `update users set status = 2 where id = ${id}`)],
        ['who is deleted', (id: number) => deleteUser(nodes, id)],
        [
          'whose auth version moved',
          (id: number) => runRaw(nodes, `update users set auth_version = auth_version + 1 where id = ${id}`),
        ],
      ])('a user %s: both nodes refuse at once', async (_, change) => {
        const signedIn = await signInSeen();
        await change(user.id);
        for (const node of [b, a]) {
          await refusal(node.auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
        }
        await refusal(refreshWith(b.auth, signedIn.refreshToken), 'auth.session_revoked');
        await refusal(refreshWith(a.auth, signedIn.refreshToken), 'auth.session_revoked');
      });

      test('a changed role is seen by both nodes at once', async () => {
        const signedIn = await signInSeen();
        await runRaw(nodes, `update users set role = 10 where id = ${user.id}`);
        for (const node of [a, b]) {
          expect((await node.auth.authenticatePanel(bearer(signedIn))).user.role).toBe(10);
        }
      });

      test('an expired session is refused, whatever is cached', async () => {
        const { bundle, refreshToken } = await signIn(a.auth, user);
        const end = clock.unix() + 50;
        await runRaw(nodes, `update user_sessions set expires_at = ${end} where sid = '${bundle.session.sid}'`);
        const last = await refreshWith(a.auth, refreshToken);
        expect(last.bundle.access_expires_at).toBe(end);
        await b.auth.authenticatePanel(bearer(last));
        // The token itself has a leeway of some seconds for clocks that differ.
        clock.advance(50);
        for (const node of [a, b]) await refusal(node.auth.authenticatePanel(bearer(last)), 'auth.session_revoked');
      });

      test('a hundred concurrent refreshes with one token on both nodes: one rotation, equal successors', async () => {
        const signedIn = await signIn(a.auth, user);
        const { sid } = signedIn.bundle.session;
        const results = await Promise.all(
          Array.from({ length: 100 }, (_, i) => refreshWith(i % 2 ? a.auth : b.auth, signedIn.refreshToken)),
        );
        const [successor, ...others] = new Set(results.map(({ refreshToken }) => refreshToken));
        expect(others).toEqual([]);
        expect(new Set(results.map(({ bundle }) => bundle.access_token)).size).toBe(100);
        for (const result of results.slice(0, 4)) expect(await isRefused(b, result)).toBe(false);
        // Exactly one rotation: the first token is still the previous generation.
        expect((await refreshWith(b.auth, signedIn.refreshToken)).refreshToken).toBe(successor ?? '');
        expect((await a.store.sessions.bySid(sid))?.status).toBe('active');
      });
    });
  }
}
