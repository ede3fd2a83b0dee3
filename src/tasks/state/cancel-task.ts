import { sentence } from '../../kernel/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { isWaiting } from './describe-task.ts';
import { endWaiting, finishTask, toLease } from './finish-task.ts';
import { toStoredFailure } from './stored-failure.ts';

const CANCELLED = sentence('tasks.cancelled');

/** A task that failed before reasons were stored has the text alone. */
export const isCancelled = ({
  status,
  failReason,
  failReasonSentence: said,
}: Pick<TaskRecord, 'status' | 'failReason' | 'failReasonSentence'>): boolean =>
  status === 'FAILURE' && (said === null ? failReason === CANCELLED.message : said.reason === CANCELLED.reason);

/**
 * Ends and refunds a task that waits, or that no vendor has and no process is submitting any more;
 * plugins have no hook that cancels a job. The statement that ends it requires that it waits, or
 * that the submission's lease has expired. So only one of these wins: the cancellation, a dispatch,
 * the recovery of interrupted submissions, or a submission that was merely slow.
 * @throws tasks.task_finished, tasks.cancel_unsupported with the reason
 */
export async function cancelTask(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  let current = task;
  if (isWaiting(current)) {
    const won = await endWaiting(deps, current, { error: taskErrors.task_cancelled(), reason: CANCELLED });
    current = (await deps.store.tasks.byTaskId(task.taskId)) ?? current;
    if (won) return current;
  }
  // A lease of our own that looks expired, and was not ended, is that of a clock that jumped.
  const isOwn = current.leaseUntilMs > 0 && deps.node.leases.held().includes(task.taskId);
  if (current.status === 'NOT_START' && !isOwn) {
    const execution = { ...current.execution, failure: toStoredFailure(taskErrors.task_cancelled()) };
    const lease = { ...toLease(current), runOut: true };
    const ending = { status: 'FAILURE' as const, reason: CANCELLED, mayStillRun: true };
    const won = await finishTask(deps, { task: current, ending, change: { execution }, lease });
    current = (await deps.store.tasks.byTaskId(task.taskId)) ?? task;
    if (won) {
      deps.logger.warn(
        { task_id: task.taskId, channel_id: task.channelId, request_id: task.execution.requestId },
        'interrupted submission cancelled and refunded; the vendor may still have a job, which is not polled',
      );
      return current;
    }
  }
  if (hasEnded(current)) throw taskErrors.task_finished();
  // If no vendor takes it, it does not wait again, and nothing is billed.
  if (current.status === 'NOT_START') await deps.store.waiting.requestCancel(task.taskId);
  throw taskErrors.cancel_unsupported({
    message: current.status === 'NOT_START' ? sentence('tasks.submitting_now') : sentence('tasks.vendor_has_it'),
  });
}
