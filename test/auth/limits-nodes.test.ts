/** Limits of requests and guesses that several nodes share through Redis. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createGuessLimit, type GuessLimit } from '../../src/auth/limits/limit-guesses.ts';
import { createRequestLimit, createUserLimit } from '../../src/auth/limits/limit-requests.ts';
import { randomBelow, randomToken, silentLogger } from '../../src/kernel/index.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { Counters } from '../../src/store/ports/index.ts';
import { connectRedis, createRedisCounters } from '../../src/store/redis/index.ts';
import { at } from '../support/deciding-ip.ts';
import { startRedis, type TestRedis, withoutTimeout } from '../support/redis.ts';
import { startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';
import { refusal } from './refusal.ts';

let server: TestRedis;
const connections: ReturnType<typeof connectRedis>[] = [];

async function openNode(url = server.url): Promise<Counters> {
  const redis = connectRedis({ url: withoutTimeout(url), logger: silentLogger });
  connections.push(redis);
  await until(() => redis.status === 'ready');
  return createRedisCounters(redis);
}

beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server.stop();
});

/** Unique names and addresses, since tests may share the server. */
const newName = () => `test-${randomToken(9)}`;
const newNetwork = () => `2001:db8:${Array.from({ length: 2 }, () => randomBelow(0xffff).toString(16)).join(':')}`;
const newIpv4 = () => `10.${[0, 0, 0].map(() => randomBelow(256)).join('.')}`;

/** How many attempts ran, and how many calls were refused. */
async function flood(guesses: (attempt: () => Promise<undefined>) => Promise<unknown>[]) {
  let attempts = 0;
  const outcomes = await Promise.allSettled(
    guesses(async () => {
      attempts += 1;
      await Bun.sleep(1);
      return undefined;
    }),
  );
  return { attempts, refused: outcomes.filter(({ status }) => status === 'rejected').length };
}

describe('guesses over two nodes', () => {
  let nodes: GuessLimit[];
  beforeAll(async () => {
    nodes = [createGuessLimit(await openNode()), createGuessLimit(await openNode())];
  });

  test('a burst over both nodes gets five attempts per account in total', async () => {
    const [account, ip] = [newName(), newIpv4()];
    const result = await flood((attempt) =>
      nodes.flatMap((guess) => Array.from({ length: 50 }, () => guess(account, at(ip), attempt))),
    );
    expect(result).toEqual({ attempts: 5, refused: 95 });
  });

  test('password spraying over both nodes gets fifty attempts from one address, whatever the accounts', async () => {
    const ip = newIpv4();
    const result = await flood((attempt) =>
      nodes.flatMap((guess) => Array.from({ length: 60 }, () => guess(newName(), at(ip), attempt))),
    );
    expect(result).toEqual({ attempts: 50, refused: 70 });
  });

  test('addresses of one IPv6 network count together, those of the next do not', async () => {
    const [account, network] = [newName(), newNetwork()];
    const result = await flood((attempt) =>
      nodes.flatMap((guess) =>
        Array.from({ length: 20 }, (_, i) => guess(account, at(`${network}::${(i + 1).toString(16)}:1`), attempt)),
      ),
    );
    expect(result.attempts).toBe(5);
    for (const guess of nodes) {
      await refusal(
        guess(account, at(`${network}::ffff`), async () => 'right'),
        'auth.too_many_attempts',
      );
    }
    expect(await nodes[0]?.(account, at(`${newNetwork()}::1`), async () => 'right')).toBe('right');
  });

  test('an IPv4-mapped IPv6 address counts as its IPv4 address', async () => {
    const [account, ip] = [newName(), newIpv4()];
    const [dotted, hex] = [`::ffff:${ip}`, `::ffff:${toHex(ip)}`];
    const result = await flood((attempt) =>
      nodes.flatMap((guess) =>
        [ip, dotted, hex].flatMap((form) => Array.from({ length: 10 }, () => guess(account, at(form), attempt))),
      ),
    );
    expect(result.attempts).toBe(5);
  });

  test('malicious lock-out: another address can sign in however many have used up their guesses', async () => {
    const account = newName();
    await flood((attempt) =>
      Array.from({ length: 20 }, newIpv4).flatMap((ip) =>
        nodes.flatMap((guess) => Array.from({ length: 5 }, () => guess(account, at(ip), attempt))),
      ),
    );
    expect(await nodes[1]?.(account, at(newIpv4()), async () => 'right')).toBe('right');
  });

  test('right passwords release exactly the attempts that they reserved', async () => {
    const [account, ip] = [newName(), newIpv4()];
    for (let i = 0; i < 30; i += 1) await nodes[i % 2]?.(account, at(ip), async () => 'right');
    const { attempts } = await flood((attempt) =>
      nodes.flatMap((guess) => Array.from({ length: 10 }, () => guess(account, at(ip), attempt))),
    );
    expect(attempts).toBe(5);
  });
});

const toHex = (ip: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

describe('requests over two nodes', () => {
  test('both share one count; without a shared cache each has its own', async () => {
    const ip = newIpv4();
    const window = { name: newName(), limit: 10, windowSeconds: 600 };
    const passed = async (stores: Counters[]) => {
      const limits = stores.map((counters) => createRequestLimit(counters, window));
      const outcomes = await Promise.allSettled(
        limits.flatMap((limit) => Array.from({ length: 30 }, () => limit(at(ip)))),
      );
      return outcomes.filter(({ status }) => status === 'fulfilled').length;
    };
    expect(await passed([await openNode(), await openNode()])).toBe(10);
    expect(await passed([createMemoryCounters(), createMemoryCounters()])).toBe(20);
  });

  test('when the shared cache fails, the limit continues per node without other errors', async () => {
    const relay = await startRelay(server.url);
    const limit = createRequestLimit(await openNode(relay.url), { name: newName(), limit: 2, windowSeconds: 600 });
    const ip = newIpv4();
    await limit(at(ip));
    await relay.cut();
    await limit(at(ip));
    await limit(at(ip));
    const error = await refusal(limit(at(ip)), 'auth.rate_limited');
    expect(error.retryAfterSeconds).toBeWithin(300, 601);
    await relay.stop();
  });
});

describe('the Critical limit per user', () => {
  test('counts a user per scope, from every address, and no other user', async () => {
    const counters = await openNode();
    const limit = createUserLimit(counters, { limit: 2, windowSeconds: 600 });
    const [user, other] = [randomBelow(2 ** 40), randomBelow(2 ** 40)];
    await limit(user, 'access-token');
    await limit(user, 'access-token');
    expect((await refusal(limit(user, 'access-token'), 'auth.rate_limited')).retryAfterSeconds).toBeWithin(300, 601);
    await limit(user, 'verify');
    await limit(other, 'access-token');
  });
});
