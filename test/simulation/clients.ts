import { AppError } from '../../src/kernel/index.ts';
import type { Cluster, Running } from './cluster.ts';
import type { PlannedOrder } from './plan.ts';
import type { World } from './world.ts';

/**
 * One request of a client. `cut`: the connection broke, for the process had died. `left`: the
 * client did not wait for the answer.
 */
export type Attempt = {
  beginMs: number;
  endMs: number;
  by: string;
  outcome: { taskId: string } | { code: string; shouldRetry: boolean | undefined } | 'cut' | 'left' | 'waiting';
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
  const pause = (ms: number) => new Promise<void>((resolve) => void world.after(ms, resolve));
  const findProcess = async (): Promise<Running> => {
    for (;;) {
      const found = cluster.pick();
      if (found) return found;
      await pause(2000);
    }
  };

  /** Undefined: nobody will know. */
  async function submit(): Promise<string | undefined> {
    while (order.attempts.length < MOST_ATTEMPTS) {
      const { gateway, life } = await findProcess();
      const attempt: Attempt = {
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
      const answered = await Promise.race([
        gateway.submit(order, left.signal).then(
          (taskId) => ({ outcome: { taskId }, isFinal: true }),
          (error: unknown) => readError(error),
        ),
        life.died.then(() => ({ outcome: 'cut' as const, isFinal: false })),
        leaves.promise,
      ]);
      attempt.endMs = world.nowMs();
      attempt.outcome = answered.outcome;
      world.note(`client: ${order.name} from ${life.name}: ${JSON.stringify(attempt.outcome)}`);
      if (answered.isFinal)
        return 'taskId' in Object(attempt.outcome) ? (attempt.outcome as { taskId: string }).taskId : undefined;
      if (!mayRepeat(order, attempt)) return undefined;
      await pause(random.between(1000, 20_000));
    }
    return undefined;
  }

  const taskId = await submit();
  const userId = userIds.get(order.user) ?? 0;

  async function remove(kind: Removal['kind']): Promise<void> {
    if (taskId === undefined) return;
    const { gateway, life } = await findProcess();
    const removal: Removal = { kind, taskId, beginMs: world.nowMs(), endMs: Number.POSITIVE_INFINITY, answer: 'cut' };
    order.removals.push(removal);
    const act = kind === 'cancel' ? gateway.tasks.cancel : gateway.tasks.delete;
    removal.answer = await Promise.race([act(userId, taskId).then(() => 'done', codeOf), life.died.then(() => 'cut')]);
    removal.endMs = world.nowMs();
    world.note(`client: ${kind} of ${taskId}: ${removal.answer}`);
  }

  const { removal } = order;
  if (removal) world.after(removal.afterMs, () => void remove(removal.kind));
  for (let left = LOOKS_AFTER_END; taskId !== undefined && left > 0; ) {
    await pause(random.between(1000, 40_000));
    const { gateway, life } = await findProcess();
    const seen = await Promise.race([
      gateway.tasks.ownSummary(userId, taskId).then(({ status }) => status as string, codeOf),
      life.died.then(() => 'cut'),
    ]);
    order.looks.push({ atMs: world.nowMs(), taskId, status: seen, by: life.name });
    if (seen === 'SUCCESS' || seen === 'FAILURE' || seen === GONE) left -= 1;
  }
}

/** What a look at a deleted task is answered. */
export const GONE = 'tasks.task_not_found';

const codeOf = (error: unknown): string => (error instanceof AppError ? error.code : String(error));

function readError(error: unknown): { outcome: Attempt['outcome']; isFinal: boolean } {
  if (!(error instanceof AppError)) return { outcome: { code: String(error), shouldRetry: undefined }, isFinal: true };
  return { outcome: { code: error.code, shouldRetry: error.shouldRetry }, isFinal: FINAL_KINDS.has(error.kind) };
}

/** With an Idempotency-Key a repetition is safe; without, only where the answer says so. */
function mayRepeat({ idempotencyKey, insists }: PlacedOrder, { outcome }: Attempt): boolean {
  const advice = typeof outcome === 'object' && 'shouldRetry' in outcome ? outcome.shouldRetry : undefined;
  if (idempotencyKey === null) return advice === true;
  return insists || advice !== false;
}
