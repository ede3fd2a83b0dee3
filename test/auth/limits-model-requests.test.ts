/**
 * The limit of model requests, in memory and with lists in Redis that older nodes write too.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { RateLimitState, RequestPayer, WindowLimits } from '../../src/auth/index.ts';
import { createModelRequestLimit } from '../../src/auth/limits/limit-model-requests.ts';
import { type Clock, randomBelow, silentLogger } from '../../src/kernel/index.ts';
import { createMemoryCounters, createMemorySuccessLists } from '../../src/store/index.ts';
import type { Counters, SuccessLists } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisCounters, createRedisSuccessLists } from '../../src/store/redis/index.ts';
import { startRedis, type TestRedis, withoutTimeout } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

type Redis = ReturnType<typeof connectRedis>;

let server: TestRedis;
let redis: Redis;
let otherNode: Redis;
beforeAll(async () => {
  server = await startRedis();
  const url = withoutTimeout(server.url);
  [redis, otherNode] = [connectRedis({ url, logger: silentLogger }), connectRedis({ url, logger: silentLogger })];
  await until(() => redis.status === 'ready' && otherNode.status === 'ready');
});
afterAll(async () => {
  redis.disconnect();
  otherNode.disconnect();
  await server.stop();
});

/** A user id that no other test uses. */
const newUser = () => 1_000_000 + randomBelow(2 ** 40);

function openLimit(
  {
    byMinute = {},
    isOn = true,
    ...change
  }: Partial<WindowLimits> & { byMinute?: Record<string, number>; isOn?: boolean },
  stores: { counters: Counters; successLists: SuccessLists },
  clock: Clock = createTestClock(),
) {
  const numbers: WindowLimits & { isOn: boolean } = {
    ...{ isOn, seconds: 60, total: 0, success: 3, groups: new Map() },
    ...change,
  };
  const limit = createModelRequestLimit({
    ...stores,
    clock,
    settings: () => ({ window: numbers.isOn ? numbers : undefined, requestsPerMinute: (group) => byMinute[group] }),
  });
  const states: RateLimitState[] = [];
  const admit = (user: number | RequestPayer, group: string, isRepeat = false) => {
    const payer = typeof user === 'number' ? { user: { id: user, requestsPerMinute: null }, group } : user;
    return limit(payer, (state) => states.push(state), isRepeat);
  };
  return {
    numbers,
    /** What was reported for each request. */
    states,
    refused: (user: number | RequestPayer, group = 'default') => refusal(admit(user, group), 'auth.rate_limited'),
    fail: async (user: number | RequestPayer, group = 'default') => void (await admit(user, group)),
    succeed: async (user: number | RequestPayer, group = 'default') => {
      const record = await admit(user, group);
      await record();
    },
    repeat: async (user: number | RequestPayer, group = 'default') => {
      const record = await admit(user, group, true);
      await record();
    },
  };
}

const inMemory = (clock: Clock) => ({
  counters: createMemoryCounters(),
  successLists: createMemorySuccessLists(clock),
});
const inRedis = (clock: Clock, connection = redis) => ({
  counters: createRedisCounters(connection),
  successLists: createRedisSuccessLists(connection, clock),
});

