import type { Page, Paged, TaskEventKind, TaskEventRecord, TaskRecord, TaskStatus } from './records.ts';

/** Fields of a task that its creator gives; the rest starts empty. */
export type NewTask = Pick<
  TaskRecord,
  | 'taskId'
  | 'platform'
  | 'userId'
  | 'apiKeyId'
  | 'group'
  | 'channelId'
  | 'action'
  | 'quota'
  | 'properties'
  | 'execution'
  | 'billing'
  | 'createdAt'
> & { leaseOwner: string; leaseForMs: number; callbackUrl?: string | null };

/**
 * Proof of a claim. Every write under a claim matches it and a status that is not terminal.
 * `runOut`: somebody else's claim, which must have run out and not been renewed; an empty
 * `leaseOwner` then stands for one that was ended. `reserved`: the task's quota must still be this,
 * or the lease counts as lost: a move to another price may be under way.
 */
export type Lease = { taskId: string; leaseOwner: string; leaseSeq: number; runOut?: boolean; reserved?: number };

export type TaskChange = Partial<
  Pick<
    TaskRecord,
    | 'status'
    | 'progress'
    | 'failReason'
    | 'action'
    | 'data'
    | 'state'
    | 'upstreamTaskId'
    | 'pollFailures'
    | 'polls'
    | 'submitTime'
    | 'startTime'
    | 'finishTime'
    | 'quota'
    | 'channelId'
    | 'properties'
    | 'execution'
    | 'billing'
  >
>;

export type NewTaskEvent = {
  taskId: string;
  at: number;
  kind: TaskEventKind;
  status: TaskStatus;
  class?: string;
  httpStatus?: number;
  detail?: string;
};

/**
 * What the poll of a task that runs on has brought; absent members keep what is stored. `event`:
 * for the timeline, where the claim still stands. `nextPollInMs`: the task is due again after so
 * long.
 */
export type PolledTask = {
  lease: Pick<Lease, 'taskId' | 'leaseOwner' | 'leaseSeq'>;
  change: Pick<
    TaskChange,
    'status' | 'progress' | 'data' | 'state' | 'billing' | 'pollFailures' | 'polls' | 'startTime'
  >;
  event?: Omit<NewTaskEvent, 'taskId'>;
  nextPollInMs: number;
};

export type SeenTask = { taskId: string; status: TaskStatus | ''; polls: number };

export interface TaskStore {
  /** Inserts in NOT_START under a submit lease (`lease_seq` 1); gives the stored row. */
  insert(task: NewTask): Promise<TaskRecord>;
  byTaskId(taskId: string): Promise<TaskRecord | undefined>;
  byUser(userId: number, taskId: string): Promise<TaskRecord | undefined>;
  /**
   * Of these tasks, those that are no longer as the caller saw them: in another status, or asked
   * for again since (`polls`). An empty `status` stands for a task not seen yet. One statement for
   * any number of tasks.
   */
  byTaskIds(seen: readonly SeenTask[]): Promise<TaskRecord[]>;
  list(
    filter: { userId?: number; status?: string; platform?: string; channelId?: number; query?: string },
    page: Page,
  ): Promise<Paged<TaskRecord>>;
  /**
   * The last `limit` tasks of a plugin that a vendor took and of which there is data, the newest
   * first.
   */
  latestWithData(platform: string, limit: number): Promise<TaskRecord[]>;
  /**
   * Claims tasks that are due (status SUBMITTED to IN_PROGRESS, `next_poll_at` reached, lease free
   * or run out): of each channel the longest overdue, and of all channels evenly while each has
   * more. Sets owner, `lease_until` and `lease_seq + 1`. Two nodes never get the same task. What is
   * due of `exceptChannels` costs nothing.
   */
  claimDue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    exceptChannels: readonly number[];
  }): Promise<TaskRecord[]>;
  /** Claims NOT_START tasks whose submit lease has run out: their process died. */
  claimInterrupted(claim: { owner: string; limit: number; leaseForMs: number }): Promise<TaskRecord[]>;
  /**
   * Claims running tasks of which `submit_time` is at or before `submittedBefore` and whose lease
   * is free or run out.
   */
  claimOverdue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    submittedBefore: number;
  }): Promise<TaskRecord[]>;
  /**
   * Makes running tasks due now whose due time lies further ahead than `maxAheadMs`: a clock that
   * was set back put them there.
   */
  pullForwardDueTimes(maxAheadMs: number): Promise<number>;
  /** Prolongs a lease from now. False when it was lost. */
  renew(lease: Lease, leaseForMs: number): Promise<boolean>;
  /**
   * Writes `change` under a live claim and gives the lease back; the task is due again after
   * `nextPollInMs` (`null`: never, for a terminal status). False when the lease was lost or the
   * task has ended: then nothing was written.
   */
  advance(lease: Lease, change: TaskChange, nextPollInMs: number | null): Promise<boolean>;
  /**
   * `advance`, with an event, for any number of tasks that run on, in a few statements; one answer
   * for each, in order. Outside a transaction the store gives it one of its own.
   */
  advanceAll(polled: readonly PolledTask[]): Promise<boolean[]>;
  /** Writes `change` and keeps the lease (a submission that moves to another channel). */
  amend(lease: Lease, change: TaskChange): Promise<boolean>;
  /**
   * Gives back all leases of one owner at once (a node that stops). Submit leases are left to run
   * out unless `expireSubmits`.
   */
  releaseOwner(owner: string, options: { expireSubmits: boolean }): Promise<number>;
  /** Ends every lease there is: the start of the only process of a SQLite database. */
  expireAllLeases(): Promise<number>;
  /** Unfinished tasks: all, overdue ones, and by how much the latest one is late. */
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  countUnfinished(filter: { platform?: string; channelId?: number }): Promise<number>;
  /**
   * Appends to the timeline unless the task has 50 rows (a terminal transition, a settlement, a
   * refund and a late success are always kept).
   */
  addEvent(event: NewTaskEvent): Promise<void>;
  events(taskId: string): Promise<TaskEventRecord[]>;
}

/** Which submission a client's own key stands for. */
export type IdempotencyRecord = { userId: number; key: string; requestHash: string; taskId: string; expiresAt: number };

export interface IdempotencyStore {
  /**
   * Takes a user's key until `expiresAt`, also from a record that has expired by `at`. False: it is
   * taken. Meant for the transaction that opens the task: of many at once, the others wait for its
   * end and take the key only where it came to nothing.
   */
  take(record: IdempotencyRecord & { at: number }): Promise<boolean>;
  /** The record of a key that has not expired by `at`. */
  find(userId: number, key: string, at: number): Promise<IdempotencyRecord | undefined>;
  /** Gives back the user's keys that stand for this submission: it came to nothing. */
  free(userId: number, taskId: string): Promise<void>;
  /** Deletes about `limit` records that had expired by `until`; gives how many. */
  deleteExpired(until: number, limit: number): Promise<number>;
}
