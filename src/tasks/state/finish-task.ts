import { scheduleResultCopies } from '../../files/index.ts';
import { type AppError, type Sentence, sentence, toSentence, withoutMessage } from '../../kernel/index.ts';
import type {
  Lease,
  Repositories,
  StoredResult,
  TakenWaiting,
  TaskAdvance,
  TaskExecution,
  TaskRecord,
} from '../../store/ports/index.ts';
import type { Ending, TaskDeps } from '../types.ts';
import { recordTransition } from './record-transition.ts';
import { toStoredFailure } from './stored-failure.ts';
import { traceEvent } from './trace-event.ts';

export const toLease = (task: TaskRecord): Lease => ({
  taskId: task.taskId,
  leaseOwner: task.leaseOwner ?? '',
  leaseSeq: task.leaseSeq,
});

/**
 * `change`: further columns to write with the ending. `lease`: the task's own unless given.
 * `waits`: it waits, and is taken out of its queue. `isRetained`: false for a result that a client
 * gets in the answer alone: where nobody takes it, it is erased an hour after the end.
 */
type Finish = {
  task: TaskRecord;
  ending: Ending;
  change?: TaskAdvance['change'];
  lease?: Lease;
  waits?: boolean;
  isRetained?: boolean;
};

/** The lease under which a task is taken out of its queue and ended in the same transaction. */
const TAKEN_FOR_MS = 30_000;
/** An abandoned slot stays taken at least this long, unless tasks end sooner by their age. */
const ABANDONED_SECONDS = 600;

/**
 * Every task ends here. The terminal transition, its settle or refund line, the counters and the
 * timeline are one transaction, shared with others of the same moment; the transition's row count
 * decides whether any of it happens. False: the task had already ended or the lease was lost, and
 * nothing was written.
 */
