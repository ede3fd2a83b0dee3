/**
 * The rows of tasks as the rooms see them. Times are whole Unix seconds unless a name ends in `Ms`.
 * Money is an integer quota (500,000 = 1 USD). JSON columns are parsed.
 */
import type { ErrorKind, Json, JsonObject, StoredSentence } from '../../kernel/index.ts';

export const TASK_STATUSES = ['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] as const;

export type TaskStatus = (typeof TASK_STATUSES)[number];

export const hasEnded = ({ status }: { status?: unknown }): boolean => status === 'SUCCESS' || status === 'FAILURE';

/**
 * A task that is not started waits, and then provably no vendor has it, or is being sent. Once sent
 * it stays `sending`.
 */
export type TaskPhase = 'waiting' | 'sending';

export type TaskProperties = {
  /** A short human-readable input (the prompt); empty where the request has none. */
  input: string;
  /** The client's name of the model that serves it, for billing and display. */
  originModelName: string;
  /** The name after the channel's model mapping. */
  upstreamModelName: string;
  /** The name that the client sent, where another model serves. */
  requestedModelName?: string;
  /** Whether its request asked for its result to be kept, or not to be. */
  keep?: boolean;
  /** The vendor's answer was removed: its retention is over, or its user is erased. */
  expired?: boolean;
  /** What a video's request asked for, as video objects show it. */
  video?: { seconds?: string; size?: string; remixed_from_video_id?: string; fps?: number; seed?: number };
};

export type TaskExecution = {
  requestId: string;
  pluginKey: string;
  pluginVersion: string;
  generation: number;
  /**
   * The client API that created the task: `generic`, `native`, or a protocol such as `proto_video`.
   */
  surface: string;
  /** The span of the submission as a W3C traceparent, if it was recorded. */
  trace?: string;
  /** False: its client got the result in the answer to the submission, and no read finds it. */
  retained?: boolean;
  /** False: its request is not stored, and the vendor's answer is erased an hour after its end. */
  stored?: false;
  /** Whether this is a response that its client does not wait for. */
  background?: boolean;
  /** The task that was run again as this one. */
  repeats?: string;
  /**
   * The input of the driver hooks, stored only if the request can be repeated from it: no files, no
   * earlier tasks, not too large.
   */
  request?: { model: string; action: string; body: Json };
  /** Where `request` is absent: the request with its files, which are kept results of the task. */
  inputs?: KeptInputs;
  /** Why the files of the request could not be kept although the operator keeps them. */
  inputsLost?: InputLoss;
  /** What the client of a response said beside its task. Its input only where it is not large. */
  response?: { metadata?: Record<string, string>; instructions?: string; user?: string; input?: Json };
  /** The error sent to the client, if the submission failed after the task row was written. */
  failure?: StoredFailure;
  /** The result of a task whose plugin lists no artifacts but gave its address. */
  result?: StoredResult;
};

/**
 * A request that can be repeated for as long as its files are kept: file number n is the kept
 * result `input:n` of its task.
 */
export type KeptInputs = {
  model: string;
  action: string;
  /** The input of the driver hooks; null where it is the last of `files`. */
  body: Json;
  /** The fields of a multipart body; absent: the body was JSON. */
  fields?: Record<string, string[]>;
  /** The prefix of the tokens that stand in `body` for files. */
  tokenPrefix?: string;
  files: KeptInput[];
};

export type KeptInput = { sha256: string; size: number } & (
  | { as: 'part'; ref: string; field: string; filename: string; mimeType: string }
  /** Base64 of a JSON body as it stood there. */
  | { as: 'text'; decodedSize: number; hasLineEnds: boolean }
  /** The JSON of `body`. */
  | { as: 'body' }
);

/** `quota`: they did not fit into the storage of the user. The others: see `FileFault`. */
export type InputLoss = 'quota' | 'full' | 'too_large' | 'unavailable';

/**
 * Where a result is: an http(s) URL of the vendor, or a small `data:` URL. `again`: it was part of
 * the vendor's answer and too large to be stored, so the vendor is asked once more.
 */
export type StoredResult = { url: string } | { again: true };

/** An `AppError` without its cause. */
export type StoredFailure = {
  code: string;
  kind: ErrorKind;
  message: string;
  param?: string;
  retryAfterSeconds?: number;
};

/** Everything that a later settlement needs, frozen at reservation. */
export type BillingSnapshot = {
  /** The price expression; null for a task that costs nothing. */
  expression: string | null;
  /** The price row that applied: its plugin key (or `*`) and model. */
  priceKey: string | null;
  facts: JsonObject;
  /**
   * Facts from the vendor's answer to the submission, which override `facts`; absent if it gave
   * none.
   */
  submissionFacts?: JsonObject;
  /** Facts from the vendor's later answers, which override both. */
  completionFacts?: JsonObject;
  groupRatio: number;
  /** USD before the group ratio, as estimated. */
  usd: number;
  model: string;
  action: string;
  /** What was accepted, where another model serves: it costs no more than that. */
  accepted?: AcceptedPrice;
  /** The final bill; absent while the task runs. */
  outcome?: BillOutcome;
};

/** The price of the model that was asked for, with the reservation in quota. */
export type AcceptedPrice = Pick<BillingSnapshot, 'expression' | 'facts' | 'groupRatio' | 'model' | 'action'> & {
  quota: number;
};

export type BillOutcome = {
  /** The last reservation, in quota. */
  reserved: number;
  /** What the task finally costs, in quota. */
  settled: number;
  /** USD before the group ratio; null if the reservation was charged as it was, or refunded. */
  usd: number | null;
  /** `usd` is worth more, but the model that was asked for would have cost `settled`. */
  capped?: true;
  /** Why the reservation was charged instead of the computed price. */
  kept?: string;
  keptSentence?: StoredSentence;
};

export type TaskRecord = {
  id: number;
  taskId: string;
  /** The plugin's key. */
  platform: string;
  userId: number;
  /** What paid for it; null: a task from before wallets, whose wallet has the user's id. */
  walletId: number | null;
  apiKeyId: number | null;
  group: string;
  channelId: number;
  action: string;
  status: TaskStatus;
  /** "0%" to "100%". */
  progress: string;
  failReason: string;
  /** What `failReason` says; null for older rows, and while the task has not failed. */
  failReasonSentence: StoredSentence | null;
  submitTime: number;
  startTime: number;
  finishTime: number;
  createdAt: number;
  updatedAt: number;
  /** Reserved while the task runs; final afterwards. */
  quota: number;
  properties: TaskProperties;
  /** The vendor's latest answer. */
  data: Json;
  /** The plugin's own persisted state. */
  state: Json;
  upstreamTaskId: string;
  pollFailures: number;
  /** Number of polls so far; also the sequence number in the timeline. */
  polls: number;
  nextPollAtMs: number;
  leaseOwner: string | null;
  leaseUntilMs: number;
  /** The fencing number: every write under a lease must name it. */
  leaseSeq: number;
  execution: TaskExecution;
  billing: BillingSnapshot;
  /**
   * The receiver of its webhooks; null: none. The URL may hold the receiver's own secrets: never
   * show it in full, never log it.
   */
  callbackUrl: string | null;
  /** When its user deleted it (Unix seconds): hidden from them, content gone. 0: not deleted. */
  hiddenAt: number;
  /**
   * SHA-256 of the plugin source that began it. Empty: it was begun before this was noted, and the
   * version that serves reads it.
   */
  sourceHash: string;
  /**
   * JSON: how often links were revoked, by artifact key; under '' those of all artifacts together.
   * Empty: never.
   */
  linkVersions: string;
  phase: TaskPhase;
  /** The model as the channel maps it, before a plugin's own rewrite. */
  upstreamModel: string;
  /** What it takes of its account's limit. */
  slots: number;
  /** When it began to wait; 0: it never waited. */
  waitingSince: number;
  /** By the store's clock; 0: it was sent when it was created. */
  dispatchedAtMs: number;
  /** An ended task whose vendor may still run it takes its slots until then; 0: it takes none. */
  slotUntil: number;
  /** It was cancelled while it was being sent, so it does not wait again. */
  cancelRequested: boolean;
  /** The credential of its channel; null: the only one. */
  credentialId: number | null;
};

/** What a task's own status page shows. */
export type TaskSummary = Pick<
  TaskRecord,
  | 'taskId'
  | 'platform'
  | 'userId'
  | 'action'
  | 'status'
  | 'progress'
  | 'failReason'
  | 'createdAt'
  | 'finishTime'
  | 'quota'
  | 'properties'
  | 'hiddenAt'
  | 'linkVersions'
> &
  ReservedQuota;

/** What was reserved, in quota; null until the bill is final. */
export type ReservedQuota = { reserved: number | null };

/**
 * What a task shows to its user. `properties` and `data` are the JSON as it is stored, so that two
 * readings can be compared without parsing it.
 */
export type TaskShown = Pick<
  TaskRecord,
  | 'taskId'
  | 'platform'
  | 'userId'
  | 'status'
  | 'progress'
  | 'failReason'
  | 'submitTime'
  | 'finishTime'
  | 'createdAt'
  | 'updatedAt'
  | 'upstreamTaskId'
  | 'quota'
  | 'hiddenAt'
  | 'sourceHash'
  | 'linkVersions'
> &
  ReservedQuota & { propertiesJson: string; dataJson: string | null };

/**
 * `passed_over`: one row of a task, which grows. `fell_back`: another model serves it from then on.
 */
export type TaskEventKind =
  | ('created' | 'transition' | 'poll_failure' | 'settled' | 'refunded' | 'late_success')
  | 'passed_over'
  | 'fell_back';

export type TaskEventRecord = {
  id: number;
  taskId: string;
  at: number;
  kind: TaskEventKind;
  status: TaskStatus;
  /** For a poll failure: transient, auth, not_found, unrecognized, hook_error, transport_error. */
  class: string;
  httpStatus: number;
  /** An amount of quota, or words. */
  detail: string;
  /** What the words say; null for amounts, and older rows. */
  detailSentence: StoredSentence | null;
};
