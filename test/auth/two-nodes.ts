import { AsyncLocalStorage } from 'node:async_hooks';
import { rm } from 'node:fs/promises';
import type { Auth } from '../../src/auth/index.ts';
import { newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createNoSessionCache, openStore } from '../../src/store/index.ts';
import type { SessionCache, Store } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisSessionCache } from '../../src/store/redis/index.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { type OwnRedis, startOwnRedis } from '../support/own-redis.ts';
import { withoutTimeout } from '../support/redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Dialect, openAuth, overriding } from './harness.ts';
import type { TestClock } from './test-clock.ts';

/** The topology of the nodes' session caches. */
export type Topology = 'shared' | 'independent' | 'none';

export type TestNode = {
  auth: Auth;
  store: Store;
  cache: SessionCache;
  /** How often this node has read a session from the database. */
  sessionReads(): number;
  /** Resolves when this node trusts its cache. */
  believes(): Promise<void>;
};

export type TwoNodes = {
  a: TestNode;
  b: TestNode;
  /** The servers of the caches: none, the shared one, or A's and B's. */
  servers: OwnRedis[];
  databaseUrl: string;
  dataDir: string;
  /**
   * From now on the nodes time out on their caches as the gateway does. Before, and again after
   * the returned function was called, they wait without limit.
   */
  hurry(): () => void;
  stop(): Promise<void>;
};

/** As the gateway's. */
const COMMAND_TIMEOUT_MS = 500;

/** Two nodes, each with a store and connections of its own, over one database. */
export async function openTwoNodes(options: {
  dialect: Dialect;
  topology: Topology;
  ttlSeconds: number;
  clock: TestClock;
}): Promise<TwoNodes> {
  const { dialect, topology, ttlSeconds, clock } = options;
  const dataDir = temporaryFolder();
  const databaseUrl = dialect === 'postgres' ? await migratedDatabaseUrl() : '';
  const serverCount = { none: 0, shared: 1, independent: 2 }[topology];
  const servers = await Promise.all(Array.from({ length: serverCount }, startOwnRedis));
  const closing: (() => unknown)[] = [];
  const connections: ReturnType<typeof connectRedis>[] = [];

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
      withUser: (sid) => {
        reads += 1;
        return store.sessions.withUser(sid);
      },
    });
    const redis = server && connectRedis({ url: withoutTimeout(server.url), logger: silentLogger });
    if (redis) {
      closing.push(() => redis.disconnect());
      connections.push(redis);
      readCountTimeouts(redis);
    }
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
    hurry() {
      for (const { options } of connections) options.commandTimeout = COMMAND_TIMEOUT_MS;
      return () => {
        for (const { options } of connections) delete options.commandTimeout;
      };
    },
    async stop() {
      for (const close of closing) await close();
      for (const server of servers) await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const timeouts = new AsyncLocalStorage<{ count: number }>();

/**
 * How many cache commands timed out during `work`. Commands on a lost connection fail at once and
 * do not count.
 */
export async function countTimeouts(work: () => Promise<unknown>): Promise<number> {
  const seen = { count: 0 };
  await timeouts.run(seen, work);
  return seen.count;
}

function readCountTimeouts(redis: ReturnType<typeof connectRedis>): void {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...command) => {
    const seen = timeouts.getStore();
    const answer = send(...command);
    if (seen && answer instanceof Promise) {
      answer.catch((error: Error) => {
        if (error.message === 'Command timed out') seen.count += 1;
      });
    }
    return answer;
  };
}

async function believes(cache: SessionCache): Promise<void> {
  const sid = newUuid();
  const session = { userId: 1, userAuthVersion: 1, version: 1, expiresAt: 2 ** 40 };
  await until(async () => {
    const reading = await cache.get(sid);
    if (!reading) return !cache.enabled;
    await cache.remember(sid, session, reading.at);
    return (await cache.get(sid))?.state === 'active';
  });
}
