import type { Billing } from '../billing/index.ts';
import type { Channels } from '../channels/index.ts';
import type { Clock, FairLimiter, Json, JsonObject, Logger, WatchCache } from '../kernel/index.ts';
import type { LoadedPlugin, Pin } from '../plugins/index.ts';
import type { ApiKeyRecord, Counters, Store, TaskRecord, UserRecord } from '../store/ports/index.ts';
import type { ServiceAccountTokens, Upstream } from '../upstream/index.ts';
import type { DownloadLimit } from './artifacts/limit-downloads.ts';
import type { LinkLimits } from './artifacts/limit-links.ts';
import type { RepeatLimit } from './idempotency/limit-repeats.ts';
import type { ObservationLimit, ObservationLimits } from './observation/limit-observations.ts';
import type { TaskWatchers } from './observation/watch-task.ts';
import type { WebhookServices } from './webhooks/webhooks.ts';

export type TaskLimits = {
  /** TASK_POLL_INTERVAL_SECONDS: the longest time between two polls of a task. */
  pollIntervalMs: number;
  /** TASK_POLL_CHANNEL_CONCURRENCY: requests at once to one channel. */
  pollChannelConcurrency: number;
  /** TASK_POLL_MAX_FAILURES: consecutive failures that end a task; 0 or less: never. */
  pollMaxFailures: number;
  /** TASK_TIMEOUT_MINUTES: age at which the sweep ends a task; 0 or less: never. */
  taskTimeoutMinutes: number;
  /**
   * How long a claim of tasks to poll holds; it is renewed while a poll lives, so that only a dead
   * or stalled process loses one.
   */
  pollLeaseMs: number;
  /** TASK_QUERY_LIMIT: most tasks taken with one claim. */
  claimLimit: number;
  /** TASK_PLUGIN_PROTOCOL_TIMEOUT_SECONDS: longest time of one submission. */
  submitTimeoutMs: number;
  /**
   * TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: time between two looks at the tasks that clients wait
   * for.
   */
  tickMs: number;
  /** TASK_PLUGIN_PROTOCOL_TICK_JITTER_MILLISECONDS: most that is added to it. */
  tickJitterMs: number;
  /** TASK_PLUGIN_PROTOCOL_*_CONCURRENCY: clients that watch tasks at once. */
  observations: ObservationLimits;
  links: LinkLimits;
  /** MAX_FILE_DOWNLOAD_MB in bytes: each file and all inlined bytes of a request together. */
  maxFileBytes: number;
};

/** What the engine works with. */
export type TaskDeps = TaskServices & {
  /** Who waits for a task on this node; told of every transition made here, after its commit. */
  watchers: TaskWatchers;
  /** Admits who waits for a task or streams it. */
  observations: ObservationLimit;
  /** Admits who downloads with an API key. */
  downloads: DownloadLimit;
  /**
   * Shares local work on submissions and quotes fairly among users; held by nobody while a vendor
   * is asked.
   */
  submissions: FairLimiter;
  /** Admits repeats of an Idempotency-Key that wait for their first request. */
  repeats: RepeatLimit;
};

/** What the engine is given. */
export type TaskServices = {
  store: Store;
  clock: Clock;
  logger: Logger;
  upstream: Upstream;
  serviceAccounts: ServiceAccountTokens;
  channels: Channels;
  billing: Billing;
  webhooks: WebhookServices;
  /** Pins the serving generation; every pin is released. */
  pin: () => Pin;
  /** This process's name in leases; unique a start. */
  nodeId: string;
  limits: TaskLimits;
  /** False while what a vendor answers could not be stored: then none is asked. */
  canStore: () => boolean;
  /** Hears how far behind its due time each poll was sent, in ms. */
  onPoll: (latenessMs: number) => void;
  /** CRYPTO_SECRET and its predecessors: sign and verify artifact links. */
  cryptoSecrets: readonly [string, ...string[]];
  /**
   * TaskPublicAddress, else ServerAddress; without a trailing slash. Undefined: no link can be
   * made.
   */
  publicAddress: () => string | undefined;
  /** Every address that is known to lead to this gateway. */
  ownAddresses: () => readonly string[];
  /** Shared by the nodes where there is something to share them. */
  counters: Counters;
  watchCache?: WatchCache;
};

