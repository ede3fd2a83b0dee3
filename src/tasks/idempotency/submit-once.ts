import { AppError, sha256Hex } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { restoreFailure } from '../keep-failure.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';
import { waitAtMost } from '../wait-at-most.ts';
import { watchTask } from '../watch-task.ts';

/** `replayed`: the task of an earlier request with the same key; nothing was submitted now. */
export type SubmittedTask = TaskRecord & { replayed: boolean };

/** Keys are meant to be random; 1 to 255 printable ASCII characters are more than any client needs. */
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * The one way into every submit surface. Without an Idempotency-Key it is `submit` alone. With one, the first request of a user with this
 * key submits, and its repeats within 24 hours get what it came to: its task, or the failure that ended the task before the vendor took
 * it. What is refused before a task exists leaves the key free.
 *
 * `submit` decodes and submits; it hands the key on to the transaction that opens the task, where of many at once one takes it.
 * @throws tasks.invalid_idempotency_key, tasks.idempotency_key_reused, tasks.idempotency_in_progress, the stored failure, what `submit` throws
 */
export async function submitOnce(
  deps: TaskDeps,
  caller: Caller,
  request: ClientRequest,
  submit: (idempotency: Idempotency | undefined) => Promise<TaskRecord>,
): Promise<SubmittedTask> {
  const idempotency = readIdempotency(request);
  if (!idempotency) return { ...(await submit(undefined)), replayed: false };
  const { key, requestHash } = idempotency;
  const find = () => deps.store.idempotency.find(caller.user.id, key, deps.clock.unix());
  let earlier = await find();
  if (!earlier) {
    try {
      return { ...(await submit(idempotency)), replayed: false };
    } catch (error) {
      earlier = isTaken(error) ? await find() : undefined;
      if (!earlier) throw error;
    }
  }
  if (earlier.requestHash !== requestHash) throw taskErrors.idempotency_key_reused();
  return { ...(await outcomeOf(deps, earlier.taskId, request.signal)), replayed: true };
}

/** The key of a request, where it has one. @throws tasks.invalid_idempotency_key */
export function readIdempotency(request: ClientRequest): Idempotency | undefined {
  const key = request.idempotencyKey ?? undefined;
  if (key === undefined) return undefined;
  if (!KEY.test(key)) throw taskErrors.invalid_idempotency_key();
  return { key, requestHash: hashOf(request) };
}

/** Over the method, the address and the body's own bytes: what makes two requests the same. */
const hashOf = ({ method, path, query, bodySha256 }: ClientRequest): string =>
  sha256Hex(JSON.stringify([method, path, query, bodySha256]));

const isTaken = (error: unknown): boolean => error instanceof AppError && error.code === TAKEN;
const TAKEN = taskErrors.idempotency_in_progress().code;

/** Waits until the first request's submission is through, at most as long as one may take. */
async function outcomeOf(deps: TaskDeps, taskId: string, left: AbortSignal | undefined): Promise<TaskRecord> {
  const patience = waitAtMost(deps.clock, deps.limits.submitTimeoutMs, left);
  try {
    for await (const task of watchTask(deps, taskId, patience)) {
      if (task.status === 'NOT_START') continue;
      if (task.execution.failure) throw restoreFailure(task.execution.failure);
      return task;
    }
  } finally {
    patience.end();
  }
  throw taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 });
}
