import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { hasEnded } from './describe-task.ts';
import { finishTask, leaseOf } from './finish-task.ts';
import { toStoredFailure } from './stored-failure.ts';

const REASON = 'cancelled by user';

/**
 * Ends a task that no vendor has and nobody is submitting any more, with its refund: plugins have
 * no hook to call a job off. The statement that ends it says itself that the submission's claim
 * must have run out, so of a cancellation, the recovery of interrupted submissions and a process
 * that was merely slow, one wins.
 * @throws tasks.task_finished, tasks.cancel_unsupported saying why
 */
export async function cancelTask(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  let now = task;
  if (task.status === 'NOT_START') {
    const execution = { ...task.execution, failure: toStoredFailure(taskErrors.task_cancelled()) };
    const lease = { ...leaseOf(task), runOut: true };
    const won = await finishTask(deps, task, { status: 'FAILURE', reason: REASON }, { execution }, lease);
    now = (await deps.store.tasks.byTaskId(task.taskId)) ?? task;
    if (won) {
      deps.logger.warn(
        { task_id: task.taskId, channel_id: task.channelId, request_id: task.execution.requestId },
        'an interrupted submission was cancelled: it is refunded, but an upstream job may exist that nobody follows',
      );
      return now;
    }
  }
  if (hasEnded(now)) throw taskErrors.task_finished();
  throw taskErrors.cancel_unsupported({
    message:
      now.status === 'NOT_START'
        ? 'The task is being handed to the vendor at this moment, so it cannot be cancelled.'
        : 'The vendor has the task, and plugins have no way to call it off. It will be billed if it succeeds.',
  });
}
