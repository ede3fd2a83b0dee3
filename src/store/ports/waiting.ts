/** Tasks that wait for a place at a vendor, in their order. */
import type { JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from './task-records.ts';

/**
 * What waits for the same places: tasks of one plugin and model of one group. `channelId`: the only
 * channel that may serve; 0: any.
 */
export type WaitingClass = { class: string; plugin: string; model: string; group: string; channelId: number };

/** A task that waits. Times are Unix milliseconds by the store's clock. */
export type WaitingRecord = {
  taskId: string;
  class: string;
  /** −10 to 10, and up to 3 more for having waited long; the highest goes first. */
  priority: number;
  /** Its place within the priority: the lowest goes first; 0: it was moved to the front. */
  turn: number;
  /** It must not be sent before; 0: it may be sent now. */
  notBeforeMs: number;
  userId: number;
  apiKeyId: number | null;
  /** The place of files from which alone it can be sent; empty: every node may send it. */
  node: string;
  /** The node whose client waits for its answer, and with which it ends; empty: none. */
  attached: string;
  sinceMs: number;
  /** When the wait is over. */
  deadlineMs: number;
  /** When it is looked at next: it is moved up, or its wait is over. */
  dueAtMs: number;
  /** How often it was moved up. */
  raised: number;
  /** How often it came back. */
  returns: number;
  /** What it takes until it is sent. */
  bytes: number;
  /** What it is sent from. */
  request: JsonObject;
};

/** `cost`: what its turn takes; 1,000 is that of a usual task of its class. `forMs`: the longest wait. */
export type NewWaiting = Pick<
  WaitingRecord,
  'taskId' | 'priority' | 'userId' | 'apiKeyId' | 'node' | 'attached' | 'bytes' | 'request'
> & { class: WaitingClass; cost: number; forMs: number };

/** How the numbers of a class and priority change. `turn`: one that was sent; 0: none was. */
export type WaitingChange = { class: string; priority: number; tasks: number; bytes: number; turn: number };

/** What waits of a class at a priority. `turn`: the highest that was ever sent. */
export type WaitingCount = WaitingClass & { priority: number; waiting: number; bytes: number; turn: number };

/** A task that was taken out, as it is stored now, and its former place. */
export type TakenWaiting = { task: TaskRecord; place: WaitingRecord };

/**
 * In a transaction that moves money, rows of tasks and places come after those of wallets, and
 * `put` and `count` last of all: they lock rows of whole classes.
 */
export interface WaitingStore {
  /**
   * Gives each its turn behind the last one of its user, and never before what was sent, and counts
   * it. Their tasks wait already.
   */
  put(tasks: readonly NewWaiting[]): Promise<void>;
  /**
   * Takes the first of a class out and begins to send them: `sending`, with a lease, a channel and
   * the time of the start. Two nodes never get the same. `nodes`: the places of files that this
   * node has.
   */
  claim(claim: {
    class: string;
    /** Those of other priorities stay. */
    priority: number;
    nodes: readonly string[];
    limit: number;
    owner: string;
    leaseForMs: number;
    channelId: number;
    upstreamModel: string;
  }): Promise<TakenWaiting[]>;
  /**
   * Takes these out, wherever they are, under a lease of `owner`: to end them in the same
   * transaction. Those that do not wait any more are left out.
   */
  take(taskIds: readonly string[], lease: { owner: string; leaseForMs: number }): Promise<TakenWaiting[]>;
  /** Changes the numbers by what was taken out. */
  count(changes: readonly WaitingChange[]): Promise<void>;
  /**
   * Puts a task that is being sent back to its place, not before `waitMs` have passed. False: its
   * lease was lost, or it was cancelled; nothing was written.
   */
  putBack(
    task: Pick<TaskRecord, 'taskId' | 'leaseOwner' | 'leaseSeq' | 'channelId'>,
    place: WaitingRecord,
    waitMs: number,
  ): Promise<boolean>;
  /** Lets those be sent whose pause is over. Returns the classes that they are of. */
  wake(): Promise<string[]>;
  /** Those to look at: the wait of some is over, others have waited for a quarter more of it. */
  due(limit: number): Promise<WaitingRecord[]>;
  /** Moves tasks up by one priority, to its end. Only those that are still where they were. */
  raise(places: readonly WaitingRecord[]): Promise<void>;
  /** Tasks that wait for clients of nodes other than these. */
  abandoned(liveNodes: readonly string[], limit: number): Promise<string[]>;
  /** Tasks of a user, of an API key, or that a deleted channel alone could serve. */
  ofOwner(owner: { userId: number } | { apiKeyId: number } | { channelId: number }, limit: number): Promise<string[]>;
  /** What waits, by class and priority. */
  classes(): Promise<WaitingCount[]>;
  /** How many of a user's tasks wait. */
  countOfUser(userId: number): Promise<number>;
  /** Removes turns of users that are not ahead of what was sent any more, and empty classes. */
  sweep(limit: number): Promise<number>;
}
