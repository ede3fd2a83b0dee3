/**
 * What the rooms may ask of the database. One set of repositories implements this for SQLite and PostgreSQL.
 *
 * Rules for every implementation:
 * - A state change is one conditional statement; its row count is the verdict that the method returns.
 * - Predicates over leases and due times use the store's clock: the database's own on PostgreSQL, the process's on SQLite.
 * - Methods reject only on trouble with the database (`store.unavailable`, `store.outcome_unknown`) or a broken invariant, never on a lost race.
 */

import type { ApiKeyStore, FlowStore, PasskeyStore, SessionStore, TwoFactorStore } from './account-stores.ts';
import type { FigureStore } from './figure-store.ts';
import type { IdentityStore, OAuthProviderStore } from './identity-stores.ts';
import type {
  AuditChainName,
  AuditFault,
  AuditRecord,
  ChannelRecord,
  LedgerEntryRecord,
  LedgerKind,
  NodeRecord,
  Page,
  Paged,
  PluginRecord,
  PriceRecord,
  TaskEventKind,
  TaskEventRecord,
  TaskRecord,
  TaskStatus,
  UsageLogRecord,
} from './records.ts';
import type { RelayStore } from './relay-store.ts';
import type { UserStore } from './user-store.ts';
import type { WebhookStore } from './webhook-store.ts';

export type NewChannel = Omit<ChannelRecord, 'id' | 'usedQuota'>;
export interface ChannelStore {
  insert(channel: NewChannel): Promise<ChannelRecord>;
  byId(id: number): Promise<ChannelRecord | undefined>;
  /** All channels, by id; there are tens, not thousands. */
  all(): Promise<ChannelRecord[]>;
  list(page: Page): Promise<Paged<ChannelRecord>>;
  update(
    id: number,
    change: Partial<Omit<ChannelRecord, 'id' | 'usedQuota' | 'createdAt'>>,
  ): Promise<ChannelRecord | undefined>;
  delete(id: number): Promise<boolean>;
  addUsedQuota(id: number, delta: number): Promise<void>;
}

export type NewPlugin = Omit<PluginRecord, 'id' | 'active'>;
export interface PluginStore {
  /** `undefined` when (key, version) exists. The only version of a key becomes active in the same statement or transaction. */
  insert(plugin: NewPlugin): Promise<PluginRecord | undefined>;
  byVersion(key: string, version: string): Promise<PluginRecord | undefined>;
  /** All versions of a key, the newest first. */
  versions(key: string): Promise<PluginRecord[]>;
  /** The active row of every key, enabled or not, by key. */
  active(): Promise<PluginRecord[]>;
  /** Makes one version active and enabled and every other of its key inactive. False when the version is unknown. */
  activate(key: string, version: string): Promise<boolean>;
  /** Makes every version of a key inactive. False when none was active. */
  deactivate(key: string): Promise<boolean>;
  update(
    id: number,
    change: Partial<Pick<PluginRecord, 'enabled' | 'remark' | 'icon' | 'narrowedModels'>>,
  ): Promise<boolean>;
  /** Enables or disables all versions of a key. */
  setEnabled(key: string, enabled: boolean): Promise<boolean>;
  /** Deletes a version; if it was active the newest remaining one becomes active, enabled as the deleted one was. */
  delete(key: string, version: string): Promise<boolean>;
}

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
 * Proof of a claim. Every write under a claim matches it and a status that is not terminal. `runOut`: somebody else's claim, which must
 * have run out and not been renewed; an empty `leaseOwner` then stands for one that was ended.
 * `reserved`: the task's quota must still be this, or the lease counts as lost: a move to another price may be under way.
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
 * What the poll of a task that runs on has brought; absent members keep what is stored. `event`: for the timeline, where the claim still
 * stands. `nextPollInMs`: the task is due again after so long.
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
   * Of these tasks, those that are no longer as the caller saw them: in another status, or asked for again since (`polls`). An empty
   * `status` stands for a task not seen yet. One statement for any number of tasks.
   */
  byTaskIds(seen: readonly SeenTask[]): Promise<TaskRecord[]>;
  list(
    filter: { userId?: number; status?: string; platform?: string; channelId?: number; query?: string },
    page: Page,
  ): Promise<Paged<TaskRecord>>;
  /** The last `limit` tasks of a plugin that a vendor took and of which there is data, the newest first. */
  latestWithData(platform: string, limit: number): Promise<TaskRecord[]>;
  /**
   * Claims tasks that are due (status SUBMITTED to IN_PROGRESS, `next_poll_at` reached, lease free or run out): of each channel the
   * longest overdue, and of all channels evenly while each has more. Sets owner, `lease_until` and `lease_seq + 1`. Two nodes never get the
   * same task. What is due of `exceptChannels` costs nothing.
   */
  claimDue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    exceptChannels: readonly number[];
  }): Promise<TaskRecord[]>;
  /** Claims NOT_START tasks whose submit lease has run out: their process died. */
  claimInterrupted(claim: { owner: string; limit: number; leaseForMs: number }): Promise<TaskRecord[]>;
  /** Claims running tasks of which `submit_time` is at or before `submittedBefore` and whose lease is free or run out. */
  claimOverdue(claim: {
    owner: string;
    limit: number;
    leaseForMs: number;
    submittedBefore: number;
  }): Promise<TaskRecord[]>;
  /** Makes running tasks due now whose due time lies further ahead than `maxAheadMs`: a clock that was set back put them there. */
  pullForwardDueTimes(maxAheadMs: number): Promise<number>;
  /** Prolongs a lease from now. False when it was lost. */
  renew(lease: Lease, leaseForMs: number): Promise<boolean>;
  /**
   * Writes `change` under a live claim and gives the lease back; the task is due again after `nextPollInMs` (`null`: never, for a
   * terminal status). False when the lease was lost or the task has ended: then nothing was written.
   */
  advance(lease: Lease, change: TaskChange, nextPollInMs: number | null): Promise<boolean>;
  /**
   * `advance`, with an event, for any number of tasks that run on, in a few statements; one answer for each, in order. Outside a
   * transaction the store gives it one of its own.
   */
  advanceAll(polled: readonly PolledTask[]): Promise<boolean[]>;
  /** Writes `change` and keeps the lease (a submission that moves to another channel). */
  amend(lease: Lease, change: TaskChange): Promise<boolean>;
  /** Gives back all leases of one owner at once (a node that stops). Submit leases are left to run out unless `expireSubmits`. */
  releaseOwner(owner: string, options: { expireSubmits: boolean }): Promise<number>;
  /** Ends every lease there is: the start of the only process of a SQLite database. */
  expireAllLeases(): Promise<number>;
  /** Unfinished tasks: all, overdue ones, and by how much the latest one is late. */
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  countUnfinished(filter: { platform?: string; channelId?: number }): Promise<number>;
  /** Appends to the timeline unless the task has 50 rows (a terminal transition, a settlement, a refund and a late success are always kept). */
  addEvent(event: NewTaskEvent): Promise<void>;
  events(taskId: string): Promise<TaskEventRecord[]>;
}

