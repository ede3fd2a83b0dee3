import { deadlineSignal } from '../kernel/index.ts';
import { hasEnded, type TaskRecord } from '../store/ports/index.ts';
import { type ClientRequest, watchTask } from '../tasks/index.ts';
import type { surfaceErrors } from './errors.ts';
import type { SurfaceDeps } from './types.ts';

type Fault = (typeof surfaceErrors)['image_failed'];
type Wait = {
  created: TaskRecord;
  /** The monotonic time at which the wait is over. */
  untilMs: number;
  /** Aborted when the client has left. */
  left: AbortSignal;
  faults: { failed: Fault; notReady: Fault };
};

/**
 * The monotonic time at which a client has waited long enough: for the queue, the submission and
 * the result together. SDKs that give up before their answer comes order again.
 */
export const answerBy = ({ clock, limits }: SurfaceDeps, { answerByMs = Infinity }: ClientRequest): number =>
  Math.min(clock.monotonicMs() + limits.submitTimeoutMs, answerByMs);

/**
 * The task once it has succeeded, for a client that waits for its result.
 * @throws `failed` with the reason, `notReady` when the wait is over before
 */
export async function awaitEnd(deps: SurfaceDeps, { created, untilMs, left, faults }: Wait): Promise<TaskRecord> {
  const deadline = deadlineSignal(deps.clock, Math.max(0, untilMs - deps.clock.monotonicMs()), left);
  let task = created;
  try {
    if (!hasEnded(task)) {
      for await (const seen of watchTask(deps.node, task.taskId, deadline)) {
        task = seen;
        if (hasEnded(task)) break;
      }
    }
  } finally {
    deadline.end();
  }
  const details = { taskId: task.taskId };
  if (task.status === 'FAILURE') {
    throw faults.failed({ ...(task.failReason === '' ? {} : { message: task.failReason }), details });
  }
  if (task.status === 'SUCCESS') return task;
  throw faults.notReady({
    message: `It is taking longer. Get it later from /v1/tasks/${task.taskId}/artifacts, or send the request again with its Idempotency-Key.`,
    details,
  });
}
