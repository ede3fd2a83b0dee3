import type { Billing } from '../billing/index.ts';
import type { ResultStorage } from '../files/index.ts';
import type { Clock, Logger, ReportCacheSize, Sentence } from '../kernel/index.ts';
import type { WebhookServices } from '../notifications/index.ts';
import type { LoadedPlugin, Pin, ProtocolName } from '../plugins/index.ts';
import type { KeyOwner, PresentedKey, Store, StoredResult, TaskExecution, TaskRecord } from '../store/ports/index.ts';
import type { Intent, OriginTasks, ReceivedRequest, VendorDeps } from '../vendors/index.ts';
import type { ObservationLimits, TaskNode, WaitingRules } from './task-node.ts';

export type TaskLimits = {
  /** TASK_POLL_INTERVAL_SECONDS: longest time between two polls of a task. */
  pollIntervalMs: number;
  /** TASK_POLL_CHANNEL_CONCURRENCY: concurrent polls of one channel. */
  pollChannelConcurrency: number;
  /** TASK_POLL_MAX_FAILURES: consecutive failures that end a task; 0 or less: never. */
  pollMaxFailures: number;
  /** TASK_TIMEOUT_MINUTES: age at which a task is ended as timed out; 0 or less: never. */
  taskTimeoutMinutes: number;
  /**
   * Lease of a task that was claimed for a poll. It is renewed while the poll runs, so only a dead
   * or stalled process loses it.
   */
  pollLeaseMs: number;
  /** TASK_QUERY_LIMIT: most tasks in one claim. */
  claimLimit: number;
  /**
   * TASK_PLUGIN_PROTOCOL_TIMEOUT_SECONDS: timeout of one submission, and of all that a client waits
   * for in one request.
   */
  submitTimeoutMs: number;
  /** TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: interval at which watched tasks are read again. */
  tickMs: number;
  /** TASK_PLUGIN_PROTOCOL_TICK_JITTER_MILLISECONDS: largest random addition to `tickMs`. */
  tickJitterMs: number;
  /** TASK_PLUGIN_PROTOCOL_*_CONCURRENCY: clients that may watch tasks concurrently. */
  observations: ObservationLimits;
  /** MAX_FILE_DOWNLOAD_MB in bytes: limits each file, and the sum of a request's inlined files. */
  maxFileBytes: number;
  /** TASK_SUBMIT_WAIT_SECONDS: how long a request of a native route waits for its dispatch. */
  submitWaitMs: number;
  /** RELAY_WAIT_SECONDS: how long a relayed request waits for a free slot; 0: not at all. */
  relayWaitMs: number;
  /**
   * billing.memory_hold_quota: what this node may hold in memory instead of reserving it in the
   * store; may change while the gateway runs. Absent, or 0: nothing.
   */
  mostHeld?: () => number;
  /** The rules of waiting for a group; administrators may change them while the gateway runs. */
  waiting: (group: string) => WaitingRules;
};

/** Dependencies of the room's operations. */
export type TaskDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  vendors: VendorDeps;
  billing: Billing;
  /** Pins the serving plugin generation. Release every pin. */
  pin: () => Pin;
  storage: ResultStorage;
  webhooks: WebhookServices;
  limits: TaskLimits;
  telemetry: TaskTelemetry;
  node: TaskNode;
};

/** Receives the events of this node. */
export type TaskTelemetry = {
  meter?: TaskMeter;
  tracer?: TaskTracer | undefined;
  /** Reports how late each poll was sent, in ms after its due time. */
  onPoll: (latenessMs: number) => void;
  /** Reports how calls of plugin versions end. */
  outcomes: OutcomeCounter;
  reportCacheSize?: ReportCacheSize;
};

/**
 * Reports how calls of plugin versions end, so that versions can be compared. It does not report
 * what is neither a success nor the plugin's fault: an unreachable or busy vendor, a refused
 * credential, a full sandbox, and this gateway's own trouble.
 */
export type OutcomeCounter = {
  /** `error`: why the submission failed. */
  submitted(plugin: LoadedPlugin, error?: unknown): void;
  polled(plugin: LoadedPlugin, verdict: PolledOutcome): void;
  fetched(plugin: LoadedPlugin, task: TaskRecord, error?: unknown): void;
};

/** The part of a poll's verdict that concerns the plugin. */
export type PolledOutcome =
  | { kind: 'running' | 'postponed' }
  | { kind: 'ended'; ending: { status: 'SUCCESS' } | { status: 'FAILURE'; class?: string } }
  | { kind: 'poll_failed'; class: string };