/** Which submission a client's own key stands for. */
export type IdempotencyRecord = { userId: number; key: string; requestHash: string; taskId: string; expiresAt: number };

export interface IdempotencyStore {
  /**
   * Takes a user's key until `expiresAt`, also from a record that has expired by `at`. False: it is taken. Meant for the transaction
   * that opens the task: of many at once, the others wait for its end and take the key only where it came to nothing.
   */
  take(record: IdempotencyRecord & { at: number }): Promise<boolean>;
  /** The record of a key that has not expired by `at`. */
  find(userId: number, key: string, at: number): Promise<IdempotencyRecord | undefined>;
  /** Gives back the user's keys that stand for this submission: it came to nothing. */
  free(userId: number, taskId: string): Promise<void>;
  /** Deletes about `limit` records that had expired by `until`; gives how many. */
  deleteExpired(until: number, limit: number): Promise<number>;
}

/** Lines of no task. */
export type GrantKind = 'grant' | 'topup' | 'adjust';

/** Money. Every method is meant for use inside a transaction, together with the state change that it belongs to. */
export interface LedgerStore {
  /**
   * Takes `amount` (≥ 0) from the balance of an enabled user if it is there, and from the key's own budget if the key is
   * limited; writes the line (task, reserve, attempt). False: not enough, nothing written.
   */
  reserve(entry: {
    userId: number;
    apiKeyId: number | null;
    taskId: string;
    attempt: number;
    amount: number;
    at: number;
  }): Promise<'ok' | 'user_insufficient' | 'key_insufficient'>;
  /**
   * Writes a signed line and moves the balances of user and key by it, below zero too. False when (task, kind, attempt)
   * exists: the money has moved already and nothing is written.
   */
  post(entry: {
    userId: number;
    apiKeyId: number | null;
    taskId: string;
    kind: Exclude<LedgerKind, GrantKind>;
    attempt: number;
    amount: number;
    note?: string;
    at: number;
  }): Promise<boolean>;
  /** A grant, a top-up or an administrator's signed adjustment under its own unique key. False when that key exists. */
  grant(entry: {
    userId: number;
    kind: GrantKind;
    key: string;
    amount: number;
    note?: string;
    at: number;
  }): Promise<boolean>;
  /**
   * Makes the balance `to` by an `adjust` line of the difference, with the user's row locked in between. `undefined` when the key
   * exists or there is no such user: nothing was written.
   */
  setBalance(entry: {
    userId: number;
    key: string;
    to: number;
    note?: string;
    at: number;
  }): Promise<{ before: number; after: number } | undefined>;
  /** The line of this unique key of a grant, a top-up or an adjustment. */
  byGrantKey(key: string): Promise<LedgerEntryRecord | undefined>;
  /** After the end of a task: adds to the used quota of user, key and channel and counts one request. */
  addUsage(usage: { userId: number; apiKeyId: number | null; channelId: number; quota: number }): Promise<void>;
  byTask(taskId: string): Promise<LedgerEntryRecord[]>;
  list(userId: number, page: Page): Promise<Paged<LedgerEntryRecord>>;
  /**
   * Users whose balance is not the sum of their lines; terminal tasks and ended relayed requests whose lines do not sum to minus their quota. At
   * most `limit` of each. Reads every line there is, in statements that hold nobody up for long; what moves meanwhile is no imbalance.
   */
  imbalances(limit: number): Promise<{
    users: { userId: number; quota: number; ledger: number }[];
    tasks: { taskId: string; quota: number; ledger: number }[];
  }>;
}

