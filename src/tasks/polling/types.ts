import type { Sentence } from '../../kernel/index.ts';
import type { TaskChange, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import type { Ending } from '../types.ts';

/*
 * The shapes between a vendor's answer and the ledger, in order:
 * - `VendorAnswer` (vendors/answer/read-vendor-answer.ts): status, headers and body as they came;
 * - `ParsedTask` (plugins): what the plugin's hook read from the body;
 * - `Verdict`: what a poll means for one task, also when no valid answer came;
 * - `Ending` (tasks): how a task ends, which decides between settle and refund;
 * - `FinalBill` (billing): the final amount, with the snapshot that explains it;
 * - `TaskChange` (store): the columns that one statement writes.
 */

export type FailureClass = 'not_found' | 'auth' | 'transient' | 'unrecognized' | 'hook_error' | 'transport_error';

/** Columns that a valid answer sets. Absent ones keep their stored value. */
export type AnswerChange = Pick<
  TaskChange,
  'data' | 'state' | 'billing' | 'action' | 'submitTime' | 'startTime' | 'finishTime'
>;

/** What one poll means for one task. */
export type Verdict =
  | { kind: 'running'; status: TaskStatus; progress: string; change: AnswerChange; retryAfterMs: number }
  | { kind: 'ended'; ending: Ending; change: AnswerChange }
  /** A failure that counts towards `pollMaxFailures`. */
  | {
      kind: 'poll_failed';
      class: FailureClass;
      httpStatus: number;
      detail: Sentence;
      retryAfterMs: number;
      hook?: string;
    }
  /** Neither the vendor's nor the plugin's fault: polled again later and not counted. */
  | { kind: 'postponed'; why: string };

/** A task that this node has claimed. `final`: the task is past its age limit. */
export type Claimed = { task: TaskRecord; claimedAtMs: number; final: boolean };

/**
 * The stages of a group: its request is built and sent, then the plugin parses the answer, then the
 * verdicts are written.
 */
export type PollStage = 'requesting' | 'parsing' | 'writing';
