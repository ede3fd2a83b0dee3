import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { type Clock, newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { SessionCache, Store } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisSessionCache } from '../../src/store/redis/index.ts';
import { addUser } from '../support/add-user.ts';
import { type OwnRedis, startOwnRedis } from '../support/own-redis.ts';
import { withoutTimeout } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { openAuth, openTestStore, refreshWith, signIn } from './harness.ts';

/** Two nodes during a secret rotation: each knows both secrets, in a different order. */
const OLD = 'the former secret of the tests, long enough';
const NEW = 'the present secret of the tests, long enough';
const ROUNDS = [
  [OLD, NEW],
  [NEW, OLD],
] as const;

let redis: OwnRedis;
let store: Store;
let stop: () => Promise<void>;
const closing: (() => void)[] = [];
beforeAll(async () => {
  redis = await startOwnRedis();
  ({ store, stop } = await openTestStore('sqlite'));
});
afterAll(async () => {
  for (const close of closing) close();
  await stop();
  await redis.stop();
});

function openCache(cryptoSecrets: readonly [string, ...string[]]): SessionCache {
  const connection = connectRedis({ url: withoutTimeout(redis.url), logger: silentLogger });
  closing.push(() => connection.disconnect());
  const clock: Clock = systemClock;
  return createRedisSessionCache({ redis: connection, clock, logger: silentLogger, ttlSeconds: 60, cryptoSecrets });
}

test('nodes before and after their restart accept each other’s tokens', async () => {
  const nodes = ROUNDS.map((sessionSecrets) => openAuth(store, { config: { sessionSecrets } })) as [Auth, Auth];
  const user = await addUser(store);
  let signedIn = await signIn(nodes[0], user);
  for (let i = 0; i < 6; i += 1) {
    const former = signedIn.refreshToken;
    const answers = await Promise.all([...nodes, ...nodes].map((node) => refreshWith(node, former)));
    expect(new Set(answers.map(({ refreshToken }) => refreshToken)).size).toBe(1);
    for (const { bundle } of answers) {
      for (const node of nodes) await node.authenticatePanel(`Bearer ${bundle.access_token}`);
    }
    signedIn = answers[i % 4] as typeof signedIn;
    // The next rotation goes to the other node first.
    nodes.reverse();
  }
});

test('a session that one node ends ends at once on the other, although they digest its id under different secrets', async () => {
  const caches = ROUNDS.map(openCache) as [SessionCache, SessionCache];
  for (const [from, to] of [caches, [...caches].reverse() as [SessionCache, SessionCache]]) {
    const sid = newUuid();
    const session = { userId: 1, userAuthVersion: 1, version: 1, expiresAt: systemClock.unix() + 3600 };
    await until(async () => {
      const reading = await to.get(sid);
      if (reading) await to.remember(sid, session, reading.at);
      return (await to.get(sid))?.state === 'active';
    });
    await from.markRevoking([{ sid, expiresAt: session.expiresAt }]);
    expect((await to.get(sid))?.state).toBe('revoking');
    await from.writeTombstones([{ sid, expiresAt: session.expiresAt }]);
    expect((await to.get(sid))?.state).toBe('revoked');
  }
});
