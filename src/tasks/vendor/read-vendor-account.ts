import type { ParsedBatchItem, ParsedTask } from '../../plugins/index.ts';
import type { TaskChange, TaskRecord } from '../../store/ports/index.ts';

/** Columns that a vendor's own account of a task may set. */
export type VendorAccount = Pick<TaskChange, 'action' | 'submitTime' | 'startTime' | 'finishTime'>;

/**
 * Clocks of vendors go wrong by minutes; what is further off is no time of this task, or not in
 * seconds.
 */
const SKEW_SECONDS = 300;
const MAX_ACTION = 40;

/**
 * What a batch item says of its task, in unix seconds. A time lies between the step before and now,
 * is moved there within five minutes and left out beyond. The submission is never later than
 * recorded here: the task's deadline counts from it.
 */
export function readVendorAccount(task: TaskRecord, item: ParsedTask | ParsedBatchItem, now: number): VendorAccount {
  if (!('raw' in item)) return {};
  const account: VendorAccount = {};
  const ended = item.status === 'SUCCESS' || item.status === 'FAILURE';
  const action = item.action?.trim() ?? '';
  if (action !== '' && action.length <= MAX_ACTION && !/\p{Cc}/u.test(action) && action !== task.action) {
    account.action = action;
  }
  const submitted = within(item.submitTime, task.createdAt, task.submitTime || now);
  if (submitted !== undefined && submitted !== task.submitTime) account.submitTime = submitted;
  const begin = account.submitTime ?? task.submitTime;
  const started = ended || item.status === 'IN_PROGRESS' ? within(item.startTime, begin, now) : undefined;
  if (started !== undefined && started !== task.startTime) account.startTime = started;
  const finished = ended ? within(item.finishTime, (started ?? task.startTime) || begin, now) : undefined;
  if (finished !== undefined) account.finishTime = finished;
  return account;
}

function within(time: number | undefined, from: number, to: number): number | undefined {
  if (time === undefined || time < from - SKEW_SECONDS || time > to + SKEW_SECONDS) return undefined;
  return Math.max(from, Math.min(time, to));
}
