import { AppError } from '../../src/kernel/index.ts';
import type { Cluster, Running } from './cluster.ts';
import type { PlannedOrder } from './plan.ts';
import type { SeededRandom } from './random.ts';
import type { World } from './world.ts';

/** What a client reads of a failure. */
export type Refusal = { code: string; shouldRetry: boolean | undefined };
/**
 * One request of a client. `cut`: the connection broke, because the process had died. `left`: the
 * client did not wait for the answer.
 */
export type Attempt<T extends object = { taskId: string }> = {
  beginMs: number;
  endMs: number;
  by: string;
  outcome: T | Refusal | 'cut' | 'left' | 'waiting';
};
/** What a client saw of a task. */
export type Look = { atMs: number; taskId: string; status: string; by: string };
/** A request to cancel or delete a task. `answer`: `done`, an error's code, or `cut`. */
export type Removal = { kind: 'cancel' | 'delete'; taskId: string; beginMs: number; endMs: number; answer: string };
export type PlacedOrder = PlannedOrder & { attempts: Attempt[]; looks: Look[]; removals: Removal[] };

const MOST_ATTEMPTS = 8;
/** What no repetition changes. */
const FINAL_KINDS: ReadonlySet<string> = new Set(['invalid', 'forbidden', 'out_of_quota', 'unprocessable']);
const LOOKS_AFTER_END = 2;

/** Sends an order as a careful client does, then looks at its task until it has ended. */
export async function runClient(
  { world, cluster, userIds }: { world: World; cluster: Cluster; userIds: ReadonlyMap<string, number> },
  order: PlacedOrder,
): Promise<void> {
  const random = world.random.fork();
  const pause = (ms: number) => waitFor(world, ms);
  const findProcess = (): Promise<Running> => findRunning(world, cluster);

  const answer = await askRepeatedly({ world, cluster, random }, order, ({ gateway }, signal) =>
    gateway.submit(order, signal).then((taskId) => ({ outcome: { taskId }, isFinal: true }), readError),
  );
  const taskId = answer?.taskId;
  const userId = userIds.get(order.user) ?? 0;

  async function remove(kind: Removal['kind']): Promise<void> {
    if (taskId === undefined) return;
    const { gateway, life } = await findProcess();
    const removal: Removal = { kind, taskId, beginMs: world.nowMs(), endMs: Number.POSITIVE_INFINITY, answer: 'cut' };
    order.removals.push(removal);
    const act = kind === 'cancel' ? gateway.tasks.cancel : gateway.tasks.delete;
    removal.answer = await Promise.race([
      act(userId, taskId).then(() => 'done', readCode),
      life.died.then(() => 'cut'),
    ]);
    removal.endMs = world.nowMs();
    world.note(`client: ${kind} of ${taskId}: ${removal.answer}`);
  }

  const { removal } = order;
  if (removal) world.after(removal.afterMs, () => void remove(removal.kind));
  for (let left = LOOKS_AFTER_END; taskId !== undefined && left > 0; ) {
    await pause(random.between(1000, 40_000));
    const { gateway, life } = await findProcess();
    const seen = await Promise.race([
      gateway.tasks.ownSummary(userId, taskId).then(({ status }) => status as string, readCode),
      life.died.then(() => 'cut'),
    ]);
    order.looks.push({ atMs: world.nowMs(), taskId, status: seen, by: life.name });
    if (seen === 'SUCCESS' || seen === 'FAILURE' || seen === GONE) left -= 1;
  }
}

type Asked<T extends object> = Pick<PlannedOrder, 'name' | 'leavesMs' | 'idempotencyKey' | 'insists'> & {
  attempts: Attempt<T>[];
};
type Answer<T extends object> = { outcome: T | Refusal; isFinal: boolean };

/** Repeats a request as long as that helps. Undefined: its client will not know an answer. */
export async function askRepeatedly<T extends object>(
  { world, cluster, random }: { world: World; cluster: Cluster; random: SeededRandom },
  order: Asked<T>,
  ask: (running: Running, signal: AbortSignal) => Promise<Answer<T>>,
): Promise<T | undefined> {
  while (order.attempts.length < MOST_ATTEMPTS) {
    const running = await findRunning(world, cluster);
    const { life } = running;
    const attempt: Attempt<T> = {
      beginMs: world.nowMs(),
      endMs: Number.POSITIVE_INFINITY,
      by: life.name,
      outcome: 'waiting',
    };
    order.attempts.push(attempt);
    world.note(`client: ${order.name} to ${life.name}`);
    const left = new AbortController();
    const leaves = Promise.withResolvers<{ outcome: 'left'; isFinal: true }>();
    if (order.leavesMs !== undefined)
      world.after(order.leavesMs, () => {
        left.abort();
        leaves.resolve({ outcome: 'left', isFinal: true });
      });
    const { outcome, isFinal } = await Promise.race([
      ask(running, left.signal),
      life.died.then(() => ({ outcome: 'cut' as const, isFinal: false })),
      leaves.promise,
    ]);
    attempt.endMs = world.nowMs();
    attempt.outcome = outcome;
    world.note(`client: ${order.name} from ${life.name}: ${JSON.stringify(outcome)}`);
    if (isFinal) return typeof outcome === 'string' || 'code' in outcome ? undefined : outcome;
    if (!mayRepeat(order, attempt)) return undefined;
    await waitFor(world, random.between(1000, 20_000));
  }
  return undefined;
}

export const waitFor = (world: World, ms: number): Promise<void> =>
  new Promise<void>((resolve) => void world.after(ms, resolve));

/** A process that answers; waits until there is one. */
export async function findRunning(world: World, cluster: Cluster): Promise<Running> {
  for (;;) {
    const found = cluster.pick();
    if (found) return found;
    await waitFor(world, 2000);
  }
}

/** What a look at a deleted task is answered. */
export const GONE = 'tasks.task_not_found';

export const readCode = (error: unknown): string => (error instanceof AppError ? error.code : String(error));

export function readError(error: unknown): { outcome: Refusal; isFinal: boolean } {
  if (!(error instanceof AppError)) return { outcome: { code: String(error), shouldRetry: undefined }, isFinal: true };
  return { outcome: { code: error.code, shouldRetry: error.shouldRetry }, isFinal: FINAL_KINDS.has(error.kind) };
}

/** With an Idempotency-Key a repetition is safe; without, only where the answer says so. */
function mayRepeat(
  { idempotencyKey, insists }: Pick<PlannedOrder, 'idempotencyKey' | 'insists'>,
  { outcome }: Attempt<object>,
): boolean {
  const advice = typeof outcome === 'object' && 'shouldRetry' in outcome ? outcome.shouldRetry : undefined;
  if (idempotencyKey === null) return advice === true;
  return insists || advice !== false;
}