export async function finishTask(
  deps: TaskDeps,
  { task, ending, change = {}, lease = toLease(task), waits = false, isRetained = true }: Finish,
): Promise<boolean> {
  const { clock, billing } = deps;
  const now = clock.unix();
  const succeeded = ending.status === 'SUCCESS';
  const billed = { ...task, billing: change.billing ?? task.billing };
  const bill = succeeded ? billing.finalBill(billed, ending.usageTrouble) : billing.noBill(billed);
  const result = succeeded && ending.result;
  const mayStillRun = !succeeded && ending.mayStillRun === true;
  const final: TaskAdvance['change'] = {
    ...change,
    ...endExecution(change.execution ?? task.execution, {
      result: result || undefined,
      isChanged: change.execution !== undefined,
    }),
    status: ending.status,
    progress: '100%',
    ...(succeeded
      ? { failReason: '' }
      : { failReason: ending.reason.message, failReasonSentence: withoutMessage(ending.reason) }),
    finishTime: change.finishTime ?? now,
    startTime: (change.startTime ?? task.startTime) || (change.finishTime ?? now),
    ...bill,
    ...(mayStillRun ? { slotUntil: await findSlotEnd(deps, task) } : {}),
  };
  let wantsResults = false;
  let taken: TakenWaiting[] = [];
  const advance = async (tx: Repositories): Promise<TaskAdvance | undefined> => {
    let holder = lease;
    if (waits) {
      taken = await tx.waiting.take([{ taskId: task.taskId }], { owner: deps.node.id, leaseForMs: TAKEN_FOR_MS });
      const [first] = taken;
      if (!first) return undefined;
      holder = toLease(first.task);
    }
    const cause = succeeded
      ? {}
      : { detail: ending.reason, class: ending.class ?? '', httpStatus: ending.httpStatus ?? 0 };
    const event = { at: now, status: ending.status };
    const money = succeeded
      ? { kind: 'settled' as const, detail: `${bill.quota}` }
      : { kind: 'refunded' as const, detail: `${task.quota}` };
    return {
      // `reserved` guards the amount: it was read earlier, and a move to another price that was
      // committed late may have changed it.
      lease: { ...holder, reserved: task.quota },
      change: final,
      nextPollInMs: null,
      events: [
        { ...event, kind: 'transition' as const, ...cause },
        { ...event, ...money },
      ],
    };
  };
  const move = async (tx: Repositories, isAdvanced: boolean): Promise<boolean> => {
    // Only its price can have changed since it was read: it keeps its turn.
    if (!isAdvanced && taken.length > 0) throw new Error('the price of a task changed while its wait was ended');
    if (!isAdvanced) return false;
    await recordTransition(deps, tx, { task, change: final });
    if (task.status === 'NOT_START' && task.waitingSince > 0) await tx.results.releaseHeld(task.taskId);
    wantsResults = succeeded && isRetained && (await scheduleResultCopies(deps, tx, task));
    if (!isRetained && task.execution.stored !== false) await tx.retention.addUnstored(task.taskId);
    if (!succeeded && ending.releasesIdempotencyKey) await tx.idempotency.free(task.userId, task.taskId);
    return true;
  };
  const ended = await deps.node.writes.money.close({
    advance,
    move,
    ended: { task, bill, refund: succeeded ? undefined : { reason: ending.reason } },
    taken: () => taken,
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
    if (!mayStillRun) deps.node.capacity.end(task);
    deps.telemetry.meter?.ended({ plugin, channelId, succeeded });
    if (succeeded) deps.telemetry.meter?.spent(channelId, bill.quota);
    deps.node.watchers.changed(task);
    if (wantsResults) deps.node.wakeResults();
  } else if (succeeded) await recordLateSuccess(deps, task.taskId, sentence('tasks.late_success'));
  return ended;
}

/** The task's `execution` after its end, if it changes. */
function endExecution(
  execution: TaskExecution,
  { result, isChanged }: { result: StoredResult | undefined; isChanged: boolean },
): { execution?: TaskExecution } {
  const erases = execution.stored === false && execution.response?.instructions !== undefined;
  if (!result && !erases) return isChanged ? { execution } : {};
  const { instructions: _, ...response } = execution.response ?? {};
  return { execution: { ...execution, ...(result ? { result } : {}), ...(erases ? { response } : {}) } };
}

/**
 * Finds when nearly every task of its model would have ended: by then the vendor has no job any
 * more. The result is in Unix seconds by the store's clock, which all nodes share.
 */
async function findSlotEnd({ store, node, logger, limits }: TaskDeps, task: TaskRecord): Promise<number> {
  const durations = await node.waiting.durations.all().catch((error: unknown) => {
    logger.warn({ err: error, task_id: task.taskId }, 'durations of tasks could not be read');
    return [];
  });
  const { originModelName } = task.properties;
  const recent = durations.find(({ plugin, model }) => plugin === task.platform && model === originModelName);
  const seconds = Math.max(ABANDONED_SECONDS, Math.ceil(recent?.p95Seconds ?? 0));
  const { taskTimeoutMinutes } = limits;
  const heldSeconds = taskTimeoutMinutes > 0 ? Math.min(seconds, taskTimeoutMinutes * 60) : seconds;
  return Math.floor((await store.clock.nowMs()) / 1000) + heldSeconds;
}

/**
 * Notes on the timeline that the vendor succeeded after the task had failed and been refunded; it
 * is never billed. A task that is still open belongs to the current lease holder and is left alone.
 */
async function recordLateSuccess(deps: TaskDeps, taskId: string, event: Sentence): Promise<void> {
  try {
    const task = await deps.store.tasks.byTaskId(taskId);
    if (task?.status !== 'FAILURE') return;
    const detail = sentence('tasks.late', { event });
    const at = deps.clock.unix();
    await deps.store.tasks.addEvent({ taskId, at, kind: 'late_success', status: task.status, detail });
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'late success could not be added to the timeline');
  }
}

/**
 * Ends a task that waits, with a refund. What takes it out of its queue wins: this, a dispatch, or
 * another end. It keeps its Idempotency-Key. False: it does not wait any more.
 */
export const endWaiting = (
  deps: TaskDeps,
  task: TaskRecord,
  { error, reason = toSentence(error) }: { error: AppError; reason?: Sentence },
): Promise<boolean> =>
  finishTask(deps, {
    task,
    ending: { status: 'FAILURE', reason },
    change: { execution: { ...task.execution, failure: toStoredFailure(error) } },
    waits: true,
  });
