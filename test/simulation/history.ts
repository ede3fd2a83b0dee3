import type { WaitingRules } from '../../src/tasks/index.ts';
import { createChatVendor, type RelayArrival } from './chat-vendor.ts';
import { type PlacedOrder, runClient } from './clients.ts';
import { type Cluster, createCluster, type Lifetime } from './cluster.ts';
import type { Database, Databases } from './databases.ts';
import { createFaults } from './faults.ts';
import { RECEIVER } from './gateway.ts';
import { createMemoryFiles } from './memory-files.ts';
import type { Exchange } from './network.ts';
import { createOperator, declareLimits, type LimitInForce, type Move } from './operator.ts';
import { drawPlan, type Plan } from './plan.ts';
import { CHAT_VENDOR, NO_WAITING, OTHER_MODEL, type Plugins, VENDOR } from './prepared-world.ts';
import { type Books, readBooks } from './read-books.ts';
import { createReceiver, type ReceivedNotice } from './receiver.ts';
import { type PlacedRelay, runRelayClient } from './relay-clients.ts';
import { type Imbalances, removeOldRows } from './remove-old-rows.ts';
import { createVendor, type Vendor } from './vendor.ts';
import { createWorld, type World } from './world.ts';

/** Everything that was seen of a history from outside, and the books at its end. */
export type History = {
  seed: number;
  plan: Plan;
  orders: readonly PlacedOrder[];
  relays: readonly PlacedRelay[];
  vendor: Vendor;
  /** Relayed requests, at their vendor. */
  arrivals: readonly RelayArrival[];
  notices: readonly ReceivedNotice[];
  lifetimes: readonly Lifetime[];
  exchanges: readonly Exchange[];
  /** What was declared of every account, from when on. */
  limits: readonly LimitInForce[];
  moves: readonly Move[];
  /** When a key was removed for certain; undefined: it was not. */
  removedMs: number | undefined;
  /** What waited beside what ran, every few seconds. */
  queueLooks: readonly QueueLook[];
  /** Slots that processes thought taken when everything had ended. */
  takenAtEnd: readonly string[];
  /** Whether all work had ended in time. */
  isQuiet: boolean;
  endMs: number;
  /** When no task ran any more and no relayed request was open, to fifteen seconds. */
  tasksEndedMs: number;
  books: Books;
  /** The books after the retention has removed what is old; undefined: it did not run. */
  late: { books: Books; imbalances: Imbalances } | undefined;
  files: ReadonlyMap<string, Uint8Array>;
  notes: readonly string[];
};

export type HistoryParts = { databases: Databases; plugins: Plugins };

/** Histories after which the retention runs. */
const RETENTION_SHARE = 0.3;
/** How long a healed gateway may take to end all of its work. */
const CALM_MS = 3 * 3600_000;
const CHECK_MS = 15_000;
/** On PostgreSQL, what happens so soon after another meets it in the database. */
const TOGETHER_MS = 20;

const WAITING: WaitingRules = {
  ...{ maxWaitMs: 0, maxWaiting: 100_000, maxWaitingPerUser: 1000, maxWaitingBytes: 1e9, priority: 0 },
  maxRunning: null,
};

