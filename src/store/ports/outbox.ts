/** The outbox of webhooks, notices and emails: their states, and for how long they are tried. */
import type { JsonObject } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';

/** Events of tasks and batches go to the receivers of their API keys. */
type TaskEvent = 'task.queued' | 'task.updated' | 'task.finished' | 'task.artifacts_kept' | 'batch.finished';

/** Events of the gateway go to its operator and to users. */
export const GATEWAY_EVENTS = [
  'channel.failing',
  'channel.recovered',
  'backup.failed',
  'backup.overdue',
  'balance.low',
] as const;

export type GatewayEvent = (typeof GATEWAY_EVENTS)[number];

/** `test`: sent at once by an operator's wish, never stored. */
export type WebhookEvent = TaskEvent | GatewayEvent | 'test';

/** `apiKeyId` of notices of the gateway, which no API key signs. */
export const NO_API_KEY = 0;

/** `host` and `url` of notices that are mailed to their user. No receiver has either. */
export const MAIL = 'mailto:';

/** `userId` of the operator's notices. */
export const OPERATOR = 0;

/**
 * `superseded`: a later webhook of its task replaced it before it was delivered. `failed`: given
 * up, until somebody requests a redelivery.
 */
export type WebhookStatus = 'pending' | 'delivered' | 'failed' | 'superseded';

/**
 * A notice in the outbox: to a client's receiver, to the operator or by email (`url` is `MAIL`).
 */
export type WebhookRecord = {
  id: number;
  /** `msg_…`; every attempt sends it. */
  eventId: string;
  /** The task; for a notice of the gateway its subject, such as `channel:3`. */
  taskId: string;
  /** `OPERATOR`: a notice to the operator. */
  userId: number;
  /** The API key whose secret signs it; `NO_API_KEY`: it is a notice of the gateway. */
  apiKeyId: number;
  event: WebhookEvent;
  url: string;
  /** The URL's canonical host, with the port unless it is the scheme's default. */
  host: string;
  payload: JsonObject;
  status: WebhookStatus;
  /** Finished attempts: all of them, and those since the schedule began. */
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

/** One attempt. Only the status of the receiver's answer is stored. */
export type WebhookDelivery = {
  /** Unix seconds. */
  at: number;
  /** 0: no answer came. */
  httpStatus: number;
  durationMs: number;
  /** Why no answer came, or why no request was sent; empty if an answer came. */
  error: string;
};

export type NewWebhook = Pick<
  WebhookRecord,
  'eventId' | 'taskId' | 'userId' | 'apiKeyId' | 'event' | 'url' | 'host' | 'payload' | 'createdAt'
>;

/** Proof of a claim, which the end of its attempt must name. */
export type WebhookLease = Pick<WebhookRecord, 'id' | 'leaseSeq'> & { leaseOwner: string };

export type WebhookOutcome =
  /** `failed` is final until somebody requests a redelivery. */
  | { status: 'delivered' | 'failed' }
  /** Tried again after `inMs`, at the latest when it would be given up; after that it fails. */
  | { status: 'retry'; inMs: number };

/**
 * The longest pause before an attempt: two hours and the spread, or an update's interval. An
 * attempt that is further ahead is made at once: the clock was set back.
 */
export const LONGEST_WEBHOOK_PAUSE_MS = 3 * 3_600_000;

/** How long a webhook is tried at most. */
export const LONGEST_WEBHOOK_TRIES_MS = 24 * 3_600_000;

/**
 * What a claim leaves out: all webhooks of some hosts, all of some users, those of some users for
 * some hosts, and some webhooks.
 */
export type ClaimExclusions = {
  hosts: readonly string[];
  users: readonly number[];
  userHosts: readonly { host: string; userId: number }[];
  /** Webhooks that this process holds, whatever the clock says. */
  held?: readonly number[];
};

export interface WebhookStore {
  /**
   * Writes a `task.updated` in the transaction of the change that it reports. An update of the task
   * that was not tried yet takes the new payload. One that was tried is superseded, and the new one
   * continues its schedule. It is sent at the earliest `everyMs` after the last update of its task,
   * and given up `forMs` from now.
   */
  putUpdate(webhook: NewWebhook, everyMs: number, forMs: number): Promise<void>;
  /**
   * Writes a `task.finished` in the transaction that ends the task, due at once. Every undelivered
   * update of the task is superseded.
   */
  putFinish(webhook: NewWebhook, forMs: number): Promise<void>;
  /**
   * Writes a `task.queued`, due at once, in the transaction after which the task waits; nothing
   * where a notice with its id is there.
   */
  putQueued(webhook: NewWebhook, forMs: number): Promise<void>;
  /**
   * Writes a `task.artifacts_kept`, due at once, in the transaction that ends the work on a result;
   * call `results.lockTask` first. False, and nothing is written, while results of the task are
   * wanted, and where a notice with its id is there.
   */
  putKept(webhook: NewWebhook, forMs: number): Promise<boolean>;
  /** Writes a notice of the gateway, due at once, in the transaction of what it reports. */
  putGatewayNotice(webhook: NewWebhook, forMs: number): Promise<void>;
  /** The operator's latest notice that was tried, with its last attempt. */
  latestOfOperator(): Promise<(WebhookRecord & { delivery: WebhookDelivery | undefined }) | undefined>;
  /**
   * Milliseconds until the next pending webhook is due, by the store's clock: 0 or less when one
   * is; undefined without one whose lease is free.
   */
  untilDue(): Promise<number | undefined>;
  /**
   * Claims pending webhooks that are due, the longest overdue first. Skips those in `exclude`, and
   * those whose task has an earlier one under way. `mailLeaseForMs`: of emails; absent: as others.
   */
  claim(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    mailLeaseForMs?: number;
    exclude: ClaimExclusions;
  }): Promise<WebhookRecord[]>;
  /**
   * Writes the end of an attempt and its delivery row, of which the last 50 are kept, and ends the
   * claim. False when the claim was lost: then nothing was written. A superseded webhook stays so.
   */
  settle(lease: WebhookLease, outcome: WebhookOutcome, delivery: WebhookDelivery): Promise<boolean>;
  /** Ends this owner's claims without an attempt (a node that stops). */
  releaseOwner(owner: string): Promise<number>;
  /** Ends every claim: for the start of the only process of a SQLite database. */
  expireLeases(): Promise<number>;
  /** The webhooks of a task with their attempts, the latest first. */
  listOfTask(taskId: string, page: Page): Promise<Paged<WebhookRecord & { deliveries: WebhookDelivery[] }>>;
  byEventId(taskId: string, eventId: string): Promise<WebhookRecord | undefined>;
  /**
   * Makes a webhook due now under a new schedule of `forMs`, in any state. False while it is under
   * way.
   */
  redeliver(id: number, forMs: number): Promise<boolean>;
  /**
   * Deletes about `limit` webhooks created at or before `createdUntil`, with their attempts.
   * Pending ones stay.
   */
  deleteOld(createdUntil: number, limit: number): Promise<number>;
  /** The number of pending webhooks, and the age of the oldest in seconds. */
  depth(): Promise<{ pending: number; oldestSeconds: number }>;
}
