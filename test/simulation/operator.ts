import { RELAY_TYPE } from '../../src/channels/index.ts';
import { createSecretBox } from '../../src/kernel/index.ts';
import type { DeclaredLimit } from '../../src/store/ports/index.ts';
import type { Cluster } from './cluster.ts';
import type { Database } from './databases.ts';
import { SECRET } from './gateway.ts';
import type { Plan } from './plan.ts';
import { type OperatorAct, type Queue, SPARE_KEY } from './plan-queue.ts';
import { keyHashFor } from './prepared-world.ts';
import { EPOCH_MS, type World } from './world.ts';

/** A limit that was declared of every account. Until `sureMs` that before it may still hold. */
export type LimitInForce = { fromMs: number; sureMs: number; limit: DeclaredLimit };
/** A task that an administrator moved to the front, and when they knew it. */
export type Move = { taskId: string; atMs: number };

export type Operator = {
  act(act: OperatorAct): Promise<void>;
  limits: readonly LimitInForce[];
  moves: readonly Move[];
  removedMs(): number | undefined;
};

const POOL = 'one account';
/** The channel that may have a second key. */
const SPARE_OF = 'first';
/** Other nodes are told of a change, and simulated time does not wait until they know. */
const TOLD_MS = { sqlite: 0, postgres: 60_000 };

/** Writes what is declared before the first process starts. */
export async function declareLimits(
  database: Database,
  { queue, relays }: Pick<Plan, 'queue' | 'relays'>,
): Promise<void> {
  const { declared, isShared, own, budget, hasSpare } = queue;
  const { mostOpen, ofKey } = relays;
  if (!declared && !isShared && !own && !budget && !hasSpare && !mostOpen && !ofKey) return;
  const clock = { nowMs: () => EPOCH_MS, unix: () => EPOCH_MS / 1000, monotonicMs: () => 0, sleep: async () => {} };
  const store = await database.open(clock);
  try {
    for (const { id, name, type } of await store.channels.all()) {
      if (type === RELAY_TYPE) {
        if (mostOpen) await store.channels.update(id, { limits: { maxRunning: mostOpen } });
        continue;
      }
      await store.channels.update(id, { limits: declared ?? null, pool: isShared ? POOL : '' });
      const times = { createdAt: clock.unix(), updatedAt: clock.unix() };
      const spare = { channelId: id, keySealed: createSecretBox([SECRET]).seal(SPARE_KEY), keyHint: '', ...times };
      if (hasSpare && name === SPARE_OF) await store.credentials.insert([spare]);
    }
    for (const row of await database.query('select id, username from users')) {
      const ofUser = {
        ...(own && own.user === row.username ? { maxRunning: own.maxRunning } : {}),
        ...(budget && budget.user === row.username
          ? { budget: { amount: budget.amount, period: 'total' as const } }
          : {}),
      };
      if (Object.keys(ofUser).length > 0) await store.users.update(Number(row.id), ofUser);
    }
    if (ofKey) {
      const found = await store.apiKeys.byHash(keyHashFor(ofKey.user), clock.unix());
      if (!found) throw new Error(`${ofKey.user} has no key`);
      const ofIt = { unlimitedQuota: false, quota: ofKey.amount };
      await store.apiKeys.update(found.key.id, found.user.id, ofIt);
    }
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
  let removedMs: number | undefined;
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
        for (const { id, type } of channels.known())
          if (type !== RELAY_TYPE) await channels.update(id, { limits: limit }, { mayMoveKey: true });
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

  async function removeSpare(): Promise<void> {
    for (;;) {
      const isDone = await attempt(async ({ channels }) => {
        const channel = channels.known().find(({ name }) => name === SPARE_OF);
        const [, spare] = channel ? await channels.credentials.list(channel.id) : [];
        if (channel && spare) await channels.credentials.remove(channel.id, spare.id);
        return channel !== undefined;
      });
      if (isDone) break;
      await pause(2000);
    }
    removedMs = world.nowMs() + TOLD_MS[database.dialect];
    world.note(`operator: removed the second key of ${SPARE_OF}`);
  }

  const act = (one: OperatorAct): Promise<void> =>
    one.kind === 'limit' ? changeLimit(one.limit) : one.kind === 'front' ? moveOne() : removeSpare();
  return { act, limits, moves, removedMs: () => removedMs };
}
