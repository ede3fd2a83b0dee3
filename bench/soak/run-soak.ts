import { postgresFolders } from '../../test/support/find-program.ts';
import { type Administrator, setUp, startGateway } from '../../test/support/gateway.ts';
import { type StartedService, startPostgres } from '../../test/support/start-services.ts';
import { until } from '../../test/support/until.ts';
import { checkRules, isQuiet, type Rule } from './check-rules.ts';
import { collectNotices, type Notices } from './collect-notices.ts';
import { keepNodes, killInTurn } from './keep-nodes.ts';
import { type Order, placeOrders } from './place-orders.ts';
import { makeDatabase } from './query-database.ts';
import { startNoisyVendor } from './start-noisy-vendor.ts';

export type SoakPlan = { tasks: number; nodes: number; seconds: number };
export type SoakReport = { rules: Rule[]; facts: Record<string, number>; complaints: [string, number][] };

const RECEIVERS = 3;
/** Restarts of PostgreSQL come after these shares of the time. */
const RESTARTS = [1 / 3, 2 / 3];
/**
 * One order in this many asks the vendor for a job that fails, and one in this many is polled in
 * batches.
 */
const FAILING = 20;
const BATCHED = 4;
/**
 * The leases of a killed node run out in 90 s, notices refused at first come back after 5 and 30 s.
 */
const SETTLE_MS = 240_000;
const PRICE = '0.0001 * u("seconds")';

/**
 * Runs nodes of the executable on one PostgreSQL, kills and restarts them under load, with a vendor
 * that answers badly.
 */
export async function runSoak(plan: SoakPlan, say: (line: string) => void): Promise<SoakReport> {
  const [bin] = postgresFolders();
  if (bin === undefined) throw new Error('PostgreSQL is not installed (apt-get install postgresql)');
  const postgres = await startPostgres(bin);
  const vendor = await startNoisyVendor();
  const notices = await Promise.all(Array.from({ length: RECEIVERS }, collectNotices));
  try {
    const options = {
      databaseUrl: await makeDatabase(postgres.url, 'soak'),
      env: {
        TASK_POLL_INTERVAL_SECONDS: '3',
        WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8',
        LOG_LEVEL: 'warn',
      },
    };
    const first = await startGateway(options);
    const admin = await setUp(first);
    const receivers = await prepare(admin, vendor.url, notices);
    const nodes = await keepNodes(first, plan.nodes, options);
    const begun = performance.now();
    const passed = () => ((performance.now() - begun) / 1000).toFixed(0);
    const playing = new AbortController();
    const killing = killInTurn(nodes.killNext, playing.signal);
    const restarting = restartDatabase(postgres, plan.seconds, () => say(`${passed()} s: PostgreSQL restarted`));
    try {
      const orders = Array.from({ length: plan.tasks }, (_, index) => makeOrder(index, [...receivers.values()]));
      const placed = await placeOrders(orders, {
        urls: nodes.urls,
        spreadMs: plan.seconds * 1000,
        report: (count) => say(`${passed()} s: ${count} orders placed, ${nodes.counts.kills} kills`),
      });
      say(`${passed()} s: ${placed.length} orders placed, ${nodes.counts.kills} kills`);
      await restarting;
      playing.abort();
      await killing;
      await until('all tasks have ended and were reported', () => isQuiet(options.databaseUrl), SETTLE_MS).catch(
        (error) => say(String(error)),
      );
      say(`${passed()} s: checking the rules`);
      const rules = await checkRules({
        gateway: first,
        ordered: plan.tasks,
        placed,
        vendor,
        receivers: new Map([...receivers].map(([id, { notices: own }]) => [id, own])),
      });
      const codes: Record<string, number> = {};
      for (const { answers } of placed) {
        for (const [code, count] of answers) codes[`answer ${code}`] = (codes[`answer ${code}`] ?? 0) + count;
      }
      const facts = { seconds: Number(passed()), ...nodes.counts, ...vendor.answered, ...codes };
      return { rules, facts, complaints: nodes.complaints() };
    } finally {
      playing.abort();
      await Promise.allSettled([killing, restarting]);
      await nodes.stop();
    }
  } finally {
    await Promise.all(notices.map(({ receiver }) => receiver.stop()));
    await vendor.stop();
    await postgres.stop();
  }
}

type Keyed = { key: string; notices: Notices };

/**
 * The plugin that asks in batches, channels, prices, and a key with its secret for each receiver;
 * gives the receivers by key id.
 */
async function prepare(
  admin: Administrator,
  vendorUrl: string,
  notices: readonly Notices[],
): Promise<Map<number, Keyed>> {
  const source = await Bun.file(new URL('../../test/fixtures/demo-batch.js', import.meta.url)).text();
  await admin.call('POST', '/api/plugin/task', { source });
  for (const name of ['first', 'second']) await admin.createChannel(vendorUrl, { name });
  await admin.createChannel(vendorUrl, { name: 'batch', models: ['demo-batch-video'], task_plugin_key: 'demo-batch' });
  for (const [plugin_key, model] of [
    ['demo', 'demo-video'],
    ['demo-batch', 'demo-batch-video'],
  ]) {
    await admin.call('PUT', '/api/price', { plugin_key, model, expression: PRICE });
  }
  const receivers = new Map<number, Keyed>();
  for (const own of notices) {
    const made = await admin.call<{ id: number; key: string; new_webhook_secret: string }>('POST', '/api/token', {
      name: 'soak',
      unlimited_quota: true,
      webhook_url: own.receiver.url,
    });
    own.secret = made.new_webhook_secret;
    receivers.set(made.id, { key: made.key, notices: own });
  }
  return receivers;
}

function makeOrder(index: number, receivers: readonly Keyed[]): Order {
  const { key, notices } = receivers[index % receivers.length] as Keyed;
  const batched = index % BATCHED === BATCHED - 1;
  const fails = index % FAILING === 0;
  const duration = 2 + ((index * 7) % 20);
  return {
    plugin: batched ? 'demo-batch' : 'demo',
    model: batched ? 'demo-batch-video' : 'demo-video',
    prompt: `order ${index} [duration=${duration}]${fails ? ' [fail]' : ''}`,
    fails,
    key,
    callbackUrl: notices.receiver.url,
  };
}

async function restartDatabase(postgres: StartedService, seconds: number, done: () => void): Promise<void> {
  let slept = 0;
  for (const share of RESTARTS) {
    await Bun.sleep((share - slept) * seconds * 1000);
    slept = share;
    await postgres.restart();
    done();
  }
}
