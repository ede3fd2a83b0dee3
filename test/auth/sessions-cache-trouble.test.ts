/**
 * A shared cache that fails during traffic on two nodes: no valid session is refused and no ended
 * one is accepted.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { createAccessTokens } from '../../src/auth/tokens/access-tokens.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import type { Clock } from '../../src/kernel/index.ts';
import { newSession } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { DATABASES } from '../support/databases.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { until } from '../support/until.ts';
import { ORIGIN, testConfig } from './harness.ts';
import { createTestClock, type TestClock } from './test-clock.ts';
import { countTimeouts, openTwoNodes, type TwoNodes } from './two-nodes.ts';

type Faults = { refusedValid: number; acceptedRevoked: number; mostTimeouts: number; checks: number; ended: number };

/**
 * Sends requests to both nodes until `stop`: for sessions that stay, that end one after the other,
 * and that have ended. Counts wrong answers.
 */
async function startTraffic({ a, b }: TwoNodes, clock: Clock): Promise<{ faults: Faults; stop(): Promise<Faults> }> {
  const faults: Faults = { refusedValid: 0, acceptedRevoked: 0, mostTimeouts: 0, checks: 0, ended: 0 };
  const nodes: Auth[] = [a.auth, b.auth];
  const user = await addUser(a.store);
  const accessTokens = createAccessTokens(deriveSessionKeys(testConfig().sessionSecrets).access, clock);
  /** Opens sessions as a login does, without hashing passwords. Gives their headers. */
  const open = (count: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const times = { createdAt: clock.unix(), lastActiveAt: clock.unix(), expiresAt: clock.unix() + 3600 };
        const session = newSession(user.id, times);
        await a.store.sessions.insert(session);
        const subject = { userId: user.id, sid: session.sid, userAuthVersion: 1, sessionVersion: 1 };
        return `Bearer ${(await accessTokens.sign(subject, session.expiresAt)).token}`;
      }),
    );
  const staying = await open(4);
  const ending = await open(400);
  /** Sessions whose end was answered, and those whose end has at least begun. */
  const [ended, touched] = [new Set<string>(), new Set<string>()];
  let running = true;

  const check = async (node: Auth, authorization: string) => {
    const wasEnded = ended.has(authorization);
    let accepted = false;
    const timeouts = await countTimeouts(async () => {
      accepted = await node.authenticatePanel(authorization).then(
        () => true,
        () => false,
      );
    });
    faults.checks += 1;
    faults.mostTimeouts = Math.max(faults.mostTimeouts, timeouts);
    if (accepted && wasEnded) faults.acceptedRevoked += 1;
    if (!accepted && !touched.has(authorization)) faults.refusedValid += 1;
  };
  const ask = async (seed: number) => {
    for (let i = seed; running; i += 1) {
      const node = nodes[i % 2] ?? a.auth;
      const choice = [staying, ending, [...ended]][i % 3] ?? [];
      const authorization = choice[(i * 7) % choice.length];
      if (authorization) await check(node, authorization);
      // SQLite answers without yielding, which would starve the test itself. Hundreds
      // of requests a second are traffic enough.
      await Bun.sleep(10);
    }
  };
  const end = async () => {
    for (let i = 0; running && i < ending.length; i += 1) {
      const authorization = ending[i];
      if (!authorization) break;
      touched.add(authorization);
      await nodes[i % 2]?.sessions.signOut({
        refreshToken: undefined,
        authorization,
        expectedSid: undefined,
        origin: ORIGIN,
      });
      ended.add(authorization);
      faults.ended += 1;
      // Before any other request, on both nodes.
      await Promise.all(nodes.map((node) => check(node, authorization)));
      await Bun.sleep(10);
    }
  };
  // Every session is cached before the first one ends.
  await Promise.all([...staying, ...ending].map((authorization) => check(a.auth, authorization)));
  const work = [ask(0), ask(1), ask(2), end()];
  return {
    faults,
    async stop() {
      running = false;
      await Promise.all(work);
      for (const authorization of staying) await b.auth.authenticatePanel(authorization);
      return faults;
    },
  };
}

for (const dialect of IS_FULL_RUN ? DATABASES : (['postgres'] as const)) {
  describe(`a shared cache in trouble, on ${dialect}`, () => {
    let clock: TestClock;
    let nodes: TwoNodes;
    beforeEach(async () => {
      clock = createTestClock();
      nodes = await openTwoNodes({ dialect, topology: 'shared', ttlSeconds: 60, clock });
      await Promise.all([nodes.a.believes(), nodes.b.believes()]);
    });
    afterEach(() => nodes.stop());

    const server = () => {
      const [only] = nodes.servers;
      if (!only) throw new Error('there is no cache');
      return only;
    };
    const areAway = () => until(async () => !(await nodes.a.cache.get('any')) && !(await nodes.b.cache.get('any')));
    const goOn = (faults: Faults, checks: number) => {
      const goal = faults.checks + checks;
      return until(() => faults.checks >= goal);
    };

    test('killed and restarted with older data: valid sessions are accepted, revoked ones refused', async () => {
      const traffic = await startTraffic(nodes, clock);
      await goOn(traffic.faults, 200);
      await server().look((redis) => redis.save());
      await goOn(traffic.faults, 200);
      await server().kill();
      await areAway();
      // The nodes have no Redis timeout here: a check that waited for the dead server would never
      // return.
      await goOn(traffic.faults, 300);
      await server().start();
      await Promise.all([nodes.a.believes(), nodes.b.believes()]);
      await goOn(traffic.faults, 300);
      await until(() => traffic.faults.ended > 20);
      const faults = await traffic.stop();
      expect(faults).toMatchObject({ refusedValid: 0, acceptedRevoked: 0 });
    });

    testInFullRun('restarted twice: the nodes reconnect at different moments', async () => {
      const traffic = await startTraffic(nodes, clock);
      for (let i = 0; i < 2; i += 1) {
        await goOn(traffic.faults, 100);
        await server().kill();
        await server().start();
        await Promise.all([nodes.a.believes(), nodes.b.believes()]);
      }
      const faults = await traffic.stop();
      expect(faults).toMatchObject({ refusedValid: 0, acceptedRevoked: 0 });
    });

    test('hung and recovering: checks wait for it once', async () => {
      const traffic = await startTraffic(nodes, clock);
      await goOn(traffic.faults, 200);
      const waitAgain = nodes.hurry();
      server().pause();
      await areAway();
      await goOn(traffic.faults, 300);
      server().resume();
      waitAgain();
      await Promise.all([nodes.a.believes(), nodes.b.believes()]);
      const faults = await traffic.stop();
      expect(faults).toMatchObject({ refusedValid: 0, acceptedRevoked: 0 });
      expect(faults.mostTimeouts).toBeLessThanOrEqual(1);
    });
  });
}
