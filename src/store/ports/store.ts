/**
 * The port to the database. One set of repositories implements it for SQLite and PostgreSQL.
 *
 * Rules for every implementation:
 * - A state change is one conditional statement; the method's result is its row count.
 * - Conditions on leases and due times use the store's clock: the database's on PostgreSQL, the
 *   process's on SQLite.
 * - Methods reject only if the database fails (`store.unavailable`, `store.outcome_unknown`) or an
 *   invariant is broken, never on a lost race.
 */

import type { ApiKeyStore, FlowStore, PasskeyStore, SessionStore, TwoFactorStore } from './account-stores.ts';
import type { BackupStore } from './backup-store.ts';
import type { BalanceAlertStore } from './balance-alert-store.ts';
import type { FigureStore } from './figure-store.ts';
import type { IdentityStore, OAuthProviderStore } from './identity-stores.ts';
import type { ImportStore } from './import-store.ts';
import type { PluginOutcomeStore, PluginSourceStore } from './plugin-history-store.ts';
import type { PreviewStore } from './preview-store.ts';
import type {
  AuditChainName,
  AuditFault,
  AuditRecord,
  ChannelRecord,
  LedgerEntryRecord,
  LedgerKind,
  NewAuditRow,
  NodeRecord,
  Page,
  Paged,
  PluginRecord,
  PriceRecord,
  UsageLogRecord,
} from './records.ts';
import type { RelayStore } from './relay-store.ts';
import type { ResultStore } from './result-store.ts';
import type { PersonalDataStore, RetentionStore } from './retention-store.ts';
import type { SampleStore } from './sample-store.ts';
import type { SealedStore } from './sealed-store.ts';
import type { IdempotencyStore, TaskStore } from './task-store.ts';
import type { TaskViewStore } from './task-view-store.ts';
import type { UsageStore } from './usage-store.ts';
import type { UserStore } from './user-store.ts';
import type { WebhookStore } from './webhook-store.ts';

export type NewChannel = Omit<ChannelRecord, 'id' | 'usedQuota'>;
export interface ChannelStore {
  insert(channel: NewChannel): Promise<ChannelRecord>;
  byId(id: number): Promise<ChannelRecord | undefined>;
  /** All channels in order of id; there are tens, not thousands. */
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
  /**
   * `undefined` when (key, version) exists. The first version of a key becomes active in the same
   * statement or transaction, unless it `waits` for its activation.
   */
  insert(plugin: NewPlugin, options?: { waits: boolean }): Promise<PluginRecord | undefined>;
  byVersion(key: string, version: string): Promise<PluginRecord | undefined>;
  /** All versions of a key, the newest first. */
  versions(key: string): Promise<PluginRecord[]>;
  /** The active version of every key, enabled or not, in order of key. */
  active(): Promise<PluginRecord[]>;
  /**
   * Makes one version active and enabled, and every other version of its key inactive. False when
   * the version is unknown.
   */
  activate(key: string, version: string): Promise<boolean>;
  /** Makes every version of a key inactive. False when none was active. */
  deactivate(key: string): Promise<boolean>;
  update(
    id: number,
    change: Partial<Pick<PluginRecord, 'enabled' | 'remark' | 'icon' | 'narrowedModels'>>,
  ): Promise<boolean>;
  /** Enables or disables all versions of a key. */
  setEnabled(key: string, enabled: boolean): Promise<boolean>;
  /**
   * Deletes a version, whose number goes on naming its source. If it was active, the newest
   * remaining one becomes active, and enabled if the deleted one was.
   */
  delete(key: string, version: string, at: number): Promise<boolean>;
  /** The hash of the source that a deleted version had. */
  deletedSource(key: string, version: string): Promise<string | undefined>;
}

/** What a grant's line tells beside the amount. */
type GrantDetail = { note?: string } & Partial<
  Pick<LedgerEntryRecord, 'reason' | 'actorId' | 'aboutTaskId' | 'request'>
>;
/** A line of a statement. `opens`: it belongs to no task, or is the first of its task. */
export type StatementLine = LedgerEntryRecord & { opens: boolean; actor: string | null };
export type StatementFilter = {
  /** `task`, the reason of an administrator's change, or the line's kind. */
  kind?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
};

