/**
 * What the rooms may ask of the database about notices to clients. The rules for implementations
 * are those of `store.ts`.
 */
import type { JsonObject } from '../../kernel/index.ts';
import type { Page, Paged } from './records.ts';

export type WebhookEvent = 'task.updated' | 'task.finished';
/**
 * `superseded`: a later one of its task took its place before it arrived. `failed`: given up, until
 * somebody asks for it again.
 */
export type WebhookStatus = 'pending' | 'delivered' | 'failed' | 'superseded';

/** A notice to a client's receiver. */
export type WebhookRecord = {
  id: number;
  /** `msg_…`, the same for every attempt. */
  eventId: string;
  taskId: string;
  userId: number;
  /** The API key whose secret signs. */
  apiKeyId: number;
  event: WebhookEvent;
  url: string;
  /** The URL's host as it is compared, with the port where it is not the scheme's own. */
  host: string;
  payload: JsonObject;
  status: WebhookStatus;
  /** Attempts whose end is known: all, and those since the schedule began. */
  attempts: number;
  retries: number;
  nextAttemptAtMs: number;
  giveUpAtMs: number;
  /** When it was last claimed; 0: never. */
  lastAttemptAtMs: number;
  leaseOwner: string | null;
  leaseUntilMs: number;
  leaseSeq: number;
  createdAt: number;
};

/** One attempt. Nothing of the receiver's answer is kept but its status. */
export type WebhookDelivery = {
  /** Unix seconds. */
  at: number;
  /** 0: no answer came. */
  httpStatus: number;
  durationMs: number;
  /** Why no answer came, or why none was asked for; empty where one came. */
  error: string;
};

export type NewWebhook = Pick<
  WebhookRecord,
  'eventId' | 'taskId' | 'userId' | 'apiKeyId' | 'event' | 'url' | 'host' | 'payload' | 'createdAt'
>;

/** Proof of a claim, which the end of its attempt names. */
export type WebhookLease = Pick<WebhookRecord, 'id' | 'leaseSeq'> & { leaseOwner: string };

export type WebhookOutcome =
  /** `failed` is final until somebody asks for the notice again. */
  | { status: 'delivered' | 'failed' }
  /** Tried again after so long, at the latest when it would be given up; after that it fails. */
  | { status: 'retry'; inMs: number };

/**
 * Notices that a claim leaves out: all of some hosts, all of some users, and those of some users
 * for some hosts.
 */
export type Unoffered = {
  hosts: readonly string[];
  users: readonly number[];
  lanes: readonly { host: string; userId: number }[];
};

export interface WebhookStore {
  /**
   * Writes a `task.updated`, in the transaction of what it tells: one of the task that has not been
   * tried yet takes the new payload, one that has is superseded by the new one, which goes on with
   * its schedule. It is sent `everyMs` after the last one of its task at the earliest, and given up
   * `forMs` from now.
   */
  putUpdate(notice: NewWebhook, everyMs: number, forMs: number): Promise<void>;
  /**
   * Writes a `task.finished`, in the transaction of the end, due at once; every update of the task
   * that has not arrived is superseded.
   */
  putFinish(notice: NewWebhook, forMs: number): Promise<void>;
  /**
   * Claims pending notices that are due, the longest overdue first, but none that is `unoffered`,
   * and none while an earlier one of its task is under way.
   */
  claim(claim: { owner: string; limit: number; leaseForMs: number; unoffered: Unoffered }): Promise<WebhookRecord[]>;
  /**
   * Writes the end of an attempt with its row of the log, of which the last 50 stay, and gives the
   * claim back. False when the claim was lost: nothing was written. A notice that was superseded
   * meanwhile stays so.
   */
  settle(lease: WebhookLease, outcome: WebhookOutcome, delivery: WebhookDelivery): Promise<boolean>;
  /** Gives back what this owner holds without an attempt (a node that stops). */
  releaseOwner(owner: string): Promise<number>;
  /** Ends every claim there is: the start of the only process of a SQLite database. */
  expireLeases(): Promise<number>;
  /** The notices of a task with their attempts, the latest first. */
  listOfTask(taskId: string, page: Page): Promise<Paged<WebhookRecord & { deliveries: WebhookDelivery[] }>>;
  byEventId(taskId: string, eventId: string): Promise<WebhookRecord | undefined>;
  /**
   * Makes a notice due now under a new schedule of `forMs`, whatever became of it. False while it
   * is under way.
   */
  redeliver(id: number, forMs: number): Promise<boolean>;
  /**
   * Deletes about `limit` notices made at or before `createdUntil`, with their attempts; pending
   * ones stay.
   */
  deleteOld(createdUntil: number, limit: number): Promise<number>;
  /** Pending notices, and the age of the oldest in seconds. */
  depth(): Promise<{ pending: number; oldestSeconds: number }>;
}
