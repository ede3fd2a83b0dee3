import { sentence } from '../../kernel/index.ts';
import { isStoreUnavailable, type TakenWaiting } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { toLease } from '../state/finish-task.ts';
import { failSubmission } from '../submission/attempt-channels.ts';
import { putBack } from '../submission/return-to-line.ts';
import type { TaskDeps } from '../types.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/**
 * Puts a task back that left its line and was provably not sent, as often as it takes: while the
 * database is away nobody else can look at it either, and this node keeps its lease. Does nothing
 * if it has not left its line. Never rejects.
 */
export async function putBackUnsent(
  deps: TaskDeps,
  { task, place }: TakenWaiting,
  { waitMs, stopping }: { waitMs: number; stopping: AbortSignal },
): Promise<void> {
  const { store, clock, logger, node } = deps;
  const lease = node.leases.hold(task.taskId, (forMs) => store.tasks.renew(toLease(task), forMs));
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await putBackOnce();
      } catch (error) {
        if (!isStoreUnavailable(error) || stopping.aborted) throw error;
        await clock.sleep(pauseMs, stopping);
      }
    }
  } catch (error) {
    logger.error({ err: error, task_id: task.taskId }, 'a task that was not sent could not be put back');
  } finally {
    lease.stop();
  }

  async function putBackOnce(): Promise<void> {
    // A move to another channel may have been committed although its answer was lost.
    const stored = await store.tasks.byTaskId(task.taskId);
    if (stored?.leaseOwner !== task.leaseOwner || stored.leaseSeq !== task.leaseSeq) return;
    if (await putBack(deps, { task: stored, taken: { task, place }, waitMs, counts: false })) {
      node.line.entered(place.class);
    } else if (stored.cancelRequested) {
      const reason = sentence('tasks.cancelled');
      await failSubmission(deps, { task: stored, error: taskErrors.task_cancelled(), reason });
    }
  }
}
