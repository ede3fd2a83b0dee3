/** Tasks that wait for a slot at a vendor, in their order. */
import type { JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from './task-records.ts';

/** The longest time that a task may wait. */
export const LONGEST_WAIT_MS = 12 * 3_600_000;
/** The longest pause before a task that returned to the queue may be sent again. */
export const LONGEST_RETURN_MS = 60_000;

/** The `node` of tasks with files: only nodes that can read where files are kept send them. */
export const FILES_NODE = '#files';

/** The `node` of tasks that came with a copy of the database: no node sends them. */
export const RESTORED_NODE = '#restored';

/**
 * Tasks that wait for the same slots: of one plugin, model and group. Those of one priority are a
 * queue. `channelId` and `credentialId`: the only account that may serve them; 0: any.
 */
export type WaitingClass = {
  class: string;
  plugin: string;
  model: string;
  group: string;
  channelId: number;
  credentialId: number;
};

/**
 * The owner whose limit holds a task back, so that it is in no queue. Empty: it is in its queue.
 */
export type ParkedBy = '' | 'key' | 'user' | 'group';

/** An entry of a queue: a task that waits. */
export type WaitingRecord = {
  taskId: string;
  class: string;
  /** −10 to 10, and up to 3 more for having waited long; the highest goes first. */
  priority: number;
  /** Its order within the priority: the lowest goes first; 0: it was moved to the front. */
  turn: number;
  /** The task must not be sent before; 0: it may be sent now. */
  notBeforeMs: number;
  userId: number;
  apiKeyId: number | null;
  /** Which nodes can send it: `FILES_NODE`; empty: all. */
  node: string;
  /** The node whose client waits for its answer, and with which it ends; empty: none. */
  attached: string;
  sinceMs: number;
  /** When the wait is over. */
  deadlineMs: number;
  /** When it is moved up next, or its wait is over. */
  dueAtMs: number;
  /** How often it was moved up. */
  raised: number;
  /** How often it came back. */
  returns: number;
  /** The bytes that its request takes until it is sent. */
  bytes: number;
  parked: ParkedBy;
  /** Another model may serve it, where its group allows that. */
  fallsBack: boolean;
  /** The stored request that it is sent from. */
  request: JsonObject;
};

/** What the turn of a task with one slot takes of its user's share. */
export const TURN_COST = 1000;

/** `cost`: what its turn takes. `forMs`: the longest wait. */
export type NewWaiting = Pick<
  WaitingRecord,
  'taskId' | 'priority' | 'userId' | 'apiKeyId' | 'node' | 'attached' | 'bytes' | 'parked' | 'request'
> & { class: WaitingClass; cost: number; forMs: number; fallsBack?: boolean };

/**
 * How many tasks of a class wait at a priority. `parked`: how many of them are in no queue. `turn`:
 * the highest that was ever sent.
 */
export type WaitingCount = WaitingClass & {
  priority: number;
  waiting: number;
  parked: number;
  bytes: number;
  turn: number;
};

/** The first of a queue, and what its user and key may run at once. */
export type WaitingHead = Pick<WaitingRecord, 'taskId' | 'userId' | 'apiKeyId' | 'turn' | 'sinceMs'> & {
  slots: number;
  most: { key: number | null; user: number | null };
};

/** Tasks of one user, key and group that are being sent or that vendors run. */
export type RunningTasks = { userId: number; apiKeyId: number | null; group: string; running: number };

/** Tasks of one user, key and class that an own limit holds back, and what those are now. */
export type ParkedTasks = Pick<WaitingRecord, 'userId' | 'apiKeyId' | 'class' | 'parked'> & {
  most: { key: number | null; user: number | null };
};

/** A task that leaves its queue because of an own limit. */
export type Parking = Pick<WaitingRecord, 'taskId' | 'class' | 'priority'> & { parked: Exclude<ParkedBy, ''> };

/**
 * A task to take out of its queue: the channel that it is sent by, or nothing for one that ends.
 */
export type Dequeuing = {
  taskId: string;
  sending?: { channelId: number; credentialId: number | null; upstreamModel: string; slots: number };
};

/** A task that was taken out, as it is stored now, and its former entry. */
export type TakenWaiting = { task: TaskRecord; entry: WaitingRecord };

/**
 * In a transaction that moves money, rows of tasks and entries come after those of wallets, and
 * `put`, `putBack` and `count` last of all: they lock rows of whole classes.
 */
export interface WaitingStore {
  /**
   * Gives each its turn behind the last one of its user, and never before what was sent, and counts
   * it. Their tasks wait already.
   */
  put(tasks: readonly NewWaiting[]): Promise<void>;
  /**
   * The first of a class that may be sent now, locked: other nodes find those behind them. `nodes`:
   * what this node has.
   */
  heads(of: { class: string; priority: number; nodes: readonly string[]; limit: number }): Promise<WaitingHead[]>;
  /**
   * The oldest of a class that another model may serve and that have waited for this long, after
   * the first `skip`. `nodes`: what this node has.
   */
  fallingBack(of: {
    class: string;
    nodes: readonly string[];
    waitedMs: number;
    skip: number;
    limit: number;
  }): Promise<WaitingRecord[]>;
  /** Notes that no other model can serve it. */
  keepModel(taskId: string): Promise<void>;
  /**
   * Takes these out under a lease, to send them or to end them in the same transaction; then call
   * `count`. Those that do not wait any more are left out.
   */
  take(tasks: readonly Dequeuing[], lease: { owner: string; leaseForMs: number }): Promise<TakenWaiting[]>;
  /**
   * Counts what was taken out. `isSent`: turns move on to theirs. `parks`: these leave their
   * queues.
   */
  count(taken: readonly TakenWaiting[], options: { isSent: boolean; parks?: readonly Parking[] }): Promise<void>;
  /**
   * The running tasks of these users. `locks`, in a transaction, before rows of keys and wallets:
   * no other transaction that locks them counts or begins a task of theirs until this one ends.
   * Lock all users of a transaction in one call.
   */
  running(userIds: readonly number[], options: { locks: boolean }): Promise<RunningTasks[]>;
  /** The parked tasks of these users, or of all. */
  parked(userIds?: readonly number[]): Promise<ParkedTasks[]>;
  /** How many tasks of these users wait for slots, and are not parked, by key and class. */
  unparked(
    userIds: readonly number[],
  ): Promise<(Pick<WaitingRecord, 'userId' | 'apiKeyId' | 'class'> & { tasks: number })[]>;
  /** The oldest parked tasks of a user, with these keys (0: without one) and classes. */
  parkedHeads(of: {
    userId: number;
    keys: readonly number[];
    classes: readonly string[];
    limit: number;
  }): Promise<Pick<WaitingRecord, 'taskId' | 'apiKeyId' | 'class'>[]>;
  /** Puts parked tasks back into their queues. Returns how many were still parked. */
  release(taskIds: readonly string[]): Promise<number>;
  /**
   * Puts a task that is being sent back into its queue, with its turn, the model and the price that
   * it has in `taken`: it is not sent before `waitMs` have passed, and whether that counts among
   * its returns. `into`: it goes to the end of this queue instead. False: its lease was lost, or it
   * was cancelled; nothing was written.
   */
  putBack(taken: TakenWaiting, pause: { waitMs: number; counts: boolean; into?: WaitingClass }): Promise<boolean>;
  /** As `put`, for a task that is being sent under a lease. */
  putSent(task: TaskRecord, entry: NewWaiting, waitMs: number): Promise<boolean>;
  /** Lets those be sent whose pause is over. Returns how many. */
  wake(): Promise<number>;
  /** Milliseconds until one may be sent again, or is to be looked at; undefined: none waits. */
  untilDue(): Promise<number | undefined>;
  /**
   * Moves up those that have waited for a quarter more, and returns those whose wait is over, by
   * the store's clock. With `looksAtAll` also those that began to wait before the clock was set
   * back, which reads all that wait.
   */
  age(
    limit: number,
    options?: { looksAtAll: boolean },
  ): Promise<Pick<WaitingRecord, 'taskId' | 'node' | 'attached' | 'parked' | 'sinceMs' | 'deadlineMs'>[]>;
  /** Tasks that wait for clients of nodes other than these. */
  ofDeadNodes(liveNodes: readonly string[], limit: number): Promise<string[]>;
  /**
   * Tasks of users or API keys that are gone or were switched off, and those that only a channel
   * could serve that is gone.
   */
  findLost(limit: number): Promise<{ taskId: string; lost: 'caller' | 'channel' }[]>;
  /** The counts of waiting tasks, by class and priority. */
  classes(): Promise<WaitingCount[]>;
  /** How many tasks of each of these users wait. */
  countByUser(userIds: readonly number[]): Promise<Map<number, number>>;
  /** Notes that a task which is being sent must not wait again. False: it is not being sent. */
  requestCancel(taskId: string): Promise<boolean>;
  /** Removes turns of users that are not ahead of what was sent any more, and empty classes. */
  sweep(limit: number): Promise<number>;
}
