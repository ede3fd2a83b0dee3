import type { DeclaredLimit } from '../../src/store/ports/index.ts';
import type { Cluster } from './cluster.ts';
import type { Database } from './databases.ts';
import type { OperatorAct, Queue } from './plan-queue.ts';
import { EPOCH_MS, type World } from './world.ts';

/** A limit that was declared of every account. Until `sureMs` that before it may still hold. */
export type LimitInForce = { fromMs: number; sureMs: number; limit: DeclaredLimit };
/** A task that an administrator moved to the front, and when they knew it. */
export type Move = { taskId: string; atMs: number };

export type Operator = {
  act(act: OperatorAct): Promise<void>;
  limits: readonly LimitInForce[];
  moves: readonly Move[];
};

const POOL = 'one account';
/** Other nodes are told of a change, and simulated time does not wait until they know. */
const TOLD_MS = { sqlite: 0, postgres: 60_000 };

/** Writes what is declared before the first process starts. */
export async function declareLimits(database: Database, { declared, isShared }: Queue): Promise<void> {
  if (!declared && !isShared) return;
  const clock = { nowMs: () => EPOCH_MS, unix: () => EPOCH_MS / 1000, monotonicMs: () => 0, sleep: async () => {} };
  const store = await database.open(clock);
  try {
    for (const { id } of await store.channels.all())
      await store.channels.update(id, { limits: declared ?? null, pool: isShared ? POOL : '' });
  } finally {
    await store.close();
  }
}

/** An administrator, who repeats what failed. */
export function createOperator(
  { world, cluster, database }: { world: World; cluster: Cluster; database: Database },
  { declared }: Queue,
): Operator {
  const limits: LimitInForce[] = declared ? [{ fromMs: 0, sureMs: 0, limit: declared }] : [];
  const moves: Move[] = [];
  const pause = (ms: number) => new Promise<void>((resolve) => void world.after(ms, resolve));

  /** Undefined: it failed, or its process died. */
  async function attempt<T>(work: (gateway: NonNullable<ReturnType<Cluster['pick']>>['gateway']) => Promise<T>) {
    const running = cluster.pick();
    if (!running) return undefined;
    const { gateway, life } = running;
    return Promise.race([work(gateway).catch(() => undefined), life.died.then(() => undefined)]);
  }

  async function changeLimit(limit: DeclaredLimit): Promise<void> {
    const change: LimitInForce = { fromMs: world.nowMs(), sureMs: Number.POSITIVE_INFINITY, limit };
    limits.push(change);
    for (;;) {
      const isDone = await attempt(async ({ channels }) => {
        for (const { id } of channels.known()) await channels.update(id, { limits: limit }, { mayMoveKey: true });
        return true;
      });
      if (isDone) break;
      await pause(2000);
    }
    change.sureMs = world.nowMs() + TOLD_MS[database.dialect];
    world.note(`operator: declared ${JSON.stringify(limit)}`);
  }

  async function moveOne(): Promise<void> {
    const random = world.random.fork();
    const taskId = await attempt(async ({ tasks }) => {
      const { items } = await tasks.queue.list({}, { page: 1, pageSize: 100 });
      const found = items[random.below(Math.max(1, items.length))];
      if (!found) return undefined;
      await tasks.queue.moveToFront(found.taskId);
      return found.taskId;
    });
    if (taskId === undefined) return;
    moves.push({ taskId, atMs: world.nowMs() });
    world.note(`operator: moved ${taskId} to the front`);
  }

  return { act: (act) => (act.kind === 'limit' ? changeLimit(act.limit) : moveOne()), limits, moves };
}
