import type { Lease, TaskChange, TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { recordTransition } from './record-transition.ts';
import { traceEvent } from './trace-event.ts';

export type Ending =
  /**
   * `usageTrouble`: why the facts for the final price could not be had; the reservation then
   * stands.
   */
  | { status: 'SUCCESS'; usageTrouble?: string | undefined }
  /**
   * `releasesIdempotencyKey`: no vendor has or will have the task, and its Idempotency-Key stands
   * for nothing any more.
   */
  | { status: 'FAILURE'; reason: string; class?: string; httpStatus?: number; releasesIdempotencyKey?: boolean };

export const leaseOf = (task: TaskRecord): Lease => ({
  taskId: task.taskId,
  leaseOwner: task.leaseOwner ?? '',
  leaseSeq: task.leaseSeq,
});

/**
 * The one way in which a task ends: the terminal transition, its settle or refund line, the
 * counters and the timeline are one transaction, and the transition's row count decides whether any
 * of it happens. False: somebody else ended the task, or the lease was lost; then nothing has been
 * written.
 */
export async function finishTask(
  deps: TaskDeps,
  task: TaskRecord,
  ending: Ending,
  change: TaskChange = {},
  lease: Lease = leaseOf(task),
): Promise<boolean> {
  const { store, clock, billing } = deps;
  const now = clock.unix();
  const succeeded = ending.status === 'SUCCESS';
  const billed = { ...task, billing: change.billing ?? task.billing };
  const bill = succeeded ? billing.finalBill(billed, ending.usageTrouble) : billing.noBill(billed);
  const reason = succeeded ? '' : ending.reason;
  const final: TaskChange = {
    ...change,
    status: ending.status,
    progress: '100%',
    failReason: reason,
    finishTime: change.finishTime ?? now,
    startTime: (change.startTime ?? task.startTime) || (change.finishTime ?? now),
    ...bill,
  };
  const ended = await store.transaction(async (tx) => {
    // The amount that is given back or settled was read before: a move to another price whose
    // commit comes late has changed it.
    if (!(await tx.tasks.advance({ ...lease, reserved: task.quota }, final, null))) return false;
    const event = { taskId: task.taskId, at: now, status: ending.status };
    const cause = succeeded ? {} : { class: ending.class ?? '', httpStatus: ending.httpStatus ?? 0 };
    await tx.tasks.addEvent({ ...event, kind: 'transition', detail: reason, ...cause });
    const money = succeeded
      ? { kind: 'settled' as const, detail: `${bill.quota}` }
      : { kind: 'refunded' as const, detail: `${task.quota}` };
    await tx.tasks.addEvent({ ...event, ...money });
    await recordTransition(deps, tx, task, final);
    if (!succeeded && ending.releasesIdempotencyKey) await tx.idempotency.free(task.userId, task.taskId);
    // Last: it locks the rows of user, key and channel, which all their other tasks wait for.
    if (succeeded) await billing.settle(tx, task, bill);
    else await billing.refund(tx, task, { bill, reason });
    return true;
  });
  if (ended) {
    // A task without the vendor's id was still being submitted.
    const requestId = task.upstreamTaskId === '' ? task.execution.requestId : undefined;
    const told = { task_id: task.taskId, status: ending.status, reserved: task.quota, billed: bill.quota };
    traceEvent(deps.logger, 'settlement', requestId, told);
    deps.watchers.changed(task.taskId);
  } else if (succeeded) await recordLateSuccess(deps, task.taskId, 'the vendor reported success');
  return ended;
}

/**
 * What the vendor did for a task that had been given up and refunded in the meantime is told on its
 * timeline, and never billed. A task that lives on under somebody else's claim is left to him.
 */
export async function recordLateSuccess(deps: TaskDeps, taskId: string, what: string): Promise<void> {
  try {
    const task = await deps.store.tasks.byTaskId(taskId);
    if (task?.status !== 'FAILURE') return;
    const detail = `${what} after the task had ended and been refunded; it is not billed`;
    const at = deps.clock.unix();
    await deps.store.tasks.addEvent({ taskId, at, kind: 'late_success', status: task.status, detail });
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'a late success could not be noted on the timeline');
  }
}
