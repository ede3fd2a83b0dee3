/**
 * The rows of the data model as the rooms see them. Times are whole Unix seconds unless a name ends in `Ms`; money is an
 * integer quota (500,000 = 1 USD). Columns that hold JSON are parsed here.
 */
import type { Json, JsonObject } from '../../kernel/index.ts';

export type Role = 1 | 10 | 100;
export const ROLE = { user: 1, admin: 10, root: 100 } as const satisfies Record<string, Role>;
/** 1 enabled, 2 disabled. API keys also know 3 expired and 4 exhausted, which are computed and never stored. */
export type EnabledStatus = 1 | 2;

export type UserRecord = {
  id: number;
  username: string;
  displayName: string;
  /** argon2id in PHC form; null for an account that signs in through a provider only. */
  passwordHash: string | null;
  role: Role;
  status: EnabledStatus;
  email: string | null;
  group: string;
  /** What is left: the sum of the user's ledger lines. */
  quota: number;
  usedQuota: number;
  requestCount: number;
  language: string;
  authVersion: number;
  createdAt: number;
  lastLoginAt: number;
};

export type SessionStatus = 'active' | 'revoked';
export type SessionRecord = {
  sid: string;
  userId: number;
  version: number;
  userAuthVersion: number;
  status: SessionStatus;
  /** Hex HMAC-SHA256 of the secret half of the refresh token. */
  refreshHash: string;
  previousRefreshHash: string | null;
  /** Unix seconds until which the previous token still gives the same successor. */
  previousValidUntil: number;
  loginMethod: string;
  ip: string;
  userAgent: string;
  createdAt: number;
  lastActiveAt: number;
  expiresAt: number;
  revokedAt: number;
  revokedReason: string;
};

export type ApiKeyRecord = {
  id: number;
  userId: number;
  name: string;
  /** Plain SHA-256 of the key in hex: the key has 285 random bits, so no secret is needed to protect it. */
  keyHash: string;
  /** `sk-` and the first characters, for people to tell keys apart. */
  prefix: string;
  status: EnabledStatus;
  unlimitedQuota: boolean;
  /** What is left of the key's own budget; meaningless when unlimited. */
  quota: number;
  usedQuota: number;
  /** Empty: every model. */
  models: string[];
  /** Addresses or CIDRs; empty: every address. */
  allowIps: string[];
  /** 0: never. */
  expiresAt: number;
  /** null: the user's group. */
  group: string | null;
  createdAt: number;
  lastUsedAt: number;
};

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

export type TaskStatus = 'NOT_START' | 'SUBMITTED' | 'QUEUED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE';

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
  /** The client surface that created the task: `generic`, `native`, `proto_video`, `proto_responses`. */
  surface: string;
};

/** Everything a later settlement needs, frozen at reservation. */
export type BillingSnapshot = {
  /** The price expression, or null for a task that costs nothing. */
  expression: string | null;
  /** Which price row served: its plugin key (or `*`) and model. */
  priceKey: string | null;
  facts: JsonObject;
  groupRatio: number;
  /** USD before the group ratio, as estimated. */
  usd: number;
  model: string;
  action: string;
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
};

export type TaskEventKind = 'created' | 'transition' | 'poll_failure' | 'settled' | 'refunded' | 'note';
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

export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'topup';
export type LedgerEntryRecord = {
  id: number;
  userId: number;
  apiKeyId: number | null;
  taskId: string | null;
  kind: LedgerKind;
  attempt: number;
  /** A signed change of the balance: reservations and charges negative, refunds and grants positive. */
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
};

export type AuditRecord = {
  id: number;
  /** null for the command line and the system itself. */
  userId: number | null;
  username: string;
  /** `session`, `access_token`, `cli`, `setup`. */
  authMethod: string;
  ip: string;
  /** `channel.create`, `plugin.activate`, … */
  action: string;
  target: string;
  /** Before and after, without secrets. */
  detail: JsonObject;
  createdAt: number;
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
