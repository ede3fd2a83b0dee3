/** Two nodes at a vendor that runs five jobs, of which one is killed every ten seconds. */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { randomAlnum, sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { type Answer, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { until } from '../support/until.ts';

setDefaultTimeout(1_200_000);

const USERS = 20;
const OF_EACH = 50;
const MOST_RUNNING = 5;
/** Where nothing is declared, its refusals show the limit. */
const MOST_REFUSALS = 30;
const KILL_EVERY_MS = 10_000;
const BALANCE = 1_000_000_000;
/** Many requests at once, of clients who repeat what failed until it is answered. */
const CLIENTS = 40;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function addUserKey(store: Store, name: string): Promise<string> {
  const at = systemClock.unix();
  const user = await store.users.insert({
    ...{ username: name, displayName: name, passwordHash: '', role: 1, status: 1, email: null },
    ...{ group: 'default', language: 'en', createdAt: at },
  });
  if (!user) throw new Error(`${name} is taken`);
  const { id: userId, walletId } = user;
  await store.ledger.grant({ walletId, kind: 'grant', key: `grant of ${name}`, amount: BALANCE, at });
  const key = `sk-${randomAlnum(48)}`;
  await store.apiKeys.insert({
    ...{ userId, walletId, name, keyHash: sha256Hex(key), prefix: key.slice(0, 8), status: 1, unlimitedQuota: true },
    ...{ quota: 0, models: [], allowIps: [], expiresAt: 0, group: null, createdAt: at, webhookSecretSealed: null },
  });
  return key;
}

for (const isDeclared of [true, false])
  test(`a limit that is ${isDeclared ? 'declared' : 'learned'} holds, and every order is bought once`, async () => {
    const vendor = createDemoVendor({ clock: systemClock, key: 'demo-vendor-key', maxRunning: MOST_RUNNING });
    const { url: vendorUrl, stop } = await vendor.start(0);
    closing.push(stop);
    const databaseUrl = await migratedDatabaseUrl();
    const store = await openStore({
      ...{ databaseUrl, dataDir: '', synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
    });
    closing.push(() => store.close());
    // A slot that a kill leaves behind is free again after a minute.
    const env = { TASK_POLL_INTERVAL_SECONDS: '1', TASK_TIMEOUT_MINUTES: '1', LOG_LEVEL: 'error' };
    const nodes: Gateway[] = [];
    for (let index = 0; index < 2; index += 1) nodes.push(await startGateway({ databaseUrl, env }));
    closing.push(() => Promise.all(nodes.map((node) => node.kill())));
    const admin = await setUp(nodes.find(({ setupUrl }) => setupUrl) as Gateway);
    await admin.createChannel(vendorUrl, isDeclared ? { limits: { max_running: MOST_RUNNING } } : {});
    await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'demo-video', expression: '0.02 * u("seconds")' });
    const keys = await Promise.all(Array.from({ length: USERS }, (_, index) => addUserKey(store, `user${index}`)));

    let isOver = false;
    const killing = (async () => {
      for (let index = 0; !isOver; index = (index + 1) % nodes.length) {
        await systemClock.sleep(KILL_EVERY_MS);
        const node = nodes[index] as Gateway;
        await node.kill();
        nodes[index] = await startGateway({ databaseUrl, env, port: node.port, dataDir: node.dataDir });
      }
    })();

    const orders = keys.flatMap((key) => Array.from({ length: OF_EACH }, (_, index) => ({ key, index })));
    const left = [...orders];
    const taken = new Map<string, string>();
    const place = async (client: number): Promise<void> => {
      for (let order = left.shift(); order; order = left.shift()) {
        const { key, index } = order;
        let attempts = client;
        const body = await until(`order ${index} is accepted`, () =>
          placeOnce(nodes[attempts++ % nodes.length] as Gateway, order),
        );
        taken.set(`${key} ${index}`, String(body.id));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => place(client)));
    expect(new Set(taken.values()).size).toBe(orders.length);
    await until(
      'everything has ended',
      async () => {
        await systemClock.sleep(1000);
        return (await store.tasks.countUnfinished({})) === 0;
      },
      900_000,
    );
    isOver = true;
    await killing;

    const tasks = await Promise.all([...taken.values()].map((id) => store.tasks.byTaskId(id)));
    // What a killed node was sending is interrupted and refunded: nobody knows whether it arrived.
    const lost = tasks.filter((task) => task?.status !== 'SUCCESS');
    expect(lost.filter((task) => !/interrupted/.test(task?.failReason ?? ''))).toEqual([]);
    expect(lost.length).toBeLessThan(orders.length / 20);
    const counts = (await (await fetch(`${vendorUrl}/stats`)).json()) as Record<string, unknown>;
    expect(Number(counts.jobs)).toBeLessThanOrEqual(orders.length);
    expect(Number(counts.jobs)).toBeGreaterThanOrEqual(orders.length - lost.length);
    // Where nothing is refused, no task is sent to the vendor a second time.
    if (isDeclared) expect(counts).toMatchObject({ full: 0, most_running: MOST_RUNNING, duplicate_references: {} });
    else expect(Number(counts.full)).toBeLessThan(MOST_REFUSALS);
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

/** With its Idempotency-Key, so that a repeat buys nothing twice. Undefined: to be repeated. */
async function placeOnce(
  { url }: Gateway,
  { key, index }: { key: string; index: number },
): Promise<Answer['body'] | undefined> {
  const answer = await ask(`${url}/v1/tasks/demo`, {
    token: key,
    headers: { 'idempotency-key': `order ${index}` },
    body: { model: 'demo-video', prompt: 'a cat [duration=0.2]', seconds: 5 },
  }).catch(() => undefined);
  return answer && answer.status < 300 ? answer.body : undefined;
}
