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
import { AppError, type Sentence } from '../../kernel/index.ts';
import type { ApiKeyStore } from './api-keys.ts';
import type { BackupStore } from './backups.ts';
import type { BatchStore } from './batches.ts';
import type { CapacityStore } from './capacity.ts';
import type { ChannelStore, CredentialStore, PriceStore } from './channels.ts';
import type { ImportStore } from './imports.ts';
import type { BalanceAlertStore, LedgerStore } from './ledger.ts';
import type { LogStore } from './logs.ts';
import type { ClockStore, NodeStore } from './nodes.ts';
import type { OptionStore, SealedStore } from './options.ts';
import type { WebhookStore } from './outbox.ts';
import type { PluginOutcomeStore, PluginSourceStore, PluginStore } from './plugins.ts';
import type { QueueViewStore } from './queue-view.ts';
import type { RelayStore } from './relays.ts';
import type { PreviewStore, ResultStore } from './results.ts';
import type { PersonalDataStore, RetentionStore } from './retention.ts';
import type { SessionStore } from './sessions.ts';
import type { FlowStore, IdentityStore, OAuthProviderStore, PasskeyStore, TwoFactorStore } from './sign-in.ts';
import type { TaskViewStore } from './task-list.ts';
import type { IdempotencyStore, TaskStore } from './tasks.ts';
import type { FigureStore, SampleStore, UsageStore } from './usage.ts';
import type { UserStore } from './users.ts';
import type { WaitingStore } from './waiting-queue.ts';

/** Kinds of stored data whose changes are published to all nodes. */
export type ChangeTopic = 'plugins' | 'channels' | 'prices' | 'options' | 'waiting' | 'capacity';

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
  readonly credentials: CredentialStore;
  readonly capacity: CapacityStore;
  readonly plugins: PluginStore;
  readonly pluginSources: PluginSourceStore;
  readonly pluginOutcomes: PluginOutcomeStore;
  readonly tasks: TaskStore;
  readonly idempotency: IdempotencyStore;
  readonly batches: BatchStore;
  readonly waiting: WaitingStore;
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
  readonly queueView: QueueViewStore;
  readonly sealed: SealedStore;
  readonly clock: ClockStore;
}

export interface Store extends Repositories {
  readonly dialect: 'sqlite' | 'postgres';
  /**
   * Runs `work` in one transaction: committed (and durable) when the promise resolves, rolled back
   * when `work` throws. Inside it use only `tx`, and await only database work: on SQLite other
   * writers wait for it.
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
  writeFault(): Sentence | undefined;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Error codes of a store that may recover. */
const UNAVAILABLE: ReadonlySet<string> = new Set(['store.unavailable', 'store.outcome_unknown', 'store.locked']);

/** Whether another transaction holds a row: only those who want that row have to wait. */
export const isStoreLocked = (error: unknown): boolean => error instanceof AppError && error.code === 'store.locked';

export const isStoreUnavailable = (error: unknown): boolean => error instanceof AppError && UNAVAILABLE.has(error.code);
