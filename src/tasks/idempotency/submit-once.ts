import type { TaskRecord } from '../../store/ports/index.ts';
import { deadlineSignal } from '../observation/deadline-signal.ts';
import { watchTask } from '../observation/watch-task.ts';
import { fromStoredFailure } from '../state/stored-failure.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';
import { stillInProgress } from './limit-repeats.ts';
import { runIdempotently } from './run-idempotently.ts';

/** `replayed`: the task of an earlier request with the same key; nothing was submitted now. */
export type SubmittedTask = TaskRecord & { replayed: boolean };

/**
 * The one way into every submit surface. A repeat gets the task of the first request with its
 * Idempotency-Key, or the failure that ended that task before the vendor took it. What is refused
 * before a task exists leaves the key free. `submit` decodes and submits.
 * @throws the stored failure, what `submit` and `runIdempotently` throw
 */
export const submitOnce = (
  deps: TaskDeps,
  caller: Caller,
  request: ClientRequest,
  submit: (idempotency: Idempotency | undefined) => Promise<TaskRecord>,
): Promise<SubmittedTask> =>
  runIdempotently<SubmittedTask>(deps, caller, request, {
    first: async (idempotency) => ({ ...(await submit(idempotency)), replayed: false }),
    repeat: async (taskId) => ({ ...(await outcomeOf(deps, caller, taskId, request.signal)), replayed: true }),
  });

/** Waits until the first request's submission is through, at most as long as one may take. */
async function outcomeOf(
  deps: TaskDeps,
  { user }: Caller,
  taskId: string,
  left: AbortSignal | undefined,
): Promise<TaskRecord> {
  const leave = deps.repeats.enter(user.id);
  const patience = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, left);
  try {
    for await (const task of watchTask(deps, taskId, patience)) {
      if (task.status === 'NOT_START') continue;
      if (task.execution.failure) throw fromStoredFailure(task.execution.failure);
      return task;
    }
  } finally {
    patience.end();
    leave();
  }
  throw stillInProgress();
}