/** On whose account a task runs. `group` is the key's own, else the user's. */
export type Caller = { user: UserRecord; key: ApiKeyRecord | null; group: string };

/** A file of the client's multipart body. Its bytes never enter plugin code. */
export type RequestFile = {
  /**
   * `request_file:<field>`, for a repeated field `request_file:<field>#<index>` from the second on.
   */
  ref: string;
  field: string;
  filename: string;
  /** The part's own Content-Type, as sent; may be empty. */
  mimeType: string;
  size: number;
  /**
   * All of its bytes, from the beginning each time, until the request is released. A chunk is good
   * until the next is asked for.
   */
  stream: () => AsyncIterable<Uint8Array>;
};

/**
 * Long Base64 texts of a JSON body, which stay out of memory and out of plugins. In the place of
 * each stands a token (`fileToken`), which begins with `prefix`, and which nobody can guess.
 */
export type ExtractedFiles = { prefix: string; files: readonly ExtractedFile[] };

export type ExtractedFile = {
  /** Of what stood between the quotes of the JSON text. */
  size: number;
  /** Of the file that it stands for. */
  decodedSize: number;
  /** Ends of lines stand in it, escaped as in JSON. */
  hasLineEnds: boolean;
  /**
   * What stood between the quotes, from the beginning each time, until the request is released. A
   * chunk is good until the next is asked for.
   */
  stream: () => AsyncIterable<Uint8Array>;
};

export type RequestBody =
  | { kind: 'json'; value: Json; extracted?: ExtractedFiles }
  | { kind: 'form'; fields: Record<string, string[]> }
  | { kind: 'multipart'; fields: Record<string, string[]>; files: RequestFile[] }
  | { kind: 'none' };

/** A client's request as decoders see it. */
export type ClientRequest = {
  method: string;
  path: string;
  params: Record<string, string>;
  query: Record<string, string[]>;
  contentType: string;
  accept: string;
  body: RequestBody;
  /** The X-Callback-Url header as sent; null or absent without one. */
  callbackUrl?: string | null;
  /** The Idempotency-Key header as sent; null or absent without one. */
  idempotencyKey?: string | null;
  /** Aborted when the client has left: ends what it waits for, never what it has submitted. */
  signal?: AbortSignal;
  /** SHA-256 of the body as it came, in hex; of no bytes where none was taken. */
  bodySha256: string;
  /**
   * Lets go of the body's files; called once the submission has ended, however it did. Never
   * throws.
   */
  release: () => Promise<void>;
};

/** What the client wants, after decoding: the same for every surface. */
export type Intent = { model: string; action: string; requestBody: Json | undefined };

/**
 * A client's own key for a submission, and the SHA-256 in hex of the request that it stands for.
 */
export type Idempotency = { key: string; requestHash: string };

export type Submission = {
  surface: 'generic' | 'native' | 'proto_video' | 'proto_responses';
  caller: Caller;
  requestId: string;
  plugin: LoadedPlugin;
  generation: number;
  request: ClientRequest;
  intent: Intent;
  idempotency?: Idempotency | undefined;
  /** A response that its client does not wait for. */
  background?: boolean;
  originTasks?: OriginTasks | undefined;
};

/**
 * Earlier tasks that a submission builds on, in the order in which the decoder named them, and the
 * one channel that made them.
 */
export type OriginTasks = { tasks: readonly TaskRecord[]; channelId: number };

export type CredentialContext = { auth: JsonObject; authHeader: string; apiKey?: string; authError?: string };
