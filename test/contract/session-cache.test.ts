import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type Clock,
  type Logger,
  newUuid,
  type ReportCacheSize,
  silentLogger,
  systemClock,
} from '../../src/kernel/index.ts';
import { createNoSessionCache } from '../../src/store/index.ts';
import type { CachedSession, CacheReading, SessionCache } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisSessionCache } from '../../src/store/redis/index.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { monitorRedis } from '../support/monitor-redis.ts';
import { type OwnRedis, startOwnRedis } from '../support/own-redis.ts';
import { until } from '../support/until.ts';

const SECRET = 'a crypto secret of the tests';
const HOUR = 3600;
/** The effective SYNC_FREQUENCY where a test does not wait for entries to expire. */
const TTL = 600;

/**
 * `hurry`: from now on commands have the product's time limit. Before, they wait as long as a busy
 * machine needs.
 */
type Node = SessionCache & { isConnected(): boolean; hurry(): void; close(): void };

function openNode(
  url: string,
  options: {
    ttlSeconds?: number;
    clock?: Clock;
    logger?: Logger;
    cryptoSecret?: string;
    reportCacheSize?: ReportCacheSize;
  } = {},
): Node {
  const logger = options.logger ?? silentLogger;
  const redis = connectRedis({ url, logger: silentLogger });
  const { commandTimeout } = redis.options;
  redis.options.commandTimeout = 60_000;
  const cache = createRedisSessionCache({
    redis,
    clock: options.clock ?? systemClock,
    logger,
    ttlSeconds: options.ttlSeconds ?? TTL,
    cryptoSecrets: [options.cryptoSecret ?? SECRET],
    ...(options.reportCacheSize ? { reportCacheSize: options.reportCacheSize } : {}),
  });
  return {
    ...cache,
    isConnected: () => redis.status === 'ready',
    hurry() {
      redis.options.commandTimeout = commandTimeout;
    },
    close: () => redis.disconnect(),
  };
}

const newSession = (change: Partial<CachedSession> = {}): CachedSession => ({
  userId: 7,
  userAuthVersion: 3,
  version: 2,
  expiresAt: systemClock.unix() + HOUR,
  ...change,
});

/** A reading of the node; the cache must be reachable. */
async function read(node: SessionCache, sid: string): Promise<CacheReading> {
  const reading = await node.get(sid);
  if (!reading) throw new Error('the cache is unreachable');
  return reading;
}
const readState = async (node: SessionCache, sid: string) => (await node.get(sid))?.state;

/** Writes as a node does that has just read the database. */
async function reread(node: SessionCache, sid: string, session = newSession()): Promise<void> {
  const reading = await node.get(sid);
  if (reading) await node.remember(sid, session, reading.at);
}

/** Resolves when a node trusts the cache again. */
const believes = async (node: SessionCache): Promise<void> => {
  const sid = newUuid();
  await until(async () => {
    await reread(node, sid);
    return (await readState(node, sid)) === 'active';
  });
};

const ending = (sid: string, seconds = HOUR) => ({ sid, expiresAt: systemClock.unix() + seconds });

/** One of the server's statistics. Reading it opens a connection. */
const stat = async (server: OwnRedis, name: string): Promise<number> =>
  Number((await server.look((redis) => redis.info('stats'))).match(`${name}:(\\d+)`)?.[1]);

/** The time to live, in milliseconds, of the one key which `write` sets; -2: it set none. */
async function lifeOfWhat(server: OwnRedis, write: () => Promise<void>): Promise<number> {
  const lives: number[] = [];
  const last = newUuid();
  const seen = Promise.withResolvers<void>();
  const monitor = await monitorRedis(server.url, ([command, key = '', , , life]) => {
    if (command?.toLowerCase() === 'set' && key.startsWith('taskgate:session:')) lives.push(Number(life));
    if (key === last) seen.resolve();
  });
  try {
    await write();
    await server.look((redis) => redis.echo(last));
    await seen.promise;
  } finally {
    monitor.close();
  }
  const [made = -2, ...others] = lives;
  expect(others).toEqual([]);
  return made;
}

