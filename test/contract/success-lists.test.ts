import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomToken, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createMemorySuccessLists } from '../../src/store/index.ts';
import type { SuccessLists } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisSuccessLists } from '../../src/store/redis/index.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';

let server: TestRedis;
type Redis = ReturnType<typeof connectRedis>;
const connections: Redis[] = [];

async function connected(url = server.url): Promise<Redis> {
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

const timeAt = async (lists: SuccessLists, key: string, index: number) =>
  (await lists.read(key, { sinceMs: 0, index })).at;
const newKey = () => `test-${randomToken(9)}`;
/** Where the lists of a key lie in Redis. */
const listFor = (key: string) => `rateLimit:MRRLS:${key}`;
const NOON = Date.UTC(2026, 10, 21, 12, 0, 0, 250);

for (const [name, open] of [
  ['memory', async () => createMemorySuccessLists(systemClock)],
  ['redis', async () => createRedisSuccessLists(await connected(), systemClock)],
] as const) {
  describe(`success lists in ${name}`, () => {
    let lists: SuccessLists;
    beforeAll(async () => {
      lists = await open();
    });

    test('the newest comes first, and a list without pushes is empty', async () => {
      const key = newKey();
      expect(await timeAt(lists, key, 0)).toBeUndefined();
      for (const minute of [0, 1, 2])
        await lists.push(key, { atMs: NOON + minute * 60_000, keep: 10, ttlSeconds: 600 });
      expect(await Promise.all([0, 1, 2, 3].map((index) => timeAt(lists, key, index)))).toEqual([
        NOON + 120_000,
        NOON + 60_000,
        NOON,
        undefined,
      ]);
    });

    test('counts those after a time', async () => {
      const key = newKey();
      expect(await lists.read(key, { sinceMs: 0, index: 0 })).toEqual({ count: 0, at: undefined });
      for (let second = 0; second < 7; second += 1)
        await lists.push(key, { atMs: NOON + second * 1000, keep: 5, ttlSeconds: 600 });
      const since = [0, NOON + 2000, NOON + 4500, NOON + 6000, NOON + 9000];
      const counts = await Promise.all(
        since.map(async (sinceMs) => (await lists.read(key, { sinceMs, index: 0 })).count),
      );
      expect(counts).toEqual([5, 4, 2, 0, 0]);
    });

    test('the newest of a list are kept, also when fewer are asked for than before', async () => {
      const key = newKey();
      for (let i = 0; i < 6; i += 1) await lists.push(key, { atMs: NOON + i, keep: 5, ttlSeconds: 600 });
      expect(await timeAt(lists, key, 4)).toBe(NOON + 1);
      expect(await timeAt(lists, key, 5)).toBeUndefined();
      await lists.push(key, { atMs: NOON + 6, keep: 2, ttlSeconds: 600 });
      expect(await Promise.all([0, 1, 2].map((index) => timeAt(lists, key, index)))).toEqual([
        NOON + 6,
        NOON + 5,
        undefined,
      ]);
    });

    test('keys have lists of their own', async () => {
      const [one, other] = [newKey(), newKey()];
      await lists.push(one, { atMs: NOON, keep: 5, ttlSeconds: 600 });
      expect(await timeAt(lists, other, 0)).toBeUndefined();
    });

    test('a list expires when nothing was pushed for its time to live', async () => {
      const [key, kept] = [newKey(), newKey()];
      await lists.push(key, { atMs: NOON, keep: 5, ttlSeconds: 1 });
      await lists.push(kept, { atMs: NOON, keep: 5, ttlSeconds: 600 });
      await until(async () => (await timeAt(lists, key, 0)) === undefined);
      await lists.push(key, { atMs: NOON + 1, keep: 5, ttlSeconds: 600 });
      expect(await timeAt(lists, key, 0)).toBe(NOON + 1);
      expect(await timeAt(lists, key, 1)).toBeUndefined();
      expect(await timeAt(lists, kept, 0)).toBe(NOON);
    });

    test('a hundred concurrent pushes are all kept', async () => {
      const key = newKey();
      await Promise.all(
        Array.from({ length: 100 }, (_, i) => lists.push(key, { atMs: NOON + i, keep: 100, ttlSeconds: 600 })),
      );
      expect(await timeAt(lists, key, 99)).toBeNumber();
      expect(await timeAt(lists, key, 100)).toBeUndefined();
    });
  });
}

describe('success lists in redis as other nodes see them', () => {
  test('the key, the layout of the times and the time to live are those of the reference implementation', async () => {
    const redis = await connected();
    const key = newKey();
    await createRedisSuccessLists(redis, systemClock).push(key, { atMs: NOON, keep: 5, ttlSeconds: 600 });
    expect(await redis.lrange(listFor(key), 0, -1)).toEqual(['2026-11-21T12:00:00.250Z']);
    expect(await redis.ttl(listFor(key))).toBeWithin(560, 601);
  });

  test('entries of an older node are counted, and stay', async () => {
    const redis = await connected();
    const key = newKey();
    await redis.rpush(listFor(key), '2026-11-21T20:00:01.000Z', '2026-11-21T11:59:59.999Z');
    const lists = createRedisSuccessLists(redis, systemClock);
    // The first may be the local time of a place eight hours ahead: nothing says which.
    expect(await timeAt(lists, key, 0)).toBe(NOON - 250 + 8 * 3_600_000 + 1000);
    expect(await timeAt(lists, key, 1)).toBe(NOON - 251);
    await lists.push(key, { atMs: NOON, keep: 5, ttlSeconds: 60 });
    expect(await redis.lrange(listFor(key), 0, -1)).toEqual([
      '2026-11-21T12:00:00.250Z',
      '2026-11-21T20:00:01.000Z',
      '2026-11-21T11:59:59.999Z',
    ]);
  });

  test.each(['', 'yesterday', '2026-11-21 12:00:00', '2026-13-41T12:00:00.000Z', '1763726400250', '+2026-11-21'])(
    'an entry that is not a time ("%s") counts as one long past',
    async (text) => {
      const redis = await connected();
      const key = newKey();
      await redis.rpush(listFor(key), text);
      expect(await timeAt(createRedisSuccessLists(redis, systemClock), key, 0)).toBe(0);
    },
  );

  test('two nodes share one list', async () => {
    const [a, b] = [
      createRedisSuccessLists(await connected(), systemClock),
      createRedisSuccessLists(await connected(), systemClock),
    ];
    const key = newKey();
    await a.push(key, { atMs: NOON, keep: 5, ttlSeconds: 600 });
    await b.push(key, { atMs: NOON + 1, keep: 5, ttlSeconds: 600 });
    expect([await timeAt(a, key, 0), await timeAt(b, key, 1)]).toEqual([NOON + 1, NOON]);
  });

  test('a dead server, or a key of another type, fails no call: the node goes on in memory', async () => {
    const relay = await startRelay(server.url);
    const redis = await connected(relay.url);
    const lists = createRedisSuccessLists(redis, systemClock);
    const [key, taken] = [newKey(), newKey()];
    await lists.push(key, { atMs: NOON, keep: 5, ttlSeconds: 600 });

    await redis.set(listFor(taken), 'no list');
    await lists.push(taken, { atMs: NOON + 1, keep: 5, ttlSeconds: 600 });
    expect(await timeAt(lists, taken, 0)).toBe(NOON + 1);

    await relay.cut();
    const lived = startLivedTime();
    expect(await timeAt(lists, key, 0)).toBeUndefined();
    await lists.push(key, { atMs: NOON + 2, keep: 5, ttlSeconds: 600 });
    expect(await timeAt(lists, key, 0)).toBe(NOON + 2);
    expect(lived.stop()).toBeLessThan(1_600);

    await relay.mend();
    await until(() => redis.status === 'ready');
    expect(await timeAt(lists, key, 0)).toBe(NOON);
    redis.disconnect();
    await relay.stop();
  });
});