/** Kinds of ledger lines that belong to no task. */
export type GrantKind = 'grant' | 'topup' | 'adjust' | 'storage';

/**
 * Money. Call every method inside a transaction, together with the state change that it pays for.
 */
export interface LedgerStore {
  /**
   * Takes `amount` (≥ 0) from the balance of an enabled user, and from the key's budget if the key
   * is limited. Writes the line (task, reserve, attempt). Unless `ok`, nothing was written.
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
   * Writes a signed line and changes the balances of user and key by it; they may go below zero.
   * False when (task, kind, attempt) exists: the money has already moved, and nothing is written.
   */
  post(entry: {
    userId: number;
    apiKeyId: number | null;
    taskId: string;
    kind: Exclude<LedgerKind, GrantKind | 'carried'>;
    attempt: number;
    amount: number;
    note?: string;
    at: number;
  }): Promise<boolean>;
  /**
   * Writes a grant, a top-up, an administrator's signed adjustment or a charge for kept results
   * under its own unique key.
   * False when the key exists.
   */
  grant(
    entry: {
      userId: number;
      kind: GrantKind;
      key: string;
      amount: number;
      at: number;
    } & GrantDetail,
  ): Promise<boolean>;
  /**
   * Sets the balance to `to` with an `adjust` line of the difference; the user's row stays locked
   * in between. `undefined` when the key exists or there is no such user: then nothing was written.
   */
  setBalance(
    entry: {
      userId: number;
      key: string;
      to: number;
      at: number;
    } & GrantDetail,
  ): Promise<{ before: number; after: number } | undefined>;
  /** The grant, top-up or adjustment with this unique key. */
  byGrantKey(key: string): Promise<LedgerEntryRecord | undefined>;
  /**
   * Called when a task has ended: adds to the used quota of user, key and channel, and counts one
   * request. `requests`: 0 for a correction of what was added before.
   */
  addUsage(usage: {
    userId: number;
    apiKeyId: number | null;
    channelId: number;
    quota: number;
    requests?: 0;
  }): Promise<void>;
  byTask(taskId: string): Promise<LedgerEntryRecord[]>;
  list(userId: number, page: Page): Promise<Paged<LedgerEntryRecord>>;
  /**
   * The user's lines before the id `before`, the newest first, and their balance: the sum of all
   * lines that the same statement sees.
   */
  statementLines(
    userId: number,
    slice: { before?: number | undefined; limit: number },
  ): Promise<{ balance: number; lines: StatementLine[] }>;
  /**
   * Among the user's `limit` lines before the id `before`: how many open a row of the statement
   * that matches. `last` is where the next slice begins, undefined after the oldest line.
   */
  countStatement(
    userId: number,
    slice: { before: number; limit: number; filter: StatementFilter },
  ): Promise<{ found: number; last: number | undefined }>;
  /** The tasks and relayed requests that are still stored: their model, and whether they run. */
  statementTasks(taskIds: readonly string[]): Promise<{ taskId: string; model: string; isOpen: boolean }[]>;
  /**
   * Users whose balance differs from the sum of their lines; terminal tasks and ended relayed
   * requests whose lines do not sum to minus their quota. At most `limit` of each. Reads every
   * line, in short statements that do not block writers for long. Concurrent changes are never
   * reported as imbalances.
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
  /** A part of the actor's name at that time, ignoring case. */
  user?: string;
  /** A prefix of the action: `channel`, `user.delete`. */
  action?: string;
  /** The exact target: `channel:3`. */
  target?: string;
  /** Unix seconds; `since` and `until` are inclusive. */
  since?: number;
  until?: number;
};

/** Times are inclusive. */
export type UsageFilter = {
  userId?: number;
  apiKeyId?: number;
  channelId?: number;
  pluginKey?: string;
  model?: string;
  since?: number;
  until?: number;
};

/** With the names of those who still exist. */
export type NamedUsage = UsageLogRecord & { username: string | null; apiKeyName: string | null };