test('without a server every reading is undefined, and every write does nothing', async () => {
  const cache = createNoSessionCache();
  expect(cache.enabled).toBe(false);
  await cache.remember('s', newSession(), 1);
  await cache.markRevoking([ending('s')]);
  await cache.writeTombstones([ending('s')]);
  expect(await cache.get('s')).toBeUndefined();
});

describe('the session cache in a running server', () => {
  let server: OwnRedis;
  let a: Node;
  let b: Node;
  const nodes: Node[] = [];
  const open = (options: Parameters<typeof openNode>[1] = {}) => {
    const node = openNode(server.url, options);
    nodes.push(node);
    return node;
  };

  beforeAll(async () => {
    server = await startOwnRedis();
    a = open();
    b = open();
    await Promise.all([believes(a), believes(b)]);
  });
  afterAll(async () => {
    for (const node of nodes) node.close();
    await server.stop();
  });

  test('a node reads what another has written; anything else is unknown', async () => {
    const sid = newUuid();
    const session = newSession();
    expect(await read(a, sid)).toMatchObject({ state: 'unknown' });
    await reread(a, sid, session);
    expect(await read(b, sid)).toEqual({ state: 'active', session, at: expect.any(Number) });
  });

  test('keys show no session id and depend on the secret', async () => {
    const sid = newUuid();
    await reread(a, sid);
    const stored = await server.look(async (redis) => {
      const keys = await redis.keys('*');
      return JSON.stringify([keys, await redis.mget(keys)]);
    });
    expect(stored).not.toContain(sid);
    const stranger = open({ cryptoSecret: 'another secret' });
    await believes(stranger);
    expect(await readState(stranger, sid)).toBe('unknown');
  });

  test('a session marked revoking makes every node read the database; a tombstone is final', async () => {
    const sid = newUuid();
    await reread(b, sid);
    await a.markRevoking([ending(sid)]);
    expect(await readState(b, sid)).toBe('revoking');
    await a.writeTombstones([ending(sid)]);
    expect(await readState(b, sid)).toBe('revoked');
    await b.markRevoking([ending(sid)]);
    expect(await readState(b, sid)).toBe('revoked');
  });

  test('no reading of the database replaces a tombstone, of either kind', async () => {
    const [announced, ended] = [newUuid(), newUuid()];
    await a.markRevoking([ending(announced)]);
    await a.writeTombstones([ending(ended)]);
    for (const sid of [announced, ended]) await reread(b, sid, newSession({ version: 99, userAuthVersion: 99 }));
    expect(await readState(b, announced)).toBe('revoking');
    expect(await readState(b, ended)).toBe('revoked');
  });

  test('late write-back: read before the revocation, written after its tombstone', async () => {
    const sid = newUuid();
    const { at } = await read(b, sid);
    await a.markRevoking([ending(sid)]);
    await a.writeTombstones([ending(sid)]);
    await b.remember(sid, newSession(), at);
    expect(await readState(b, sid)).toBe('revoked');
  });

  test('late write-back: a reading can no longer be written once its tombstone has expired', async () => {
    const [slow, other] = [open({ ttlSeconds: 1 }), open({ ttlSeconds: 1 })];
    await Promise.all([believes(slow), until(async () => (await other.get('any')) !== undefined)]);
    const sid = newUuid();
    const { at } = await read(slow, sid);
    await other.writeTombstones([ending(sid)]);
    await until(async () => (await readState(slow, sid)) !== 'revoked');
    expect(await lifeOfWhat(server, () => slow.remember(sid, newSession(), at))).toBe(-2);
    expect(await readState(slow, sid)).toBe('unknown');
  });

  test('late write-back: its time to live is what is left of its window', async () => {
    const sid = newUuid();
    const { at } = await read(a, sid);
    const life = await lifeOfWhat(server, () => a.remember(sid, newSession(), at - 500_000));
    expect(life).toBeWithin(50_000, 100_001);
  });

  test('an entry with newer versions stays, one with older versions is replaced', async () => {
    const sid = newUuid();
    const held = newSession({ userAuthVersion: 5, version: 5 });
    await reread(a, sid, held);
    await reread(b, sid, newSession({ userAuthVersion: 4, version: 5 }));
    await reread(b, sid, newSession({ userAuthVersion: 5, version: 4 }));
    expect(await read(b, sid)).toMatchObject({ session: held });
    const newer = newSession({ userAuthVersion: 6, version: 6 });
    await reread(b, sid, newer);
    expect(await read(a, sid)).toMatchObject({ session: newer });
  });

  test('an entry expires after SYNC_FREQUENCY or with its session; readings do not prolong it', async () => {
    const held = newUuid();
    expect(await lifeOfWhat(server, () => reread(a, held))).toBeWithin(550_000, 600_001);
    expect(await lifeOfWhat(server, async () => void (await read(b, held)))).toBe(-2);
    const session = newSession({ expiresAt: systemClock.unix() + 100 });
    expect(await lifeOfWhat(server, () => reread(a, newUuid(), session))).toBeWithin(50_000, 100_001);
    const ended = newSession({ expiresAt: systemClock.unix() - 1 });
    expect(await lifeOfWhat(server, () => reread(a, newUuid(), ended))).toBe(-2);

    const brief = open({ ttlSeconds: 1 });
    await believes(brief);
    const sid = newUuid();
    await reread(brief, sid);
    const lived = startLivedTime();
    await until(async () => (await readState(brief, sid)) === 'unknown');
    expect(lived.stop()).toBeLessThan(1_500);
  });

  test('a tombstone expires after SYNC_FREQUENCY or with its session, and lasts at least a second', async () => {
    for (const write of [a.markRevoking, a.writeTombstones]) {
      expect(await lifeOfWhat(server, () => write([ending(newUuid())]))).toBe(600_000);
      expect(await lifeOfWhat(server, () => write([ending(newUuid(), 100)]))).toBeWithin(50_000, 100_001);
      expect(await lifeOfWhat(server, () => write([ending(newUuid(), -100)]))).toBe(1_000);
    }
  });

  test('thousands of sessions end in one call', async () => {
    const sids = Array.from({ length: 1200 }, () => newUuid());
    await a.markRevoking(sids.map((sid) => ending(sid)));
    expect(await readState(b, sids.at(-1) ?? '')).toBe('revoking');
    await a.writeTombstones(sids.map((sid) => ending(sid)));
    for (const sid of [sids[0], sids[700], sids.at(-1)]) expect(await readState(b, sid ?? '')).toBe('revoked');
    await a.markRevoking([]);
    await a.writeTombstones([]);
  });

  test('two nodes write concurrently in any order: an end stays', async () => {
    const sids = Array.from({ length: 50 }, () => newUuid());
    await Promise.all(
      sids.flatMap((sid) => [
        reread(b, sid),
        a.markRevoking([ending(sid)]),
        reread(b, sid),
        a.writeTombstones([ending(sid)]),
        reread(b, sid),
      ]),
    );
    expect(new Set(await Promise.all(sids.map((sid) => readState(b, sid))))).toEqual(new Set(['revoked']));
  });
});

