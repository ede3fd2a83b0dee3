import { AppError } from '../../src/kernel/index.ts';
import type { Cluster, Running } from './cluster.ts';
import type { PlannedOrder } from './plan.ts';
import type { World } from './world.ts';

/** One request of a client. `cut`: the connection broke, for the process had died. */
export type Attempt = {
  beginMs: number;
  endMs: number;
  by: string;
  outcome: { taskId: string } | { code: string; shouldRetry: boolean | undefined } | 'cut' | 'waiting';
};
/** What a client saw of a task. */
export type Look = { atMs: number; taskId: string; status: string; by: string };
export type PlacedOrder = PlannedOrder & { attempts: Attempt[]; looks: Look[] };

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
      const answered = await Promise.race([
        gateway.submit(order).then(
          (taskId) => ({ outcome: { taskId }, isFinal: true }),
          (error: unknown) => readError(error),
        ),
        life.died.then(() => ({ outcome: 'cut' as const, isFinal: false })),
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
  for (let left = LOOKS_AFTER_END; taskId !== undefined && left > 0; ) {
    await pause(random.between(1000, 40_000));
    const { gateway, life } = await findProcess();
    const seen = await Promise.race([
      gateway.tasks.ownSummary(userId, taskId).then(
        ({ status }) => status as string,
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      ),
      life.died.then(() => 'cut'),
    ]);
    order.looks.push({ atMs: world.nowMs(), taskId, status: seen, by: life.name });
    if (seen === 'SUCCESS' || seen === 'FAILURE') left -= 1;
  }
}

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
