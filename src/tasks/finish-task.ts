import type { JsonObject } from '../kernel/index.ts';
import type { Lease, TaskChange, TaskRecord } from '../store/ports/index.ts';
import type { TaskDeps } from './types.ts';

export type Ending =
  | { status: 'SUCCESS'; facts: JsonObject }
  | { status: 'FAILURE'; reason: string; class?: string; httpStatus?: number };

export const leaseOf = (task: TaskRecord): Lease => ({
  taskId: task.taskId,
  leaseOwner: task.leaseOwner ?? '',
  leaseSeq: task.leaseSeq,
});

/**
 * The one way in which a task ends: the terminal transition, its settle or refund line, the counters and the timeline are one
 * transaction, and the transition's row count decides whether any of it happens. False: somebody else ended the task, or the lease
 * was lost; then nothing has been written.
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
  const bill = succeeded ? billing.finalBill(task, ending.facts) : undefined;
  const reason = succeeded ? '' : ending.reason;
  const ended = await store.transaction(async (tx) => {
    const won = await tx.tasks.advance(
      lease,
      {
        ...change,
        status: ending.status,
        progress: '100%',
        failReason: reason,
        finishTime: now,
        startTime: task.startTime || now,
        quota: bill ? bill.quota : 0,
      },
      null,
    );
    if (!won) return false;
    const event = { taskId: task.taskId, at: now, status: ending.status };
    const cause = succeeded ? {} : { class: ending.class ?? '', httpStatus: ending.httpStatus ?? 0 };
    await tx.tasks.addEvent({ ...event, kind: 'transition', detail: reason, ...cause });
    const money = bill
      ? { kind: 'settled' as const, detail: `${bill.quota}` }
      : { kind: 'refunded' as const, detail: `${task.quota}` };
    await tx.tasks.addEvent({ ...event, ...money });
    // Last: it locks the rows of user, key and channel, which all their other tasks wait for.
    if (bill) await billing.settle(tx, task, bill);
    else await billing.refund(tx, task, reason);
    return true;
  });
  if (ended) deps.watchers.changed(task.taskId);
  return ended;
}