export interface LogStore {
  addUsage(row: Omit<UsageLogRecord, 'id' | 'seconds'> & { seconds?: number }): Promise<void>;
  listUsage(filter: UsageFilter, page: Page): Promise<Paged<NamedUsage>>;
  /** The latest rows before the row `before`, uncounted. */
  readUsage(filter: UsageFilter, part: { before?: number; limit: number }): Promise<NamedUsage[]>;
  /**
   * Appends a row to the chain of its action (`auth.…` to that of sign-ins). It locks the chain
   * until its transaction ends, so call it in a transaction of its own.
   */
  addAudit(row: NewAuditRow): Promise<void>;
  /**
   * Deletes at most `limit` of the oldest rows of a chain, written at or before `until`, and stores
   * the last one's hash. Returns their number.
   */
  deleteAudit(chain: AuditChainName, until: number, limit: number): Promise<number>;
  /**
   * Reads all chains. Returns the first fault of each, the number of rows in chains, and the number
   * of later rows that are in none (written by an older version, or from outside).
   */
  verifyAudit(): Promise<{ faults: AuditFault[]; chained: number; unchained: number }>;
  /** The latest first. */
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRecord>>;
  /** The latest rows before the row `before`, uncounted. */
  readAudit(filter: AuditFilter, part: { before?: number; limit: number }): Promise<AuditRecord[]>;
}

export interface OptionStore {
  all(): Promise<{ key: string; value: string }[]>;
  get(key: string): Promise<string | undefined>;
  put(key: string, value: string): Promise<void>;
  /**
   * Writes only if the key is absent. True when this call wrote it: among concurrent calls, one
   * wins.
   */
  putIfAbsent(key: string, value: string): Promise<boolean>;
  /** Writes only if the value is still `before`. True when this call wrote it. */
  replace(key: string, before: string, value: string): Promise<boolean>;
}

export interface NodeStore {
  heartbeat(node: Omit<NodeRecord, 'heartbeatAt'>, at: number): Promise<void>;
  alive(since: number): Promise<NodeRecord[]>;
  remove(id: string): Promise<void>;
}

/** Kinds of stored data whose changes are published to all nodes. */
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
  readonly pluginSources: PluginSourceStore;
  readonly pluginOutcomes: PluginOutcomeStore;
  readonly tasks: TaskStore;
  readonly idempotency: IdempotencyStore;
  readonly webhooks: WebhookStore;
  readonly relays: RelayStore;
  readonly results: ResultStore;
  readonly previews: PreviewStore;
  readonly ledger: LedgerStore;
  readonly prices: PriceStore;
  readonly logs: LogStore;
  readonly figures: FigureStore;
  readonly usage: UsageStore;
  readonly samples: SampleStore;
  readonly options: OptionStore;
  readonly nodes: NodeStore;
  readonly retention: RetentionStore;
  readonly personalData: PersonalDataStore;
  readonly backups: BackupStore;
  readonly balanceAlerts: BalanceAlertStore;
  readonly imports: ImportStore;
  readonly taskViews: TaskViewStore;
  readonly sealed: SealedStore;
}

export interface Store extends Repositories {
  readonly dialect: 'sqlite' | 'postgres';
  /**
   * Runs `work` in one transaction: committed (and durable) when the promise resolves, rolled back
   * when `work` throws. Inside it use only `tx`, and await only database work: on SQLite other
   * writers wait meanwhile.
   */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>;
  /**
   * Runs `work` unless another node is running work of the same name; then resolves with
   * `undefined`. A SQLite database has one node. `work` is not a transaction. The lock ends with
   * the work or with the process.
   */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Publishes a change to every node, this one included. Best effort: nodes also re-read every
   * SYNC_FREQUENCY.
   */
  publish(topic: ChangeTopic): Promise<void>;
  /** Returns a function that ends the subscription. */
  subscribe(listener: (topic: ChangeTopic) => void): () => void;
  /**
   * Why the latest write to the database file failed, as a sentence; `undefined` once a write has
   * succeeded, and always on PostgreSQL.
   */
  writeFault(): string | undefined;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
