import { deadlineSignal } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { watchTask } from '../observation/watch-task.ts';
import { isWaiting } from '../state/describe-task.ts';
import { fromStoredFailure } from '../state/stored-failure.ts';
import { stillWaitsError } from '../submission/await-dispatch.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';
import { runIdempotently, stillInProgress } from './run-idempotently.ts';

/** `replayed`: an earlier request with the same key submitted this task; this one did not. */
export type SubmittedTask = TaskRecord & { replayed: boolean };

/**
 * Every surface submits through this function; `submit` decodes the request and submits. A repeat
 * returns the task of the first request with its Idempotency-Key, or throws the failure that ended
 * that task before the vendor took it. A request refused before its task exists leaves the key
 * free.
 * @throws tasks.idempotency_not_replayable for a task that is gone, or whose answer a client waits
 *   for that is erased, the stored failure, what
 *   `submit` and `runIdempotently` throw
 */
export const submitOnce = (
  deps: TaskDeps,
  {
    caller,
    request,
    attachedUntilMs,
  }: { caller: Caller; request: ClientRequest; attachedUntilMs?: number | undefined },
  submit: (idempotency: Idempotency | undefined) => Promise<TaskRecord>,
): Promise<SubmittedTask> =>
  runIdempotently<SubmittedTask>(
    deps,
    { caller, request },
    {
      first: async (idempotency) => ({ ...(await submit(idempotency)), replayed: false }),
      repeat: async (taskId) => ({
        ...(await awaitOutcome(deps, { caller, request, taskId, attachedUntilMs })),
        replayed: true,
      }),
    },
  );

type Repeat = { caller: Caller; request: ClientRequest; taskId: string; attachedUntilMs: number | undefined };

/**
 * Waits until the first request is submitted, at most as long as a submission may take. A task that
 * waits is answered at once, unless the request waits for it.
 */
async function awaitOutcome(deps: TaskDeps, { caller, request, taskId, attachedUntilMs }: Repeat): Promise<TaskRecord> {
  const release = deps.node.limiters.repeats.acquire(caller.user.id);
  const { clock, limits } = deps;
  const longestMs = Math.min(limits.submitTimeoutMs, (attachedUntilMs ?? Infinity) - clock.monotonicMs());
  const deadline = deadlineSignal(clock, Math.max(0, longestMs), request.signal);
  let waits = false;
  try {
    for await (const task of watchTask(deps.node, taskId, deadline)) {
      // What its client has deleted, or got in an answer that is not retained, is gone.
      if (task.hiddenAt > 0) throw taskErrors.idempotency_not_replayable({ shouldRetry: false });
      if (isWaiting(task) && attachedUntilMs === undefined) return task;
      waits = isWaiting(task);
      if (task.status === 'NOT_START') continue;
      if (task.execution.failure) throw fromStoredFailure(task.execution.failure, task);
      // Its answer was erased since, so there is nothing to answer a waiting client with.
      const isErased = task.status === 'SUCCESS' && task.properties.expired;
      if (isErased && attachedUntilMs !== undefined)
        throw taskErrors.idempotency_not_replayable({ shouldRetry: false });
      return task;
    }
  } finally {
    deadline.end();
    release();
  }
  throw waits ? stillWaitsError() : stillInProgress();
}
