import { type AppError, deadlineSignal, sentence } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { watchTask } from '../observation/watch-task.ts';
import { isWaiting } from '../state/describe-task.ts';
import { endWaiting } from '../state/finish-task.ts';
import { fromStoredFailure } from '../state/stored-failure.ts';
import type { Submission, TaskDeps } from '../types.ts';

/** How soon a task is looked at again whose request is over while it is being sent. */
const LOOK_AGAIN_MS = 500;

/**
 * Holds a request until its task is sent, as long as its surface waits at most. When the client
 * leaves or the time is over, a task that still waits ends and is refunded; one with an
 * Idempotency-Key goes on. One that is being sent when the time is over is returned as it is,
 * unless a plugin's own route must answer with what its vendor said.
 * @throws what ended the task, tasks.wait_over, tasks.concurrency_limit, tasks.client_left
 */
export async function awaitDispatch(deps: TaskDeps, submission: Submission, task: TaskRecord): Promise<TaskRecord> {
  const { request, attachedUntilMs = 0, idempotency, surface } = submission;
  const { clock, limits, store } = deps;
  const ms = Math.max(0, attachedUntilMs - clock.monotonicMs());
  const sent = await watchUntilSent(deps, task, { ms, left: request.signal });
  if (sent) return sent;
  if (idempotency) throw stillWaitsError();
  const current = (await store.tasks.byTaskId(task.taskId)) ?? task;
  const error = request.signal?.aborted ? taskErrors.client_left() : await describeWait(deps, task);
  if (isWaiting(current) && (await endWaiting(deps, current, { error }))) throw error;
  // The task is being sent just now. If it comes back, it ends with its time in the queue.
  if (surface !== 'native' && !request.signal?.aborted) return current;
  const untilMs = clock.monotonicMs() + limits.submitTimeoutMs;
  for (let lookMs = clock.monotonicMs(); lookMs < untilMs; lookMs = clock.monotonicMs()) {
    const late = await watchUntilSent(deps, task, { ms: LOOK_AGAIN_MS, left: undefined });
    if (late) return late;
    const now = await store.tasks.byTaskId(task.taskId);
    if (now && isWaiting(now) && (await endWaiting(deps, now, { error }))) throw error;
    // The watch ended early: the gateway is stopping.
    if (clock.monotonicMs() < lookMs + LOOK_AGAIN_MS / 2) break;
  }
  throw taskErrors.submission_interrupted({ shouldRetry: false });
}

async function describeWait({ store }: TaskDeps, { taskId }: TaskRecord): Promise<AppError> {
  const [entry] = await store.queueView.find([taskId]);
  const end = { retryAfterSeconds: 5 };
  return entry?.parked ? taskErrors.concurrency_limit(end) : taskErrors.wait_over(end);
}

/** Tells a client that its Idempotency-Key finds the task again. */
export const stillWaitsError = () =>
  taskErrors.wait_over({ message: sentence('tasks.waits_on'), retryAfterSeconds: 5 });

async function watchUntilSent(
  deps: TaskDeps,
  { taskId }: TaskRecord,
  { ms, left }: { ms: number; left: AbortSignal | undefined },
): Promise<TaskRecord | undefined> {
  const deadline = deadlineSignal(deps.clock, ms, left);
  try {
    for await (const task of watchTask(deps.node, taskId, deadline)) {
      if (task.status === 'NOT_START') continue;
      if (task.execution.failure) throw fromStoredFailure(task.execution.failure, task, { replayed: false });
      return task;
    }
    return undefined;
  } finally {
    deadline.end();
  }
}
