/**
 * Limits on two running nodes, with a shared cache and without one, and what an API key reads of
 * itself.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import {
  type Administrator,
  ask,
  type Gateway,
  type GatewayOptions,
  ROOT,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startRedis, type TestRedis, withoutTimeout } from '../support/redis.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { until } from '../support/until.ts';

const CRITICAL = 6;
const API = 60;

let vendor: VendorProcess;
let redis: TestRedis;
beforeAll(async () => {
  [vendor, redis] = await Promise.all([startVendor(), startOwnRedis()]);
});
afterAll(async () => {
  await vendor?.stop();
  await redis?.stop();
});

/** An emptied database of a Redis server that other tests use too, with the same user ids. */
async function startOwnRedis(): Promise<TestRedis> {
  const started = await startRedis();
  const url = new URL(started.url);
  url.pathname = '/11';
  const client = new Redis(url.href);
  await client.flushdb();
  client.disconnect();
  return { url: url.href, stop: started.stop };
}

type Nodes = { a: Gateway; b: Gateway; root: Administrator; stop(): Promise<void> };

async function startNodes(env: Record<string, string>): Promise<Nodes> {
  const databaseUrl = await migratedDatabaseUrl();
  const options: GatewayOptions = {
    databaseUrl,
    env: { CRITICAL_RATE_LIMIT: String(CRITICAL), GLOBAL_API_RATE_LIMIT: String(API), ...env },
  };
  const a = await startGateway(options);
  const b = await startGateway(options);
  const root = await setUp(a);
  await root.createChannel(vendor.url);
  return { a, b, root, stop: async () => void (await Promise.all([a.stop(), b.stop()])) };
}

let addresses = 0;
/** A forwarding header with a client address that no other test uses. */
const newClient = () => {
  addresses += 1;
  return { 'x-forwarded-for': `10.77.${addresses >> 8}.${addresses & 255}` };
};

let guesses = 0;
/**
 * A wrong password for an account that was never tried before, so that the limit of guesses does
 * not interfere.
 */
const guess = ({ url }: Gateway, headers: Record<string, string>) => {
  guesses += 1;
  return ask(`${url}/api/user/login`, {
    headers,
    body: { username: `nobody-${guesses}`, password: 'nobody has this' },
  });
};

/** A node serves, counting in memory, before it has connected to the cache. */
async function countsInCache(node: Gateway): Promise<void> {
  const client = new Redis(redis.url);
  const counts = async () => (await client.keys('taskgate:count:*')).length;
  await until('the node counts in the cache', async () => {
    const before = await counts();
    await guess(node, newClient());
    return (await counts()) > before;
  });
  client.disconnect();
}

/** The statuses of `count` requests at each node, in turns. */
async function inTurns(nodes: Nodes, count: number, send: (node: Gateway) => Promise<{ status: number }>) {
  const statuses: Record<'a' | 'b', number[]> = { a: [], b: [] };
  for (let i = 0; i < count; i += 1) {
    for (const name of ['a', 'b'] as const) statuses[name].push((await send(nodes[name])).status);
  }
  return statuses;
}

const setLimits = async (root: Administrator, values: Record<string, string | number | boolean>) => {
  for (const [key, value] of Object.entries(values)) {
    await root.call('PUT', '/api/option', { key: `ModelRequestRateLimit${key}`, value: String(value) });
  }
};