for (const [name, open] of [
  ['memory', inMemory],
  ['redis', inRedis],
] as const) {
  describe(`the limit of model requests in ${name}`, () => {
    test('allows the given number of successes, then refuses with the time until the oldest leaves the window', async () => {
      const clock = createTestClock();
      const limit = openLimit({}, open(clock), clock);
      const user = newUser();
      await limit.succeed(user);
      clock.advance(20);
      await limit.succeed(user);
      await limit.succeed(user);
      const error = await limit.refused(user);
      expect(error.kind).toBe('rate_limited');
      expect(error.retryAfterSeconds).toBeCloseTo(40, 1);
      await limit.succeed(newUser());
    });

    test('a request that is tried again counts only when it succeeds', async () => {
      const clock = createTestClock();
      const limit = openLimit({ total: 2, success: 2, byMinute: { default: 2 } }, open(clock), clock);
      const user = newUser();
      await limit.fail(user);
      await limit.repeat(user);
      await limit.succeed(user);
      expect((await limit.refused(user)).kind).toBe('rate_limited');
      // Both of the window have succeeded.
      await expect(limit.repeat(user)).rejects.toMatchObject({ code: 'auth.rate_limited' });
    });

    test('the window slides: as one success leaves it, one more passes', async () => {
      const clock = createTestClock();
      const limit = openLimit({ success: 2 }, open(clock), clock);
      const user = newUser();
      await limit.succeed(user);
      clock.advance(30);
      await limit.succeed(user);
      await limit.refused(user);
      clock.advance(30);
      await limit.succeed(user);
      await limit.refused(user);
      clock.advance(30);
      await limit.succeed(user);
    });

    test('the limit that leaves the fewest requests is reported, also before a refusal', async () => {
      const clock = createTestClock();
      const limit = openLimit({ total: 4, success: 2 }, open(clock), clock);
      const user = newUser();
      await limit.fail(user);
      await limit.succeed(user);
      await limit.fail(user);
      await limit.fail(user);
      await limit.refused(user);
      expect(limit.states.map(({ limit: most, remaining }) => [most, remaining])).toEqual([
        [2, 1],
        [2, 1],
        [2, 0],
        [4, 0],
        [4, 0],
      ]);
      for (const { resetSeconds } of limit.states) expect(resetSeconds).toBeWithin(50, 61);
    });

    test('the strictest of the limits of key, user and group holds, and each counts on its own', async () => {
      const limit = openLimit({ isOn: false, byMinute: { slow: 3 } }, open(createTestClock()));
      const [id, keyId] = [newUser(), newUser()];
      const payer = (minute: { user?: number; key?: number }, group = 'default', key = keyId): RequestPayer => ({
        user: { id, requestsPerMinute: minute.user ?? null },
        key: { id: key, requestsPerMinute: minute.key ?? null },
        group,
      });
      const by = { user: 4, key: 2 };
      await limit.fail(payer(by));
      await limit.succeed(payer(by));
      expect(limit.states.map(({ limit: most, remaining }) => [most, remaining])).toEqual([
        [2, 1],
        [2, 0],
      ]);
      const { retryAfterSeconds } = await limit.refused(payer(by));
      expect(retryAfterSeconds).toBeWithin(1, 61);
      // Another key of the user has its own count; the user's is the same.
      await limit.succeed(payer(by, 'default', keyId + 1));
      await limit.refused(payer({ user: 4 }));
      // The group's holds for each of its users, and a limit that was taken away does not.
      for (let i = 0; i < 3; i += 1) await limit.succeed(payer({}, 'slow'));
      await limit.refused(payer({}, 'slow'));
      await limit.succeed({ user: { id: newUser(), requestsPerMinute: null }, group: 'slow' });
      await limit.succeed(payer({}));
    });

    test('without a limit nothing is reported', async () => {
      const limit = openLimit({ isOn: false }, open(createTestClock()));
      await limit.succeed(newUser());
      expect(limit.states).toEqual([]);
    });

    test('failures and refused requests do not count as successes', async () => {
      const limit = openLimit({ success: 1 }, open(createTestClock()));
      const user = newUser();
      for (let i = 0; i < 10; i += 1) await limit.fail(user);
      await limit.succeed(user);
      for (let i = 0; i < 3; i += 1) await limit.refused(user);
    });

    test('all requests, failures included, have a limit of their own', async () => {
      const limit = openLimit({ total: 4, success: 100 }, open(createTestClock()));
      const user = newUser();
      const begun = performance.now();
      for (let i = 0; i < 2; i += 1) await limit.fail(user);
      for (let i = 0; i < 2; i += 1) await limit.succeed(user);
      const { retryAfterSeconds } = await limit.refused(user);
      const passedSeconds = (performance.now() - begun) / 1000;
      expect(retryAfterSeconds).toBeWithin(Math.floor(60 - passedSeconds), 61);
      await limit.fail(newUser());
    });

    test('a group has limits of its own and does not affect other groups', async () => {
      const groups = new Map([
        ['trial', { total: 0, success: 1 }],
        ['metered', { total: 2, success: 50 }],
      ]);
      const limit = openLimit({ success: 3, groups }, open(createTestClock()));
      const user = newUser();
      await limit.succeed(user);
      await limit.refused(user, 'trial');
      await limit.succeed(user);
      await limit.succeed(user, 'metered');
      await limit.refused(user);
      await limit.succeed(user, 'metered');
      expect((await limit.refused(user, 'metered')).retryAfterSeconds).toBeGreaterThan(0);
      await limit.refused(user, 'trial');
    });

    test('a group named like an object’s property has no limits of its own', async () => {
      const limit = openLimit({ success: 1 }, open(createTestClock()));
      const user = newUser();
      await limit.succeed(user, 'constructor');
      await limit.refused(user, '__proto__');
    });

    test('while off it neither counts nor refuses; new limits apply from the next request', async () => {
      const limit = openLimit({ isOn: false, success: 1, total: 1 }, open(createTestClock()));
      const user = newUser();
      for (let i = 0; i < 5; i += 1) await limit.succeed(user);
      limit.numbers.isOn = true;
      await limit.succeed(user);
      await limit.refused(user);
      limit.numbers.success = 2;
      limit.numbers.total = 0;
      await limit.succeed(user);
      await limit.refused(user);
    });
  });
}

