import { sentence } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { finishTask } from './finish-task.ts';
import { toStoredFailure } from './stored-failure.ts';

const BATCH = 100;

/**
 * Ends and refunds submissions whose process died or lost its lease: nobody knows whether a vendor
 * has the job, so they are never sent again. `submission/fail-submission.ts` ends those whose
 * process lives and does not know it either. A task that the store fails to end is logged and tried
 * again later; it does not stop others from ending.
 */
export async function endInterrupted(deps: TaskDeps, leaseForMs: number): Promise<void> {
  const { store, node, logger } = deps;
  const tasks = await store.tasks.claimInterrupted({
    owner: node.id,
    limit: BATCH,
    leaseForMs,
    held: node.leases.held(),
  });
  for (const task of tasks) {
    const failure = toStoredFailure(taskErrors.submission_interrupted());
    const reason = sentence('tasks.interrupted');
    try {
      const ending = { status: 'FAILURE' as const, reason, mayStillRun: true };
      const isEnded = await finishTask(deps, { task, ending, change: { execution: { ...task.execution, failure } } });
      if (!isEnded) continue;
      logger.warn(
        { task_id: task.taskId, channel_id: task.channelId, request_id: task.execution.requestId },
        'interrupted submission refunded; the vendor may still have a job, which is not polled',
      );
    } catch (error) {
      logger.error({ err: error, task_id: task.taskId }, 'task could not be ended; retrying later');
    }
  }
}
