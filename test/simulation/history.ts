import type { WaitingRules } from '../../src/tasks/index.ts';
import { type PlacedOrder, runClient } from './clients.ts';
import { type Cluster, createCluster, type Lifetime } from './cluster.ts';
import type { Database, Databases } from './databases.ts';
import { createFaults } from './faults.ts';
import { RECEIVER } from './gateway.ts';
import { createMemoryFiles } from './memory-files.ts';
import type { Exchange } from './network.ts';
import { createOperator, declareLimits, type LimitInForce, type Move } from './operator.ts';
import { drawPlan, type Plan } from './plan.ts';
import { NO_WAITING, type Plugins, VENDOR } from './prepared-world.ts';
import { type Books, readBooks } from './read-books.ts';
import { createReceiver, type ReceivedNotice } from './receiver.ts';
import { type Imbalances, removeOldRows } from './remove-old-rows.ts';
import { createVendor, type Vendor } from './vendor.ts';
import { createWorld, type World } from './world.ts';

/** Everything that was seen of a history from outside, and the books at its end. */
export type History = {
  seed: number;
  plan: Plan;
  orders: readonly PlacedOrder[];
  vendor: Vendor;
  notices: readonly ReceivedNotice[];
  lifetimes: readonly Lifetime[];
  exchanges: readonly Exchange[];
  /** What was declared of every account, from when on. */
  limits: readonly LimitInForce[];
  moves: readonly Move[];
  /** What waited beside what ran, every few seconds. */
  queueLooks: readonly QueueLook[];
  /** Slots that processes thought taken when everything had ended. */
  takenAtEnd: readonly string[];
  /** Whether all work had ended in time. */
  isQuiet: boolean;
  endMs: number;
  /** When no task ran any more, to fifteen seconds. */
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

const WAITING: WaitingRules = {
  ...{ maxWaitMs: 0, maxWaiting: 100_000, maxWaitingPerUser: 1000, maxWaitingBytes: 1e9, priority: 0 },
  maxRunning: null,
};

/** Runs the history of a seed to its end. */
export async function runHistory(seed: number, { databases, plugins }: HistoryParts): Promise<History> {
  const world = createWorld(seed);
  const database = await databases.create();
  try {
    const plan = drawPlan(world.random.fork(), database.dialect);
    const faults = createFaults(world, plan.rates);
    const orders = plan.orders.map((order): PlacedOrder => ({ ...order, attempts: [], looks: [], removals: [] }));
    const fates = new Map(orders.map(({ name, fate }) => [name, fate]));
    const { queue } = plan;
    const accounts = { runs: queue.vendorRuns, isShared: queue.isShared };
    const vendor = createVendor({ world, faults, accounts }, (order) => {
      const fate = fates.get(order);
      if (!fate) throw new Error(`The vendor got an order that nobody placed: ${order}`);
      return fate;
    });
    const receiver = createReceiver(world, faults);
    const files = createMemoryFiles();
    const sites = new Map([
      [VENDOR, vendor.site],
      [RECEIVER, receiver.site],
    ]);
    const waiting = queue.maxWaitMs > 0 ? { ...WAITING, maxWaitMs: queue.maxWaitMs } : NO_WAITING;
    const cluster = createCluster({
      ...{ world, faults, database, plugins, sites, files, waiting, machines: plan.machines },
    });
    await declareLimits(database, queue);
    const operator = createOperator({ world, cluster, database }, queue);
    const userIds = new Map(
      (await database.query('select id, username from users')).map((row) => [String(row.username), Number(row.id)]),
    );

    cluster.start();
    let clients = orders.length;
    for (const order of orders) {
      world.after(order.atMs, () => {
        void runClient({ world, cluster, userIds }, order).then(() => {
          clients -= 1;
        });
      });
    }
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
      ...{ limits: operator.limits, moves: operator.moves, queueLooks, takenAtEnd },
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

const ACCOUNTS = ['first', 'second', 'batch', 'one account'];
const LOOK_MS = 5000;

function lookAtQueue(
  { world, database, vendor, cluster }: { world: World; database: Database; vendor: Vendor; cluster: Cluster },
  looks: QueueLook[],
): void {
  const look = async (): Promise<void> => {
    const rows = await world.real(
      database.query(`select task_id, not_before, (select model from waiting_classes
        where waiting_classes.class = waiting.class limit 1) as model from waiting`),
    );
    looks.push({
      atMs: world.nowMs(),
      waiting: rows.map((row) => ({
        ...{ taskId: String(row.task_id), model: String(row.model), mayStart: Number(row.not_before) === 0 },
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
  await world.run(world.nowMs() + COUNTED_WITHIN_MS);
  return cluster.running().flatMap(({ life, gateway: { channels, capacity } }) =>
    channels.known().flatMap((channel) => {
      const { running } = capacity.describe(channel);
      return running === 0 ? [] : [`${life.name} thinks that ${channel.name} runs ${running}`];
    }),
  );
}

async function countOpen(database: Database): Promise<{ tasks: number; notices: number; results: number }> {
  const [row] = await database.query(`select
    (select count(*) from tasks where status not in ('SUCCESS', 'FAILURE')) as tasks,
    (select count(*) from webhook_outbox where status = 'pending') as notices,
    (select count(*) from kept_results where state = 'wanted') as results`);
  return { tasks: Number(row?.tasks), notices: Number(row?.notices), results: Number(row?.results) };
}
