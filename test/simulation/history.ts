import { type PlacedOrder, runClient } from './clients.ts';
import { createCluster, type Lifetime } from './cluster.ts';
import type { Database, Databases } from './databases.ts';
import { createFaults } from './faults.ts';
import { RECEIVER } from './gateway.ts';
import { createMemoryFiles } from './memory-files.ts';
import type { Exchange } from './network.ts';
import { drawPlan, type Plan } from './plan.ts';
import { type Plugins, VENDOR } from './prepared-world.ts';
import { type Books, readBooks } from './read-books.ts';
import { createReceiver, type ReceivedNotice } from './receiver.ts';
import { type Imbalances, removeOldRows } from './remove-old-rows.ts';
import { createVendor, type Vendor } from './vendor.ts';
import { createWorld } from './world.ts';

/** Everything that was seen of a history from outside, and the books at its end. */
export type History = {
  seed: number;
  plan: Plan;
  orders: readonly PlacedOrder[];
  vendor: Vendor;
  notices: readonly ReceivedNotice[];
  lifetimes: readonly Lifetime[];
  exchanges: readonly Exchange[];
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

/** Runs the history of a seed to its end. */
export async function runHistory(seed: number, { databases, plugins }: HistoryParts): Promise<History> {
  const world = createWorld(seed);
  const database = await databases.create();
  try {
    const plan = drawPlan(world.random.fork(), database.dialect);
    const faults = createFaults(world, plan.rates);
    const orders = plan.orders.map((order): PlacedOrder => ({ ...order, attempts: [], looks: [] }));
    const fates = new Map(orders.map(({ name, fate }) => [name, fate]));
    const vendor = createVendor(world, faults, (order) => {
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
    const cluster = createCluster({ world, faults, database, plugins, sites, files, machines: plan.machines });
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
    await cluster.end();
    const endMs = world.nowMs();
    const books = await readBooks(database);
    const late = world.random.chance(RETENTION_SHARE)
      ? { imbalances: await removeOldRows(database, endMs, world.random), books: await readBooks(database) }
      : undefined;
    return {
      ...{ seed, plan, orders, vendor, isQuiet, endMs, tasksEndedMs, notices: receiver.notices },
      ...{ lifetimes: cluster.lifetimes, exchanges: cluster.exchanges },
      ...{ books, late, files: files.contents, notes: world.notes },
    };
  } finally {
    await database.drop();
  }
}

async function countOpen(database: Database): Promise<{ tasks: number; notices: number; results: number }> {
  const [row] = await database.query(`select
    (select count(*) from tasks where status not in ('SUCCESS', 'FAILURE')) as tasks,
    (select count(*) from webhook_outbox where status = 'pending') as notices,
    (select count(*) from kept_results where state = 'wanted') as results`);
  return { tasks: Number(row?.tasks), notices: Number(row?.notices), results: Number(row?.results) };
}
