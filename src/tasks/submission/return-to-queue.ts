import type { Refusal, RefusalKind } from '../../channels/index.ts';
import { AppError } from '../../kernel/index.ts';
import { type NewWaiting, type TaskRecord, TURN_COST, type WaitingRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { recordQueued } from '../state/record-transition.ts';
import type { Submission, TaskDeps } from '../types.ts';
import { storeRequest } from '../waiting/stored-request.ts';
import { allowsFallback } from './request-options.ts';
import { mayWait, toWaitingClass } from './take-account.ts';

/** How often a task comes back before it ends with the vendor's last words. */
const MAX_RETURNS = 10;
const LONGEST_PAUSE_SECONDS = 60;

/** Refusals that concern the account and not the request. */
const OF_THE_ACCOUNT: ReadonlySet<RefusalKind | undefined> = new Set([
  'capacity',
  'rate',
  'balance',
  'credential',
  'vendor_busy',
]);

type Returned = { kind: 'waits'; task: TaskRecord } | { kind: 'ends' } | { kind: 'cancelled' };
/**
 * An entry that a dispatch took out of the queue. `task`: as it was then, with the price that was
 * accepted. `isTrial`: the task tries whether a rest is over.
 */
export type TakenEntry = { task: TaskRecord; entry: WaitingRecord; isTrial: boolean };
type Return = { task: TaskRecord; taken: TakenEntry | undefined; refusal: Refusal | undefined };

/**
 * Lets a task wait again, or for the first time, that no vendor had a slot for. It keeps its turn,
 * and is not sent before a pause. Without a refusal no channel could take it just now.
 */
export async function returnToQueue(
  deps: TaskDeps,
  submission: Submission,
  { task, taken, refusal }: Return,
): Promise<Returned> {
  const { store, node } = deps;
  if (!mayWait(deps, submission.caller.group) || (refusal ? !OF_THE_ACCOUNT.has(refusal.kind) : !taken))
    return { kind: 'ends' };
  const entry = taken?.entry;
  if ((entry?.returns ?? 0) >= MAX_RETURNS) return { kind: 'ends' };
  const waitMs = Math.min(2 ** (entry?.returns ?? 0), LONGEST_PAUSE_SECONDS) * 1000;
  const isBack = taken
    ? await putBack(deps, { task, taken, waitMs, counts: !taken.isTrial })
    : await putInQueue(deps, submission, { task, waitMs });
  const stored = await store.tasks.byTaskId(task.taskId);
  if (isBack && stored) {
    node.waiting.counts.entered(toWaitingClass(submission).class);
    if (!entry) node.watchers.changed(stored);
    return { kind: 'waits', task: stored };
  }
  return stored?.cancelRequested ? { kind: 'cancelled' } : { kind: 'ends' };
}

type PutBack = { task: TaskRecord; taken: Pick<TakenEntry, 'task' | 'entry'>; waitMs: number; counts: boolean };

/**
 * Puts a task back with the model and price that were accepted, if its wallet still has that.
 * False: it is not being sent any more, or was cancelled.
 */
export async function putBack({ store, node }: TaskDeps, { task, taken, waitMs, counts }: PutBack): Promise<boolean> {
  const { task: accepted, entry } = taken;
  const options = { waitMs, counts };
  const { quota, billing: snapshot, properties, action, slots } = accepted;
  const restored = { ...task, quota, billing: snapshot, properties, action, slots };
  try {
    return await node.writes.money.replacing(async (tx, replace) => {
      const attempt = reservationNumber(task, RETURNED);
      await replace(tx, restored, { reserved: task.quota, attempt });
      if (!(await tx.waiting.putBack({ task: restored, entry }, options))) throw NOT_RETURNED;
      return true;
    });
  } catch (error) {
    if (error === NOT_RETURNED) return false;
    if (!(error instanceof AppError)) throw error;
    return store.waiting.putBack({ task, entry }, options);
  }
}

/** Undoes what its transaction moved. */
const NOT_RETURNED = new Error('the task was cancelled, or its lease was lost');

/** The return after the channels that a dispatch tried, of which there are fewer. */
const RETURNED = 9;

/** Each number of a task once: what came back has a later lease. */
export const reservationNumber = ({ leaseSeq }: TaskRecord, attempt: number): number => attempt + (leaseSeq - 1) * 10;

/** False: it is not being sent any more, was cancelled, or its files cannot be stored. */
async function putInQueue(
  deps: TaskDeps,
  submission: Submission,
  { task, waitMs }: { task: TaskRecord; waitMs: number },
): Promise<boolean> {
  try {
    const { hold, ...stored } = await storeRequest(deps, submission);
    const entry = describeEntry(deps, submission, { taskId: task.taskId, slots: task.slots, stored });
    return await deps.store.transaction(async (tx) => {
      if (!(await hold(tx, task))) return false;
      await recordQueued(deps, tx, task);
      if (!(await tx.waiting.putSent(task, entry, waitMs))) throw NOT_RETURNED;
      return true;
    });
  } catch (error) {
    if (error === NOT_RETURNED || (error instanceof AppError && error.code === NOT_STORED)) return false;
    throw error;
  }
}

const NOT_STORED = taskErrors.queue_full().code;

const leftMs = ({ clock }: TaskDeps, untilMs: number): number => Math.max(0, Math.round(untilMs - clock.monotonicMs()));

/** Describes the queue's entry of a submission that waits. */
export function describeEntry(
  deps: TaskDeps,
  submission: Submission,
  { taskId, slots, stored }: { taskId: string; slots: number; stored: Pick<NewWaiting, 'request' | 'bytes' | 'node'> },
): NewWaiting {
  const { caller, attachedUntilMs, idempotency } = submission;
  const rules = deps.limits.waiting(caller.group);
  // With an Idempotency-Key it goes on without its client, who finds it again by the key.
  const isAttached = attachedUntilMs !== undefined && idempotency === undefined;
  return {
    ...{ taskId, ...stored, userId: caller.user.id, apiKeyId: caller.key?.id ?? null },
    ...{ class: toWaitingClass(submission), priority: rules.priority, cost: TURN_COST * slots, parked: '' },
    fallsBack: submission.surface !== 'native' && !submission.originTasks && allowsFallback(submission),
    attached: isAttached ? deps.node.id : '',
    forMs: isAttached ? Math.min(leftMs(deps, attachedUntilMs), rules.maxWaitMs) : rules.maxWaitMs,
  };
}
