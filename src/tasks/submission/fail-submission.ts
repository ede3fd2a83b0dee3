import { AppError, quoted, type Sentence, toSentence } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { finishTask } from '../state/finish-task.ts';
import { toStoredFailure } from '../state/stored-failure.ts';
import type { TaskDeps } from '../types.ts';

/** `mayStillRun`: the outcome is unknown, so the vendor may have the job that is refunded. */
type FailedSubmission = {
  task: TaskRecord;
  error: unknown;
  reason?: Sentence;
  releasesIdempotencyKey?: boolean;
  mayStillRun?: boolean;
};

/**
 * Ends the task of a refused or failed submission with a refund, also where its outcome is unknown.
 * If the store fails too, the lease expires and `state/end-interrupted.ts` ends the task.
 */
export async function failSubmission(
  deps: TaskDeps,
  { task, error, reason = describeError(error), ...ends }: FailedSubmission,
): Promise<void> {
  try {
    const execution = { ...task.execution, failure: toStoredFailure(error) };
    await finishTask(deps, { task, ending: { status: 'FAILURE', reason, ...ends }, change: { execution } });
  } catch (storeError) {
    deps.logger.error(
      { err: storeError, task_id: task.taskId },
      'failed submission could not be ended; recovery ends it when its lease expires',
    );
  }
}

const describeError = (error: unknown): Sentence =>
  error instanceof AppError ? toSentence(error) : quoted(error instanceof Error ? error.message : 'unknown');

/**
 * The task with the reservation that the store has: a move may have been committed although its
 * acknowledgement was lost.
 */
export async function readStoredReservation(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  const stored = await deps.store.tasks.byTaskId(task.taskId).catch(() => undefined);
  return stored ? { ...task, quota: stored.quota, billing: stored.billing } : task;
}
