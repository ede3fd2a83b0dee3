/** The state changes of tasks, and the keys that make a submission idempotent. */
import type { Sentence } from '../../kernel/index.ts';
import type { KeptResultRecord } from './results.ts';
import type { TaskListStore } from './task-list.ts';
import type { TaskEventKind, TaskEventRecord, TaskRecord, TaskShown, TaskStatus, TaskSummary } from './task-records.ts';

/**
 * `videos`: only tasks of these platforms, and those that were ordered as videos of a platform that
 * is not among those that `serve` now.
 */
export type TaskCursor = {
  after?: string;
  limit: number;
  order: 'asc' | 'desc';
  videos?: { platforms: readonly string[]; serve: readonly string[] };
};

/** The fields of a task that its creator sets; the rest starts empty. */
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
> &
  Partial<
    Pick<
      TaskRecord,
      'credentialId' | 'callbackUrl' | 'sourceHash' | 'phase' | 'upstreamModel' | 'slots' | 'waitingSince'
    >
  > & {
    walletId: number;
    /** null: it waits, and nobody has it. */
    leaseOwner: string | null;
    leaseForMs: number;
    /** Its start counts in the rate that is declared for its account. */
    countsStart?: boolean;
  };

/**
 * The longest lease of any claim but a backup's: that of webhooks whose receivers may take a minute
 * each. A lease that is further ahead counts as expired: the clock was set back.
 */
export const LONGEST_LEASE_MS = 6 * 60_000;

/**
 * Proof of a claim. Every write under a claim matches it and a status that is not terminal.
 * `runOut`: the lease of another node, which must have expired without renewal; an empty
 * `leaseOwner` then means that its owner ended it. `reserved`: the task's quota must still be this,
 * else the lease counts as lost: a move to another price may be under way.
 */
export type Lease = { taskId: string; leaseOwner: string; leaseSeq: number; runOut?: boolean; reserved?: number };

export type TaskChange = Partial<
  Pick<
    TaskRecord,
    | 'status'
    | 'progress'
    | 'failReason'
    | 'failReasonSentence'
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
    | 'upstreamModel'
    | 'slots'
    | 'slotUntil'
    | 'dispatchedAtMs'
    /** A task that another plugin sends: its key and its source. */
    | 'platform'
    | 'sourceHash'
  >
>;

export type NewTaskEvent = {
  taskId: string;
  at: number;
  kind: TaskEventKind;
  status: TaskStatus;
  class?: string;
  httpStatus?: number;
  detail?: string | Sentence;
};

/**
 * A change of a task under a lease, which ends the lease. Absent members of `change` keep what is
 * stored. `events` go to the timeline if the claim still holds: at most one that counts against
 * the limit of the timeline. `nextPollInMs`: when the task is due again; null: never, for a
 * terminal status.
 */
export type TaskAdvance = {
  lease: Lease;
  change: Omit<TaskChange, 'channelId' | 'properties' | 'upstreamModel' | 'slots' | 'dispatchedAtMs'>;
  events?: readonly Omit<NewTaskEvent, 'taskId'>[];
  nextPollInMs: number | null;
};

/** A task, what decides on its links, and the result behind one; read in one statement. */
export type LinkedTask = {
  task: TaskRecord;
  /** Absent: it was deleted. */
  owner?: { status: number; linkVersion: number };
  /** The artifact as the gateway keeps it, or is to keep it. */
  result?: KeptResultRecord;
};

/** What decides on a link to a kept result, and that result; a few columns of one statement. */
export type LinkedResult = {
  task: Pick<TaskRecord, 'taskId' | 'status' | 'hiddenAt' | 'finishTime' | 'linkVersions'>;
  owner: { status: number; linkVersion: number };
  result: Pick<KeptResultRecord, 'artifactKey' | 'kind' | 'state' | 'sha256' | 'bytes' | 'keptAt' | 'mimeType'>;
};

export type SeenTask = { taskId: string; status: TaskStatus | ''; polls: number };