describe('the session cache while its server fails', () => {
  async function withServer(work: (server: OwnRedis, open: typeof openNode) => Promise<void>): Promise<void> {
    const server = await startOwnRedis();
    const nodes: Node[] = [];
    try {
      await work(server, (url, options) => {
        const node = openNode(url, options);
        nodes.push(node);
        return node;
      });
    } finally {
      for (const node of nodes) node.close();
      await server.stop();
    }
  }
  const isBack = (node: SessionCache) => until(async () => (await node.get(newUuid())) !== undefined);

  test('killed: no call waits; sessions that ended in the meantime are published before any reading is trusted', () =>
    withServer(async (server, open) => {
      const node = open(server.url);
      await believes(node);
      const [kept, ended] = [newUuid(), newUuid()];
      await reread(node, kept);
      await reread(node, ended);

      await server.kill();
      await until(async () => (await node.get(kept)) === undefined);
      const lived = startLivedTime();
      for (let i = 0; i < 20; i += 1) {
        expect(await node.get(kept)).toBeUndefined();
        await node.remember(kept, newSession(), 1);
        await node.markRevoking([ending(ended)]);
      }
      await node.writeTombstones([ending(ended)]);
      expect(lived.stop()).toBeLessThan(400);

      await server.start();
      const seen: (string | undefined)[] = [];
      await until(async () => {
        seen.push(await readState(node, ended));
        return seen.at(-1) !== undefined;
      });
      expect(seen.at(-1)).toBe('revoked');
      await believes(node);
    }));

  test('ends that cannot be published are kept up to a limit, the newest of them', () =>
    withServer(async (server, open) => {
      const sizes: (() => number)[] = [];
      const reportCacheSize = (cache: string, size: () => number) => {
        if (cache === 'unpublished_session_ends') sizes.push(size);
      };
      const node = open(server.url, { reportCacheSize });
      await believes(node);
      await server.kill();
      await until(async () => (await node.get(newUuid())) === undefined);
      const sids = Array.from({ length: 100_010 }, () => newUuid());
      await node.writeTombstones(sids.map((sid) => ending(sid)));
      expect(sizes.map((size) => size())).toEqual([100_000]);
      await server.start();
      await isBack(node);
      expect(await readState(node, sids.at(-1) ?? '')).toBe('revoked');
      await until(() => sizes.every((size) => size() === 0));
    }));

  test('restarted with older data: a restored entry admits nobody', () =>
    withServer(async (server, open) => {
      const [a, b] = [open(server.url), open(server.url)];
      await Promise.all([believes(a), believes(b)]);
      const sid = newUuid();
      await reread(b, sid);
      await server.look((redis) => redis.save());
      await a.markRevoking([ending(sid)]);
      await a.writeTombstones([ending(sid)]);

      await server.kill();
      await server.start();
      const stored = await server.look(async (redis) => redis.mget(await redis.keys('taskgate:session:*')));
      expect(stored.join()).not.toContain('revoked');
      const late = open(server.url);
      for (const node of [a, b, late]) {
        await isBack(node);
        expect(await readState(node, sid)).toBe('unknown');
      }
      // Had the session not ended, one reading of the database would make it trusted again.
      await believes(b);
      await reread(b, sid);
      expect(await readState(b, sid)).toBe('active');
    }));

  test('two nodes reconnect one after the other: entries of the first wait for the ends that the second publishes', () =>
    withServer(async (server, open) => {
      const [a, b] = [open(server.url), open(server.url)];
      await Promise.all([believes(a), believes(b)]);
      const sid = newUuid();
      await server.kill();
      await until(async () => (await a.get(sid)) === undefined && (await b.get(sid)) === undefined);
      await server.start();
      // Read before the other node's commit, which it could not announce, and written at the
      // first possible moment.
      await until(async () => {
        const reading = await b.get(sid);
        if (reading) await b.remember(sid, newSession(), reading.at);
        return reading !== undefined;
      });
      expect(await readState(b, sid)).not.toBe('active');
    }));

  test('hung: one time limit for all waiting calls, then none waits; the server is used again when it goes on', () =>
    withServer(async (server, open) => {
      const node = open(server.url);
      await believes(node);
      const [sid, ended] = [newUuid(), newUuid()];
      await reread(node, sid);

      node.hurry();
      server.pause();
      const lived = startLivedTime();
      await Promise.all(Array.from({ length: 20 }, () => node.get(sid)));
      await node.markRevoking([ending(ended)]);
      await node.writeTombstones([ending(ended)]);
      for (let i = 0; i < 20; i += 1) expect(await node.get(sid)).toBeUndefined();
      expect(lived.stop()).toBeLessThan(900);

      server.resume();
      await isBack(node);
      expect(await readState(node, ended)).toBe('revoked');
      expect(await readState(node, sid)).toBe('unknown');
      await believes(node);
    }));

  test('hung for long: the connection is replaced, and the cache is used again', () =>
    withServer(async (server, open) => {
      const node = open(server.url);
      await believes(node);
      const sid = newUuid();
      await reread(node, sid);
      const connections = () => stat(server, 'total_connections_received');
      const before = await connections();
      node.hurry();
      server.pause();
      await until(async () => (await node.get(sid)) === undefined);
      await until(() => !node.isConnected());
      server.resume();
      await believes(node);
      // One of them is the connection of this query.
      expect(await connections()).toBeGreaterThan(before + 1);
    }));

  test('late write-back in a hung server: a command that runs too late writes nothing', () =>
    withServer(async (server, open) => {
      const node = open(server.url, { ttlSeconds: 1 });
      await believes(node);
      const sid = newUuid();
      const { at } = await read(node, sid);
      node.hurry();
      server.pause();
      await node.remember(sid, newSession(), at);
      await until(() => systemClock.nowMs() > at + 1_000);
      server.resume();
      await isBack(node);
      expect(await readState(node, sid)).toBe('unknown');
      expect(await server.look((redis) => redis.keys('taskgate:session:*'))).toEqual([]);
    }));

  test('full: a server that refuses writes counts as unreachable until it accepts them again', () =>
    withServer(async (server, open) => {
      const lines: string[] = [];
      const note = (_: object, message: string) => void lines.push(message);
      const logger: Logger = { ...silentLogger, info: note, warn: note, error: note, child: () => logger };
      const node = open(server.url, { logger });
      await believes(node);
      const [sid, ended] = [newUuid(), newUuid()];
      await reread(node, sid);
      expect(lines).toEqual([]);

      await server.look((redis) => redis.config('SET', 'maxmemory', '1'));
      await node.markRevoking([ending(ended)]);
      await node.writeTombstones([ending(ended)]);
      expect(await node.get(sid)).toBeUndefined();
      const refusals = () => stat(server, 'total_error_replies');
      const before = await refusals();
      await until(async () => (await refusals()) > before + 1);
      expect(await node.get(sid)).toBeUndefined();
      expect(lines).toEqual(['the shared cache fails; sessions are read from the database until it recovers']);

      await server.look((redis) => redis.config('SET', 'maxmemory', '0'));
      await isBack(node);
      expect(await readState(node, ended)).toBe('revoked');
      expect(lines.slice(1)).toEqual(['the shared cache works again']);
    }));

  test('a server unreachable for longer than SYNC_FREQUENCY is not sent ends that no entry can contradict', () =>
    withServer(async (server, open) => {
      let shift = 0;
      const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
      const node = open(server.url, { clock });
      await believes(node);
      const [old, recent] = [newUuid(), newUuid()];
      await server.kill();
      await until(async () => (await node.get(old)) === undefined);
      await node.writeTombstones([ending(old)]);
      shift += (TTL + 1) * 1000;
      await node.writeTombstones([ending(recent)]);
      await server.start();
      await isBack(node);
      expect(await readState(node, old)).toBe('unknown');
      expect(await readState(node, recent)).toBe('revoked');
    }));

  test('a server that starts after the node', () =>
    withServer(async (server, open) => {
      await server.kill();
      const node = open(server.url);
      const sid = newUuid();
      expect(await node.get(sid)).toBeUndefined();
      await node.writeTombstones([ending(sid)]);
      await server.start();
      await isBack(node);
      expect(await readState(node, sid)).toBe('revoked');
    }));
});
