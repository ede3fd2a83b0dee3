import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Auth } from '../../src/auth/index.ts';
import { newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { connectRedis, createNoSessionCache, createRedisSessionCache, openStore } from '../../src/store/index.ts';
import type { SessionCache, Store } from '../../src/store/ports/index.ts';
import { type OwnRedis, startOwnRedis } from '../support/own-redis.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { type Dialect, openAuth, overriding } from './harness.ts';
import type { TestClock } from './test-clock.ts';

/** How the nodes' session caches belong together. */
export type Topology = 'shared' | 'independent' | 'none';

export type TestNode = {
  auth: Auth;
  store: Store;
  cache: SessionCache;
  /** How often this node has read a session from the database. */
  sessionReads(): number;
  /** Resolves when this node believes what its cache remembers from now on. */
  believes(): Promise<void>;
};

export type TwoNodes = {
  a: TestNode;
  b: TestNode;
  /** The servers of the caches: none, the shared one, or A's and B's. */
  servers: OwnRedis[];
  databaseUrl: string;
  dataDir: string;
  stop(): Promise<void>;
};

/** Two nodes, each with a store and connections of its own, over one database. */
export async function openTwoNodes(options: {
  dialect: Dialect;
  topology: Topology;
  ttlSeconds: number;
  clock: TestClock;
}): Promise<TwoNodes> {
  const { dialect, topology, ttlSeconds, clock } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'taskgate-nodes-'));
  const databaseUrl = dialect === 'postgres' ? await testDatabaseUrl() : '';
  const serverCount = { none: 0, shared: 1, independent: 2 }[topology];
  const servers = await Promise.all(Array.from({ length: serverCount }, startOwnRedis));
  const closing: (() => unknown)[] = [];

  async function openNode(server: OwnRedis | undefined): Promise<TestNode> {
    const store = await openStore({
      ...{ databaseUrl, dataDir, synchronous: 'NORMAL' as const },
      ...{ clock: systemClock, logger: silentLogger },
    });
    closing.push(() => store.close());
    let reads = 0;
    const sessions = overriding(store.sessions, {
      bySid: (sid) => {
        reads += 1;
        return store.sessions.bySid(sid);
      },
    });
    const redis = server && connectRedis({ url: server.url, logger: silentLogger });
    if (redis) closing.push(() => redis.disconnect());
    const cache = redis
      ? createRedisSessionCache({ redis, clock, logger: silentLogger, ttlSeconds, cryptoSecrets: ['of the tests'] })
      : createNoSessionCache();
    return {
      store,
      auth: openAuth(overriding(store, { sessions }), { clock, sessionCache: cache }),
      cache,
      sessionReads: () => reads,
      believes: () => believes(cache),
    };
  }

  const a = await openNode(servers[0]);
  const b = await openNode(servers.at(-1));
  return {
    ...{ a, b, servers, databaseUrl, dataDir },
    async stop() {
      for (const close of closing) await close();
      for (const server of servers) await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function believes(cache: SessionCache): Promise<void> {
  const sid = newUuid();
  const session = { userId: 1, userAuthVersion: 1, version: 1, expiresAt: 2 ** 40 };
  return until(async () => {
    const reading = await cache.get(sid);
    if (!reading) return !cache.enabled;
    await cache.remember(sid, session, reading.at);
    return (await cache.get(sid))?.state === 'active';
  });
}
