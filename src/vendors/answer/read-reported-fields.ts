import type { ParsedBatchItem, ParsedTask } from '../../plugins/index.ts';
import { hasEnded, type TaskChange, type TaskRecord } from '../../store/ports/index.ts';

/** Columns that a vendor's batch item may set. */
export type ReportedFields = Pick<TaskChange, 'action' | 'submitTime' | 'startTime' | 'finishTime'>;

/**
 * Allowed clock skew of vendors, which is minutes at most. A time further off is not this task's,
 * or not in seconds.
 */
const SKEW_SECONDS = 300;
const MAX_ACTION = 40;

/**
 * Reads a batch item's action and times, in Unix seconds. Each time must lie between the previous
 * step and now: up to five minutes off it is moved there, beyond that it is left out. The
 * submission never becomes later than recorded here, since the task's age limit counts from it.
 */
export function readReportedFields(task: TaskRecord, item: ParsedTask | ParsedBatchItem, now: number): ReportedFields {
  if (!('raw' in item)) return {};
  const fields: ReportedFields = {};
  const ended = hasEnded(item);
  const action = item.action?.trim() ?? '';
  if (action !== '' && action.length <= MAX_ACTION && !/\p{Cc}/u.test(action) && action !== task.action) {
    fields.action = action;
  }
  const submitted = within(item.submitTime, task.createdAt, task.submitTime || now);
  if (submitted !== undefined && submitted !== task.submitTime) fields.submitTime = submitted;
  const begin = fields.submitTime ?? task.submitTime;
  const started = ended || item.status === 'IN_PROGRESS' ? within(item.startTime, begin, now) : undefined;
  if (started !== undefined && started !== task.startTime) fields.startTime = started;
  const finished = ended ? within(item.finishTime, (started ?? task.startTime) || begin, now) : undefined;
  if (finished !== undefined) fields.finishTime = finished;
  return fields;
}

function within(time: number | undefined, from: number, to: number): number | undefined {
  if (time === undefined || time < from - SKEW_SECONDS || time > to + SKEW_SECONDS) return undefined;
  return Math.max(from, Math.min(time, to));
}