export interface TaskStore extends TaskListStore {
  /**
   * The number of the event before the first output of a task's response streams; undefined while
   * no stream has had an output.
   */
  streamedOutputsAfter(taskId: string): Promise<number | undefined>;
  /** Stores that number unless one is stored, and returns the stored one. */
  keepStreamedOutputs(taskId: string, after: number): Promise<number>;
  /** Moves the number up by one. */
  shiftStreamedOutputs(taskId: string): Promise<void>;
  /**
   * Inserts in NOT_START (`lease_seq` 1), under a submit lease unless it waits; returns the stored
   * row.
   */
  insert(task: NewTask): Promise<TaskRecord>;
  /** Advances any number of tasks in one statement, in order. */
  insertAll(tasks: readonly NewTask[]): Promise<TaskRecord[]>;
  byTaskId(taskId: string): Promise<TaskRecord | undefined>;
  linked(taskId: string, artifactKey: string): Promise<LinkedTask | undefined>;
  /** As `linked`, without large columns; undefined unless the result is kept and has an owner. */
  linkedResult(taskId: string, artifactKey: string): Promise<LinkedResult | undefined>;
  byUser(userId: number, taskId: string): Promise<TaskRecord | undefined>;
  /** As `byUser`, without large columns. */
  summaryByUser(userId: number, taskId: string): Promise<TaskSummary | undefined>;
  /** As `byUser`, with what a rendering of the task depends on. */
  shownByUser(userId: number, taskId: string): Promise<TaskShown | undefined>;
  /**
   * The subset of these tasks that changed since the caller saw them: they have another status, or
   * were polled again (`polls`). An empty `status` means a task not seen yet. One statement for any
   * number of tasks.
   */
  byTaskIds(seen: readonly SeenTask[]): Promise<TaskRecord[]>;
  /**
   * A page of the user's tasks that are not hidden, by creation. `after`: the task before the page,
   * also one that was hidden since. Undefined when `after` is not the user's.
   */
  pageByUser(userId: number, page: TaskCursor): Promise<TaskSummary[] | undefined>;
  /**
   * Hides an ended task and replaces what holds its content. False when it is hidden already, runs,
   * or is not the user's.
   */
  hide(task: Pick<TaskRecord, 'taskId' | 'userId' | 'properties' | 'execution'>): Promise<boolean>;
  /** False when the versions are no longer `known`: another request moved them first. */
  setLinkVersions(taskId: string, versions: { known: string; next: string }): Promise<boolean>;
  /**
   * The last `limit` tasks of a plugin that a vendor accepted and that have data, the newest first.
   */
  latestWithData(platform: string, limit: number): Promise<TaskRecord[]>;
  /**
   * Claims tasks that are due: SUBMITTED to IN_PROGRESS, `next_poll_at` reached, lease free or
   * expired. Takes the longest overdue of each channel, and the same number of each channel while
   * it has more. Sets owner, `lease_until` and `lease_seq + 1`. Two nodes never get the same task.
   * Channels in `exceptChannels` are skipped at no cost. `held`: rows that this process holds,
   * which it never claims, even if their leases look expired.
   */
  claimDue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    held?: readonly number[];
    exceptChannels: readonly number[];
  }): Promise<TaskRecord[]>;
  /**
   * Milliseconds until the next running task is due, by the store's clock: 0 or less when one is;
   * undefined without one whose lease is free.
   */
  untilDue(): Promise<number | undefined>;
  /**
   * Claims NOT_START tasks whose submit lease has expired: their process died. It
   * claims those of `held`, which this process is submitting, only if their lease was ended,
   * whatever the clock says.
   */
  claimInterrupted(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    held?: readonly string[];
  }): Promise<TaskRecord[]>;
  /**
   * Claims running tasks whose `submit_time` is at or before `submittedBefore` and whose lease is
   * free or expired. `held` as in `claimDue`.
   */
  claimOverdue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    held?: readonly number[];
    submittedBefore: number;
  }): Promise<TaskRecord[]>;
  /**
   * Makes running tasks due now whose due time is more than `maxAheadMs` ahead: the clock was set
   * back after it was written.
   */
  pullForwardDueTimes(maxAheadMs: number): Promise<number>;
  /** Makes a running task due now that would be polled later. False when there is none. */
  makeDue(taskId: string): Promise<boolean>;
  /** Extends a lease, counted from now, or ends it with 0 or less. False when it was lost. */
  renew(lease: Lease, leaseForMs: number): Promise<boolean>;
  /**
   * Writes `change` under a live claim and ends the lease. The task is due again after
   * `nextPollInMs` (`null`: never, for a terminal status). False when the lease was lost or the
   * task has ended: then nothing was written.
   */
  advance(lease: Lease, change: TaskChange, nextPollInMs: number | null): Promise<boolean>;
  /**
   * `advance`, with events, for any number of tasks in a few statements; one result for each, in
   * order. No task may be among them twice.
   */
  advanceAll(advances: readonly TaskAdvance[]): Promise<boolean[]>;
  /** Writes `change` and keeps the lease (a submission that moves to another channel). */
  amend(lease: Lease, change: TaskChange): Promise<boolean>;
  /** Notes the vendor's id at a failed task that has none; false: it has one, or has not failed. */
  noteVendorJob(taskId: string, upstreamTaskId: string): Promise<boolean>;
  /**
   * Ends all leases of one owner (a node that stops). Submit leases are left to expire unless
   * `expireSubmits`.
   */
  releaseOwner(owner: string, options: { expireSubmits: boolean }): Promise<number>;
  /** Ends every lease: for the start of the only process of a SQLite database. */
  expireAllLeases(): Promise<number>;
  /** The number of unfinished tasks and of overdue ones, and how late the latest of these is. */
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  countUnfinished(filter: { platform?: string; channelId?: number }): Promise<number>;
  /**
   * Appends to the timeline unless the task has 50 rows. Terminal transitions, settlements, refunds
   * and late successes are always written.
   */
  addEvent(event: NewTaskEvent): Promise<void>;
  /** Adds to the one row of the timeline that names the latest channels that did not take it. */
  notePassedOver(taskId: string, noted: { at: number; channels: readonly string[] }): Promise<void>;
  /** Adds any number of events in one statement, as in `TaskAdvance`. */
  addEvents(events: readonly NewTaskEvent[]): Promise<void>;
  events(taskId: string): Promise<TaskEventRecord[]>;
}

/** The submission that a client's idempotency key stands for. */
export type IdempotencyRecord = { userId: number; key: string; requestHash: string; taskId: string; expiresAt: number };

export interface IdempotencyStore {
  /**
   * Takes a user's key until `expiresAt`; a record that has expired by `at` is replaced. False when
   * it is taken. Call it in the transaction that opens the task: concurrent callers wait for its
   * end, and take the key only if it rolled back.
   */
  take(record: IdempotencyRecord & { at: number }): Promise<boolean>;
  /** The record of a key that has not expired by `at`. */
  find(userId: number, key: string, at: number): Promise<IdempotencyRecord | undefined>;
  /** Frees the user's keys that stand for this submission, because it failed. */
  free(userId: number, taskId: string): Promise<void>;
  /** Deletes about `limit` records that had expired by `until`; returns their number. */
  deleteExpired(until: number, limit: number): Promise<number>;
}
