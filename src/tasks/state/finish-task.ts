import { scheduleResultCopies } from '../../files/index.ts';
import type { Lease, TaskChange, TaskRecord } from '../../store/ports/index.ts';
import type { Ending, TaskDeps } from '../types.ts';
import { recordTransition } from './record-transition.ts';
import { traceEvent } from './trace-event.ts';

export const toLease = (task: TaskRecord): Lease => ({
  taskId: task.taskId,
  leaseOwner: task.leaseOwner ?? '',
  leaseSeq: task.leaseSeq,
});

/** `change`: further columns to write with the ending. `lease`: the task's own unless given. */
type Finish = { task: TaskRecord; ending: Ending; change?: TaskChange; lease?: Lease };

/**
 * Every task ends here. The terminal transition, its settle or refund line, the counters and the
 * timeline are one transaction; the transition's row count decides whether any of it happens.
 * False: the task had already ended or the lease was lost, and nothing was written.
 */
export async function finishTask(
  deps: TaskDeps,
  { task, ending, change = {}, lease = toLease(task) }: Finish,
): Promise<boolean> {
  const { store, clock, billing } = deps;
  const now = clock.unix();
  const succeeded = ending.status === 'SUCCESS';
  const billed = { ...task, billing: change.billing ?? task.billing };
  const bill = succeeded ? billing.finalBill(billed, ending.usageTrouble) : billing.noBill(billed);
  const reason = succeeded ? '' : ending.reason;
  const result = succeeded && ending.result;
  const final: TaskChange = {
    ...change,
    ...(result ? { execution: { ...(change.execution ?? task.execution), result } } : {}),
    status: ending.status,
    progress: '100%',
    failReason: reason,
    finishTime: change.finishTime ?? now,
    startTime: (change.startTime ?? task.startTime) || (change.finishTime ?? now),
    ...bill,
  };
  let wantsResults = false;
  const ended = await store.transaction(async (tx) => {
    // `reserved` guards the amount: it was read earlier, and a move to another price that was
    // committed late may have changed it.
    if (!(await tx.tasks.advance({ ...lease, reserved: task.quota }, final, null))) return false;
    const event = { taskId: task.taskId, at: now, status: ending.status };
    const cause = succeeded ? {} : { class: ending.class ?? '', httpStatus: ending.httpStatus ?? 0 };
    await tx.tasks.addEvent({ ...event, kind: 'transition', detail: reason, ...cause });
    const money = succeeded
      ? { kind: 'settled' as const, detail: `${bill.quota}` }
      : { kind: 'refunded' as const, detail: `${task.quota}` };
    await tx.tasks.addEvent({ ...event, ...money });
    await recordTransition(deps, tx, { task, change: final });
    if (succeeded) wantsResults = await scheduleResultCopies(deps, tx, task);
    if (!succeeded && ending.releasesIdempotencyKey) await tx.idempotency.free(task.userId, task.taskId);
    // Last: it locks the rows of user, key and channel, and all their other tasks wait for these.
    if (succeeded) await billing.settle(tx, task, bill);
    else await billing.refund(tx, task, { bill, reason });
    return true;
  });
  if (ended) {
    traceEvent(deps.logger, 'settlement', {
      // Without the vendor's id the task was still being submitted, so its request ended it.
      request_id: task.upstreamTaskId === '' ? task.execution.requestId : undefined,
      task_id: task.taskId,
      status: ending.status,
      reserved: task.quota,
      billed: bill.quota,
    });
    const { platform: plugin, channelId } = task;
    deps.telemetry.meter?.ended({ plugin, channelId, succeeded });
    if (succeeded) deps.telemetry.meter?.spent(channelId, bill.quota);
    deps.node.watchers.changed(task);
    if (wantsResults) deps.node.wakeResults();
  } else if (succeeded) await recordLateSuccess(deps, task.taskId, 'the vendor reported success');
  return ended;
}

/**
 * Notes on the timeline that the vendor succeeded after the task had failed and been refunded; it
 * is never billed. A task that is still open belongs to the current lease holder and is left alone.
 */
export async function recordLateSuccess(deps: TaskDeps, taskId: string, what: string): Promise<void> {
  try {
    const task = await deps.store.tasks.byTaskId(taskId);
    if (task?.status !== 'FAILURE') return;
    const detail = `${what} after the task had ended and been refunded; it is not billed`;
    const at = deps.clock.unix();
    await deps.store.tasks.addEvent({ taskId, at, kind: 'late_success', status: task.status, detail });
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'late success could not be added to the timeline');
  }
}