/** Runs the history of a seed to its end. */
export async function runHistory(seed: number, { databases, plugins }: HistoryParts): Promise<History> {
  const database = await databases.create();
  const world = createWorld(seed, { togetherMs: database.dialect === 'postgres' ? TOGETHER_MS : 0 });
  try {
    const plan = drawPlan(world.random.fork(), database.dialect);
    const faults = createFaults(world, plan.rates);
    const orders = plan.orders.map((order): PlacedOrder => ({ ...order, attempts: [], looks: [], removals: [] }));
    const fates = new Map(orders.map(({ name, fate }) => [name, fate]));
    const { queue } = plan;
    const accounts = { runs: queue.vendorRuns, isShared: queue.isShared, dead: queue.dead };
    const vendor = createVendor({ world, faults, accounts }, (order) => {
      const fate = fates.get(order);
      if (!fate) throw new Error(`The vendor got an order that nobody placed: ${order}`);
      return fate;
    });
    const relays = plan.relays.requests.map(
      (relay): PlacedRelay => ({ ...relay, attempts: [], taskId: undefined, looks: [] }),
    );
    const chat = createChatVendor({ world, faults }, (asked) => relays.find(({ name }) => name === asked));
    const receiver = createReceiver(world, faults);
    const files = createMemoryFiles();
    const sites = new Map([
      [VENDOR, vendor.site],
      [CHAT_VENDOR, chat.site],
      [RECEIVER, receiver.site],
    ]);
    const { fallback } = queue;
    const waiting: WaitingRules = {
      ...(queue.maxWaitMs > 0 ? { ...WAITING, maxWaitMs: queue.maxWaitMs } : NO_WAITING),
      ...(fallback ? { fallbacks: { 'demo-video': { models: [OTHER_MODEL.model], ...fallback } } } : {}),
    };
    const cluster = createCluster({
      ...{ world, faults, database, plugins, sites, files, waiting, machines: plan.machines },
      mostHeld: plan.relays.mostHeld,
    });
    await declareLimits(database, plan);
    const operator = createOperator({ world, cluster, database }, queue);
    const userIds = new Map(
      (await database.query('select id, username from users')).map((row) => [String(row.username), Number(row.id)]),
    );

    cluster.start();
    let clients = orders.length + relays.length;
    const come = (atMs: number, run: () => Promise<void>): void =>
      void world.after(atMs, () => {
        void run().then(() => {
          clients -= 1;
        });
      });
    for (const order of orders) come(order.atMs, () => runClient({ world, cluster, userIds }, order));
    for (const relay of relays) come(relay.atMs, () => runRelayClient({ world, cluster }, relay));
    for (const act of plan.operator) world.after(act.atMs, () => void operator.act(act));
    const queueLooks: QueueLook[] = [];
    if (queue.maxWaitMs > 0) lookAtQueue({ world, database, vendor, cluster }, queueLooks);
    for (const disturbance of plan.disturbances) world.after(disturbance.atMs, () => cluster.disturb(disturbance));
    world.after(plan.healAtMs, () => faults.heal());
    let isQuiet = false;
    let tasksEndedMs = Number.POSITIVE_INFINITY;
    const check = async (): Promise<void> => {
      const open = await world.real(countOpen(database));
      if (open.tasks > 0) tasksEndedMs = Number.POSITIVE_INFINITY;
      else tasksEndedMs = Math.min(tasksEndedMs, world.nowMs());
      isQuiet = clients === 0 && open.tasks + open.notices + open.results === 0;
      world.after(CHECK_MS, () => void check());
    };
    world.after(plan.healAtMs + CHECK_MS, () => void check());
    await world.run(plan.healAtMs + CALM_MS, () => isQuiet);
    const takenAtEnd = queue.maxWaitMs > 0 ? await findTaken(world, cluster) : [];
    await cluster.end();
    const endMs = world.nowMs();
    const books = await readBooks(database);
    const late = world.random.chance(RETENTION_SHARE)
      ? { imbalances: await removeOldRows(database, endMs, world.random), books: await readBooks(database) }
      : undefined;
    return {
      ...{ seed, plan, orders, vendor, isQuiet, endMs, tasksEndedMs, notices: receiver.notices },
      ...{ relays, arrivals: chat.arrivals },
      ...{ limits: operator.limits, moves: operator.moves, removedMs: operator.removedMs(), queueLooks, takenAtEnd },
      ...{ lifetimes: cluster.lifetimes, exchanges: cluster.exchanges },
      ...{ books, late, files: files.contents, notes: world.notes },
    };
  } finally {
    await database.drop();
  }
}

/** What an operator who watches sees: the tasks that may be sent, and what each account runs. */
export type QueueLook = {
  atMs: number;
  waiting: readonly { taskId: string; model: string; mayStart: boolean }[];
  running: Readonly<Record<string, number>>;
  /** Whether a process answers. */
  isServed: boolean;
};

const ACCOUNTS = ['first', 'second', 'batch', OTHER_MODEL.channel, 'one account'];
const LOOK_MS = 5000;

function lookAtQueue(
  { world, database, vendor, cluster }: { world: World; database: Database; vendor: Vendor; cluster: Cluster },
  looks: QueueLook[],
): void {
  const look = async (): Promise<void> => {
    const rows = await world.real(
      database.query(`select task_id, not_before, parked, (select model from waiting_classes
        where waiting_classes.class = waiting.class limit 1) as model from waiting`),
    );
    looks.push({
      atMs: world.nowMs(),
      waiting: rows.map((row) => ({
        ...{
          taskId: String(row.task_id),
          model: String(row.model),
          mayStart: Number(row.not_before) === 0 && row.parked === '',
        },
      })),
      running: Object.fromEntries(ACCOUNTS.map((account) => [account, vendor.running(account)])),
      isServed: cluster.running().length > 0,
    });
    world.after(LOOK_MS, () => void look());
  };
  world.after(LOOK_MS, () => void look());
}

/** Nodes count again within seconds. */
const COUNTED_WITHIN_MS = 20_000;

async function findTaken(world: World, cluster: Cluster): Promise<string[]> {
  const awakeMs = Math.max(...cluster.running().map(({ machine }) => machine.suspendedUntilMs));
  await world.run(Math.max(world.nowMs(), awakeMs) + COUNTED_WITHIN_MS);
  return cluster.running().flatMap(({ life, gateway: { channels, capacity } }) =>
    channels.known().flatMap((channel) => {
      const { running } = capacity.describe(channel);
      return running === 0 ? [] : [`${life.name} thinks that ${channel.name} runs ${running}`];
    }),
  );
}

async function countOpen(database: Database): Promise<{ tasks: number; notices: number; results: number }> {
  const [row] = await database.query(`select
    (select count(*) from tasks where status not in ('SUCCESS', 'FAILURE'))
      + (select count(*) from relay_requests where status = 'OPEN') as tasks,
    (select count(*) from webhook_outbox where status = 'pending') as notices,
    (select count(*) from kept_results where state = 'wanted') as results`);
  return { tasks: Number(row?.tasks), notices: Number(row?.notices), results: Number(row?.results) };
}