describe('two nodes with a shared cache', () => {
  let nodes: Nodes;
  let key: string;
  beforeAll(async () => {
    nodes = await startNodes({ REDIS_URL: withoutTimeout(redis.url) });
    for (const node of [nodes.a, nodes.b]) await countsInCache(node);
    key = await nodes.root.createKey();
  });
  afterAll(() => nodes?.stop());

  test('share one count of critical requests per address', async () => {
    const client = newClient();
    expect(await inTurns(nodes, 5, (node) => guess(node, client))).toEqual({
      a: [401, 401, 401, 429, 429],
      b: [401, 401, 401, 429, 429],
    });
    expect((await guess(nodes.b, newClient())).status).toBe(401);
  });

  test('a refused refresh has a JSON body and Retry-After, clears nothing, and ends no session', async () => {
    const client = newClient();
    const login = await ask(`${nodes.a.url}/api/user/login`, { headers: client, body: ROOT });
    const cookie = login.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const refresh = (node: Gateway, headers: Record<string, string>) =>
      ask(`${node.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie, origin: node.url, ...headers } });
    for (let i = 0; i < CRITICAL; i += 1) await guess(nodes.a, client);
    for (const node of [nodes.a, nodes.b]) {
      const { status, body, headers } = await refresh(node, client);
      expect([status, body.success, body.code]).toEqual([429, false, 'RATE_LIMITED']);
      expect(Number(headers.get('retry-after'))).toBeWithin(1100, 1201);
      expect(headers.getSetCookie()).toEqual([]);
    }
    expect((await refresh(nodes.b, newClient())).status).toBe(200);
  });

  test('share one count of all requests below /api', async () => {
    const client = newClient();
    const { a, b } = await inTurns(nodes, API, ({ url }) => ask(`${url}/api/status`, { headers: client }));
    expect([...a, ...b].filter((status) => status === 200)).toHaveLength(API);
    expect([...a, ...b].filter((status) => status === 429)).toHaveLength(API);
    expect((await ask(`${nodes.a.url}/livez`, { headers: client })).status).toBe(200);
  });

  test('a new limit of model requests applies at once on both', async () => {
    const send = (node: Gateway) => submit(node.url, key, {});
    expect((await send(nodes.a)).status).toBe(200);
    await setLimits(nodes.root, { SuccessCount: 3, DurationMinutes: 60, Enabled: true });
    const statuses: number[] = [];
    await until('both nodes refuse', async () => {
      for (const node of [nodes.a, nodes.b]) statuses.push((await send(node)).status);
      return statuses.slice(-2).every((status) => status === 429);
    });
    const { body, headers } = await send(nodes.b);
    expect(body.error).toMatchObject({ type: 'rate_limit_error', code: 'rate_limited' });
    expect(Number(headers.get('retry-after'))).toBeWithin(3500, 3601);
    const client = new Redis(redis.url);
    const [list] = await client.keys('rateLimit:MRRLS:*');
    const times = await client.lrange(list ?? '', 0, -1);
    client.disconnect();
    expect(times).toHaveLength(3);
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    // A limit for the group lifts the general one; then the limit is switched off.
    await setLimits(nodes.root, { Group: '{"default":[0,1000]}' });
    for (const node of [nodes.a, nodes.b])
      await until('the group passes', async () => (await send(node)).status === 200);
    await setLimits(nodes.root, { Enabled: false, Group: '{}' });
    for (const node of [nodes.a, nodes.b]) await until('all pass', async () => (await send(node)).status === 200);
  });

  test('an API key reads its budget and its log at either node, and nothing once it is deleted', async () => {
    const { root, a, b } = nodes;
    await root.call('PUT', '/api/price', { model: 'demo-video', expression: '0.002' });
    const made = await root.call<{ id: number; key: string }>('POST', '/api/token', {
      name: 'reader',
      quota: 1000,
      models: ['demo-video'],
    });
    const read = async (node: Gateway, path: string) => {
      const { status, body, headers } = await ask(`${node.url}${path}`, { token: made.key, headers: newClient() });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      return { status, code: body.code, data: body.data as Record<string, unknown> };
    };
    const task = await until('the price is known', async () => {
      const { body } = await submit(a.url, made.key, {});
      return body.id as string | undefined;
    });
    await waitForEnd(b.url, made.key, task);
    const budget = await until('the task is settled', async () => {
      const { data } = await read(b, '/api/usage/token');
      return data.total_used !== 0 ? data : undefined;
    });
    expect(budget).toMatchObject({
      object: 'token_usage',
      name: 'reader',
      total_granted: 1000,
      total_used: 1000,
      total_available: 0,
      unlimited_quota: false,
      model_limits: { 'demo-video': true },
      model_limits_enabled: true,
      expires_at: 0,
    });
    // The budget is used up: it submits nothing, but reads.
    expect((await submit(b.url, made.key, {})).status).toBe(401);
    const log = await read(a, '/api/log/token/');
    expect([log.status, log.code]).toEqual([200, true]);
    expect(log.data).toMatchObject([{ task_id: task, quota: 1000, model: 'demo-video', kind: 'settle' }]);

    await root.call('DELETE', `/api/token/${made.id}`);
    for (const node of [a, b]) {
      expect(await read(node, '/api/usage/token/')).toMatchObject({ status: 401, code: 'AUTH_API_KEY_INVALID' });
    }
  });
});

describe('two nodes without a shared cache', () => {
  let nodes: Nodes;
  let key: string;
  beforeAll(async () => {
    nodes = await startNodes({});
    key = await nodes.root.createKey();
  });
  afterAll(() => nodes?.stop());

  test('each count critical requests alone', async () => {
    const client = newClient();
    const own = [401, 401, 401, 401, 401, 401, 429];
    expect(await inTurns(nodes, 7, (node) => guess(node, client))).toEqual({ a: own, b: own });
  });

  test('each count a user’s model requests alone', async () => {
    await setLimits(nodes.root, { SuccessCount: 2, DurationMinutes: 60, Enabled: true });
    // These nodes read the limit at their start.
    const options = { databaseUrl: nodes.a.databaseUrl };
    const fresh = await Promise.all([startGateway(options), startGateway(options)]);
    try {
      for (const node of fresh) {
        const statuses: number[] = [];
        for (let i = 0; i < 2; i += 1) statuses.push((await submit(node.url, key, { model: 'no-such-model' })).status);
        for (let i = 0; i < 3; i += 1) statuses.push((await submit(node.url, key, {})).status);
        expect(statuses.map((status) => (status === 200 || status === 429 ? status : 'failed'))).toEqual([
          'failed',
          'failed',
          200,
          200,
          429,
        ]);
      }
    } finally {
      await Promise.all(fresh.map((node) => node.stop()));
    }
  });
});

describe('a node whose shared cache dies', () => {
  let relay: Relay;
  let node: Gateway;
  beforeAll(async () => {
    relay = await startRelay(redis.url);
    node = await startGateway({ env: { REDIS_URL: withoutTimeout(relay.url), CRITICAL_RATE_LIMIT: String(CRITICAL) } });
    await countsInCache(node);
  });
  afterAll(async () => {
    await node?.stop();
    await relay?.stop();
  });

  test('counts in memory without an error, and shares its counts again when the cache is back', async () => {
    const client = newClient();
    const send = async () => (await guess(node, client)).status;
    for (let i = 0; i < 4; i += 1) expect(await send()).toBe(401);
    await relay.cut();
    const alone: number[] = [];
    for (let i = 0; i < CRITICAL + 2; i += 1) alone.push(await send());
    expect(new Set(alone)).toEqual(new Set([401, 429]));
    expect(alone.slice(-2)).toEqual([429, 429]);
    await relay.mend();
    await node.logged('the shared cache is reachable again');
    // Four were counted before the outage, so two more pass.
    expect([await send(), await send(), await send()].map((status) => status === 429)).toEqual([false, false, true]);
  });
});

test('a malformed limit stops the start and is named', async () => {
  for (const name of ['GLOBAL_API_RATE_LIMIT', 'GLOBAL_API_RATE_LIMIT_DURATION', 'CRITICAL_RATE_LIMIT']) {
    await expect(startGateway({ env: { [name]: '0' } })).rejects.toThrow(name);
  }
});
