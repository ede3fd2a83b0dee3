import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomToken, silentLogger } from '../../src/kernel/index.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { Counters } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisCounters } from '../../src/store/redis/index.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';

let server: TestRedis;
type Redis = ReturnType<typeof connectRedis>;
const connections: Redis[] = [];

async function connected(url: string): Promise<Redis> {
  const redis = connectRedis({ url, logger: silentLogger });
  connections.push(redis);
  // A lost connection fails a command at once; a busy machine must not.
  redis.options.commandTimeout = 60_000;
  await until(() => redis.status === 'ready');
  return redis;
}

beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server.stop();
});

const newKey = () => `test:${randomToken(9)}`;

for (const [name, open] of [
  ['memory', async () => createMemoryCounters()],
  ['redis', async () => createRedisCounters(await connected(server.url))],
] as const) {
  describe(`counters in ${name}`, () => {
    let counters: Counters;
    beforeAll(async () => {
      counters = await open();
    });

    test('a key counts from its first addition and gives the end of its window', async () => {
      const key = newKey();
      expect(await counters.peek(key)).toBeUndefined();
      const first = await counters.add(key, 1, 600);
      expect(first.count).toBe(1);
      expect(first.resetsInSeconds).toBeWithin(300, 601);
      expect((await counters.add(key, 2, 600)).count).toBe(3);
      const peeked = await counters.peek(key);
      expect(peeked?.count).toBe(3);
      expect(peeked?.resetsInSeconds).toBeGreaterThan(560);
    });

    test('subtracted attempts do not count, and no count falls below zero', async () => {
      const key = newKey();
      await counters.add(key, 2, 60);
      expect((await counters.add(key, -1, 60)).count).toBe(1);
      expect((await counters.add(key, -5, 60)).count).toBe(0);
      expect((await counters.add(key, 1, 60)).count).toBe(1);
    });

    test('saved-up attempts: a subtraction after the end of its window does not lower the next count', async () => {
      const key = newKey();
      expect((await counters.add(key, -3, 60)).count).toBe(0);
      expect((await counters.add(key, 2, 60)).count).toBe(2);
    });

    test('keys, and windows of different lengths, are counted apart', async () => {
      const [short, long] = [newKey(), newKey()];
      await counters.add(short, 1, 5);
      expect((await counters.add(long, 1, 3600)).resetsInSeconds).toBeGreaterThan(3540);
      expect((await counters.add(short, 1, 5)).resetsInSeconds).toBeLessThanOrEqual(5);
    });

    test('later additions do not prolong the window, and counting starts again after it', async () => {
      const key = newKey();
      const begun = performance.now();
      await counters.add(key, 5, 1);
      await until(async () => (await counters.add(key, 1, 1)).count === 1);
      expect(performance.now() - begun).toBeGreaterThan(900);
    });

    test('a hundred concurrent additions are all counted, and each gets its own count', async () => {
      const key = newKey();
      const counts = await Promise.all(Array.from({ length: 100 }, () => counters.add(key, 1, 60)));
      expect(new Set(counts.map(({ count }) => count)).size).toBe(100);
      expect((await counters.peek(key))?.count).toBe(100);
    });
  });
}

describe('counters shared through redis', () => {
  test('two nodes share one count', async () => {
    const [a, b] = [createRedisCounters(await connected(server.url)), createRedisCounters(await connected(server.url))];
    const key = newKey();
    await a.add(key, 3, 60);
    expect((await b.add(key, 1, 60)).count).toBe(4);
  });

  test('concurrent additions of two nodes are all counted, each once', async () => {
    const nodes = [createRedisCounters(await connected(server.url)), createRedisCounters(await connected(server.url))];
    const key = newKey();
    const counts = await Promise.all(
      nodes.flatMap((node) => Array.from({ length: 100 }, async () => (await node.add(key, 1, 60)).count)),
    );
    expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  test('both sides of a window’s end can each be filled once, about twice the limit together, and never more', async () => {
    const redis = await connected(server.url);
    const nodes = [createRedisCounters(redis), createRedisCounters(await connected(server.url))];
    const key = newKey();
    const LIMIT = 20;
    const flood = async () => {
      const counts = await Promise.all(
        nodes.flatMap((node) => Array.from({ length: 50 }, () => node.add(key, 1, 1200))),
      );
      return counts.filter(({ count }) => count <= LIMIT).length;
    };
    expect(await flood()).toBe(LIMIT);
    expect(await flood()).toBe(0);
    // The test ends the window now, not in twenty minutes.
    await redis.pexpire(`taskgate:count:${key}`, 1);
    await until(async () => (await redis.exists(`taskgate:count:${key}`)) === 0);
    expect(await flood()).toBe(LIMIT);
    expect(await flood()).toBe(0);
  });

  test('a count that has lost its expiry gets one at the next addition', async () => {
    const redis = await connected(server.url);
    const counters = createRedisCounters(redis);
    const key = newKey();
    await counters.add(key, 5, 600);
    await redis.persist(`taskgate:count:${key}`);
    expect(await counters.add(key, 1, 600)).toEqual({ count: 6, resetsInSeconds: 600 });
    expect(await redis.ttl(`taskgate:count:${key}`)).toBeWithin(560, 601);
  });

  test('a dead server fails no call: the node counts in memory, then in the server again', async () => {
    const relay: Relay = await startRelay(server.url);
    const redis = await connected(relay.url);
    const counters = createRedisCounters(redis);
    const key = newKey();
    await counters.add(key, 10, 60);

    await relay.cut();
    const lived = startLivedTime();
    expect((await counters.add(key, 1, 60)).count).toBe(1);
    expect((await counters.add(key, 1, 60)).count).toBe(2);
    expect((await counters.peek(key))?.count).toBe(2);
    expect(lived.stop()).toBeLessThan(1_200);

    await relay.mend();
    await until(() => redis.status === 'ready');
    expect((await counters.peek(key))?.count).toBe(10);
    redis.disconnect();
    await relay.stop();
  });
});