export interface PriceStore {
  all(): Promise<PriceRecord[]>;
  put(price: PriceRecord): Promise<void>;
  delete(pluginKey: string, model: string): Promise<boolean>;
}

export type AuditFilter = {
  /** A part of the name that the actor had then, in any case. */
  user?: string;
  /** The beginning of an action: `channel`, `user.delete`. */
  action?: string;
  /** Exactly: `channel:3`. */
  target?: string;
  /** Unix seconds, both included. */
  since?: number;
  until?: number;
};

/** Times are inclusive. */
export type UsageFilter = { userId?: number; apiKeyId?: number; model?: string; since?: number; until?: number };

export interface LogStore {
  addUsage(row: Omit<UsageLogRecord, 'id' | 'seconds'> & { seconds?: number }): Promise<void>;
  listUsage(filter: UsageFilter, page: Page): Promise<Paged<UsageLogRecord>>;
  /**
   * Adds a row to the chain of its action (`auth.…` to that of sign-ins). It holds the chain until its transaction ends, so it has
   * one of its own.
   */
  addAudit(row: Omit<AuditRecord, 'id'>): Promise<void>;
  /**
   * Removes at most `limit` of the oldest rows of a chain, those written at or before `until`, and remembers the last one's hash;
   * gives their number.
   */
  deleteAudit(chain: AuditChainName, until: number, limit: number): Promise<number>;
  /**
   * Reads all chains. Gives the first fault of each, the number of rows that are in a chain, and of those that came since without
   * being in one (written by an older version, or from outside).
   */
  verifyAudit(): Promise<{ faults: AuditFault[]; chained: number; unchained: number }>;
  /** The latest first. */
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRecord>>;
}

export interface OptionStore {
  all(): Promise<{ key: string; value: string }[]>;
  get(key: string): Promise<string | undefined>;
  put(key: string, value: string): Promise<void>;
  /** Writes only if the key is absent. True when this call wrote it: one winner among concurrent set-ups. */
  putIfAbsent(key: string, value: string): Promise<boolean>;
}

export interface NodeStore {
  heartbeat(node: Omit<NodeRecord, 'heartbeatAt'>, at: number): Promise<void>;
  alive(since: number): Promise<NodeRecord[]>;
  remove(id: string): Promise<void>;
}

/** What other nodes must hear of. */
export type ChangeTopic = 'plugins' | 'channels' | 'prices' | 'options';

/** The repositories, bound to one transaction or to none. */
export interface Repositories {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly flows: FlowStore;
  readonly twoFactor: TwoFactorStore;
  readonly passkeys: PasskeyStore;
  readonly identities: IdentityStore;
  readonly providers: OAuthProviderStore;
  readonly apiKeys: ApiKeyStore;
  readonly channels: ChannelStore;
  readonly plugins: PluginStore;
  readonly tasks: TaskStore;
  readonly idempotency: IdempotencyStore;
  readonly webhooks: WebhookStore;
  readonly relays: RelayStore;
  readonly ledger: LedgerStore;
  readonly prices: PriceStore;
  readonly logs: LogStore;
  readonly figures: FigureStore;
  readonly options: OptionStore;
  readonly nodes: NodeStore;
}

export interface Store extends Repositories {
  readonly dialect: 'sqlite' | 'postgres';
  /**
   * Runs `work` in one transaction: committed (and durable) when the promise resolves, rolled back when `work` throws. Inside it
   * only `tx` may be used, and nothing but database work may be awaited: on SQLite other writers wait meanwhile.
   */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>;
  /**
   * Runs `work` unless another node is running work of the same name now; then gives `undefined`. On SQLite there is one node.
   * `work` is no transaction. The lock ends with the work or with the process.
   */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Tells every node, this one included, that something changed. Best effort: nodes also re-read every SYNC_FREQUENCY. */
  publish(topic: ChangeTopic): Promise<void>;
  /** Gives a function that ends the subscription. */
  subscribe(listener: (topic: ChangeTopic) => void): () => void;
  /** Why the latest write to the database's file failed, as a sentence; undefined once one has gone through, and on PostgreSQL. */
  writeFault(): string | undefined;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