/** Receives what this node does, for metrics. It neither throws nor takes time. */
export type TaskMeter = {
  /** After the commit, as `spent`. */
  ended(end: { plugin: string; channelId: number; succeeded: boolean }): void;
  /** `quota`: what was billed for a task or a relayed request. */
  spent(channelId: number, quota: number): void;
  /** A vendor reported more usage than its request allowed. */
  implausibleUsage(channelId: number): void;
  /** `status`: the answer's, or how the request failed. */
  answered(exchange: { channelId: number; call: 'submit' | 'poll'; status: number | string; ms: number }): void;
  /** A task that waited was sent; `ms`: from the begin of its wait. */
  waited(channelId: number, ms: number): void;
  phase(phase: 'wait' | 'prepare' | 'reserve' | 'send' | 'record', ms: number): void;
};

/**
 * Records what this node does as spans of traces; absent where nobody collects them. It neither
 * throws nor takes time.
 */
export type TaskTracer = {
  /** Runs a submission as a span. What it calls becomes part of it. */
  submission<T>(facts: SpanFacts, run: () => Promise<T>): Promise<T>;
  /**
   * Runs work for tasks long after their submissions: a trace of its own, linked to theirs.
   * `contexts`: of the tasks, as `context` gave them.
   */
  later<T>(work: LaterWork, run: () => Promise<T>): Promise<T>;
  /** Adds to the running span. */
  note(facts: SpanFacts): void;
  /** Names the running span in the form of W3C's traceparent; undefined: none is recorded. */
  context(): string | undefined;
};

type LaterWork = { name: string; facts: SpanFacts; contexts: readonly (string | undefined)[] };

/** Never a secret, a prompt, an address with its query, or a message that may quote them. */
export type SpanFacts = Readonly<Record<`taskgate.${string}`, string | number | boolean>>;

/** How a task ends, and what that means for its bill. */
export type Ending =
  /**
   * `usageTrouble`: why the usage facts are missing. The reservation is then the final bill.
   * `result`: stored, for a plugin that lists no artifacts.
   */
  | { status: 'SUCCESS'; usageTrouble?: Sentence | undefined; result?: StoredResult | undefined }
  /**
   * `releasesIdempotencyKey`: no vendor has or will get the task, so its Idempotency-Key can be
   * used again.
   */
  | {
      status: 'FAILURE';
      reason: Sentence;
      class?: string;
      httpStatus?: number;
      releasesIdempotencyKey?: boolean;
      /** The vendor may still run it: its slot stays taken for a while. */
      mayStillRun?: boolean;
    };

/**
 * The user who submits a task, and the wallet that pays for it: that of the key, else of the user.
 * `group` is the key's own, else the user's.
 */
export type Caller = { user: KeyOwner; key: PresentedKey | null; walletId: number; group: string };

/**
 * SHA-256 of a body in hex. `raw`: of its bytes as sent; without a body, of zero bytes. `meaning`:
 * of the values of its JSON or form, or of the sequence of its parts; empty without a body.
 */
export type BodyDigests = { raw: string; meaning: string };

/** A client's request, parsed, before a plugin decodes it. */
export type ClientRequest = ReceivedRequest & {
  /** The X-Callback-Url header as sent; null or absent without one. */
  callbackUrl?: string | null;
  /** The X-Keep-Result header as sent; null or absent without one. */
  keepResult?: string | null;
  /** The X-Allow-Fallback header as sent; null or absent without one. */
  allowFallback?: string | null;
  /** The Idempotency-Key header as sent; null or absent without one. */
  idempotencyKey?: string | null;
  /** The monotonic time by which a client that says when it gives up must have its answer. */
  answerByMs?: number | undefined;
  /** Aborted when the client disconnects. It ends waiting, never a submission. */
  signal?: AbortSignal;
  /** Set for a request with an Idempotency-Key. */
  digests?: BodyDigests | undefined;
  /** Frees the body's files. Call it once the submission has ended in any way. Never throws. */
  release: () => Promise<void>;
};

/** The client's Idempotency-Key, and the digest of the request that it was sent with. */
export type Idempotency = { key: string; requestHash: string };

/** A request as one plugin decoded it. */
export type DecodedRequest = { plugin: LoadedPlugin; intent: Intent; originTasks?: OriginTasks | undefined };

export type Submission = DecodedRequest & {
  surface: 'generic' | 'native' | ProtocolName;
  caller: Caller;
  requestId: string;
  /** The request as other plugins that share the model decoded it; any of them may serve it. */
  alternatives?: readonly DecodedRequest[];
  generation: number;
  request: ClientRequest;
  idempotency?: Idempotency | undefined;
  /** A background response: its client does not wait for it. */
  background?: boolean;
  /**
   * The request itself waits for its task to be sent, at most to this monotonic time. Without it,
   * the task is answered as queued at once.
   */
  attachedUntilMs?: number | undefined;
  /** Called when the request begins to wait with its task, to free what only running tasks take. */
  onWaiting?: () => void;
  /** False: the data of a result that is complete at once is not stored. */
  retainResult?: boolean;
  /** The id of the task that is run again. */
  repeats?: string | undefined;
  /** What the surface stores to show it again. */
  shown?: { execution?: Pick<TaskExecution, 'response'> };
};
