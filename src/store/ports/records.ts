/**
 * The rows of the data model as the rooms see them. Times are whole Unix seconds unless a name ends
 * in `Ms`; money is an integer quota (500,000 = 1 USD). Columns that hold JSON are parsed here.
 */
import type { ErrorKind, Json, JsonObject } from '../../kernel/index.ts';
import type { EnabledStatus } from './account-records.ts';

export type ChannelRecord = {
  id: number;
  name: string;
  /** 1 OpenAI-compatible relay, 61 task plugin, or a type that a plugin declares. */
  type: number;
  /** The vendor credential, sealed with CRYPTO_SECRET. */
  keySealed: string;
  /** Its last four characters. */
  keyHint: string;
  baseUrl: string;
  models: string[];
  groups: string[];
  priority: number;
  weight: number;
  modelMapping: Record<string, string>;
  taskPluginKey: string | null;
  settings: JsonObject;
  status: EnabledStatus;
  usedQuota: number;
  createdAt: number;
  updatedAt: number;
};

export type PluginRecord = {
  id: number;
  key: string;
  version: string;
  apiVersion: number;
  source: string;
  /** SHA-256 of the source in hex. */
  sourceHash: string;
  /** A data URL, or null. */
  icon: string | null;
  /** The version of its key that serves; at most one a key. */
  active: boolean;
  enabled: boolean;
  remark: string;
  /** An administrator's narrowing of the served models; null: all that the manifest names. */
  narrowedModels: string[] | null;
  createdAt: number;
};

export const TASK_STATUSES = ['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export type TaskProperties = {
  /** A short human-readable input, where the request has one (the prompt). */
  input: string;
  /** The name that the client sent: billing and display identity. */
  originModelName: string;
  /** The name after the channel's model mapping. */
  upstreamModelName: string;
};

export type TaskExecution = {
  requestId: string;
  pluginKey: string;
  pluginVersion: string;
  generation: number;
  /**
   * The client surface that created the task: `generic`, `native`, `proto_video`,
   * `proto_responses`.
   */
  surface: string;
  /** A response that its client does not wait for. */
  background?: boolean;
  /**
   * What the driver hooks were asked for, where it can be asked for again: without files and
   * earlier tasks, and not too large.
   */
  request?: { model: string; action: string; body: Json };
  /** What the client was told, where the submission failed after the task had been opened. */
  failure?: StoredFailure;
};

/** An error as the rooms throw it, without its cause. */
export type StoredFailure = {
  code: string;
  kind: ErrorKind;
  message: string;
  param?: string;
  retryAfterSeconds?: number;
  doNotRetry?: boolean;
};

/** Everything a later settlement needs, frozen at reservation. */
export type BillingSnapshot = {
  /** The price expression, or null for a task that costs nothing. */
  expression: string | null;
  /** Which price row served: its plugin key (or `*`) and model. */
  priceKey: string | null;
  facts: JsonObject;
  /**
   * Facts of the vendor's answer to the submission, which overlay `facts`; absent where it gave
   * none.
   */
  submissionFacts?: JsonObject;
  /** Facts of the vendor's answers since, which overlay both. */
  completionFacts?: JsonObject;
  groupRatio: number;
  /** USD before the group ratio, as estimated. */
  usd: number;
  model: string;
  action: string;
  /** How it came out; absent while the task runs. */
  outcome?: BillOutcome;
};

export type BillOutcome = {
  /** The last reservation, in quota. */
  reserved: number;
  /** What the task finally costs, in quota. */
  settled: number;
  /** USD before the group ratio; null where the reservation stands or was given back. */
  usd: number | null;
  /** Why the reservation stands. */
  kept?: string;
};

export type TaskRecord = {
  id: number;
  taskId: string;
  /** The plugin's key. */
  platform: string;
  userId: number;
  apiKeyId: number | null;
  group: string;
  channelId: number;
  action: string;
  status: TaskStatus;
  /** "0%" to "100%". */
  progress: string;
  failReason: string;
  submitTime: number;
  startTime: number;
  finishTime: number;
  createdAt: number;
  updatedAt: number;
  /** Reserved while the task runs, final once it has ended. */
  quota: number;
  properties: TaskProperties;
  /** The vendor's latest answer. */
  data: Json;
  /** The plugin's own persisted state. */
  state: Json;
  upstreamTaskId: string;
  pollFailures: number;
  /** Polls made so far; numbers the timeline. */
  polls: number;
  nextPollAtMs: number;
  leaseOwner: string | null;
  leaseUntilMs: number;
  /** The fencing number: every write of a claim must name it. */
  leaseSeq: number;
  execution: TaskExecution;
  billing: BillingSnapshot;
  /**
   * Where notices of it are sent; null: nowhere. May hold the receiver's own secrets: never shown
   * whole, never logged.
   */
  callbackUrl: string | null;
};

export type TaskEventKind = 'created' | 'transition' | 'poll_failure' | 'settled' | 'refunded' | 'late_success';
export type TaskEventRecord = {
  id: number;
  taskId: string;
  at: number;
  kind: TaskEventKind;
  status: TaskStatus;
  /** For a poll failure: transient, auth, not_found, unrecognized, hook_error, transport_error. */
  class: string;
  httpStatus: number;
  detail: string;
};

export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'topup' | 'adjust';
export type LedgerEntryRecord = {
  id: number;
  userId: number;
  apiKeyId: number | null;
  taskId: string | null;
  kind: LedgerKind;
  attempt: number;
  /**
   * A signed change of the balance: reservations and charges negative, refunds and grants positive.
   */
  amount: number;
  note: string;
  createdAt: number;
};

export type PriceRecord = { pluginKey: string; model: string; expression: string; updatedAt: number };

export type UsageLogRecord = {
  id: number;
  userId: number;
  apiKeyId: number | null;
  taskId: string;
  channelId: number;
  pluginKey: string;
  model: string;
  kind: 'settle' | 'refund';
  quota: number;
  detail: JsonObject;
  createdAt: number;
  /** From the request to the end; -1: not known. */
  seconds: number;
};

export type AuditRecord = {
  id: number;
  /** null for the command line and the system itself. */
  userId: number | null;
  username: string;
  /** `session`, `access_token`, `cli`, `setup`, `registration`, `mailed_link`. */
  authMethod: string;
  ip: string;
  /** `channel.create`, `plugin.activate`, … */
  action: string;
  target: string;
  /** Before and after, without secrets. */
  detail: JsonObject;
  createdAt: number;
};

/** Sign-ins have a chain of their own, since they are kept for a time and changes for good. */
export type AuditChainName = 'change' | 'sign_in';

/** A place at which a chain of the audit log is not what it was when it was written. */
export type AuditFault = {
  chain: AuditChainName;
  /** The row, or the last one that is there. */
  id: number;
  /**
   * `changed`: the row says something else. `missing`: rows before it, or after it at the end, are
   * gone.
   */
  fault: 'changed' | 'missing';
};

export type NodeRecord = {
  id: string;
  role: string;
  version: string;
  startedAt: number;
  heartbeatAt: number;
  fingerprints: string[];
};

export type Page = { page: number; pageSize: number };
export type Paged<T> = { total: number; items: T[] };