describe('the limit of model requests over nodes', () => {
  test('shared lists count the successes of every node', async () => {
    const clock = createTestClock();
    const [a, b] = [openLimit({}, inRedis(clock), clock), openLimit({}, inRedis(clock, otherNode), clock)];
    const user = newUser();
    await a.succeed(user);
    await b.succeed(user);
    await a.succeed(user);
    await a.refused(user);
    await b.refused(user);
  });

  test('without a shared cache each node has its own', async () => {
    const clock = createTestClock();
    const [a, b] = [
      openLimit({ success: 1 }, inMemory(clock), clock),
      openLimit({ success: 1 }, inMemory(clock), clock),
    ];
    const user = newUser();
    await a.succeed(user);
    await a.refused(user);
    await b.succeed(user);
    await b.refused(user);
  });

  test('successes that a new-api node recorded count', async () => {
    const clock = createTestClock();
    const limit = openLimit({ success: 2 }, inRedis(clock), clock);
    const user = newUser();
    const key = `rateLimit:MRRLS:${user}`;
    const utc = (secondsAgo: number) => new Date(clock.nowMs() - secondsAgo * 1000).toISOString();
    await redis.rpush(key, utc(10), utc(50));
    expect((await limit.refused(user)).retryAfterSeconds).toBeCloseTo(10, 1);
    clock.advance(11);
    await limit.succeed(user);
    await limit.refused(user);
  });

  test('entries in local time are tolerated for one window: earlier ones allow, later ones refuse, never longer', async () => {
    const clock = createTestClock();
    const limit = openLimit({ success: 2 }, inRedis(clock), clock);
    const local = (hours: number) => new Date(clock.nowMs() + hours * 3_600_000).toISOString();

    const west = newUser();
    await redis.rpush(`rateLimit:MRRLS:${west}`, local(-5), local(-5));
    await limit.succeed(west);
    await limit.succeed(west);
    await limit.refused(west);

    const east = newUser();
    const key = `rateLimit:MRRLS:${east}`;
    await redis.rpush(key, local(8), local(8));
    await redis.expire(key, 60);
    // Not eight hours, and further requests do not prolong it: the list expires one window after
    // its last success.
    expect((await limit.refused(east)).retryAfterSeconds).toBe(60);
    await limit.refused(east);
    expect(await redis.ttl(key)).toBeWithin(0, 61);
    await redis.pexpire(key, 1);
    await until(async () => (await redis.exists(key)) === 0);
    await limit.succeed(east);
  });

  test('an entry that is not a time blocks nobody', async () => {
    const clock = createTestClock();
    const limit = openLimit({ success: 1 }, inRedis(clock), clock);
    const user = newUser();
    await redis.rpush(`rateLimit:MRRLS:${user}`, 'no time');
    await limit.succeed(user);
    await limit.refused(user);
  });
});
