import type { Json, JsonObject, StoredSentence } from '../../kernel/index.ts';
import type {
  BatchItemStatus,
  BatchStatus,
  BillingSnapshot,
  LedgerKind,
  LedgerReason,
  ParkedBy,
  RelayKind,
  RelayObjectKind,
  RelayPartKind,
  RelayStatus,
  RequestedVideo,
  RestEvent,
  StoredFailure,
  TaskEventKind,
  TaskExecution,
  TaskPhase,
  TaskProperties,
  TaskStatus,
  WebhookEvent,
  WebhookStatus,
} from '../ports/index.ts';
import type { DialectColumns } from './dialect-columns.ts';

/**
 * Tasks, their timeline, money and outgoing notices. Times are Unix seconds where the property's
 * name does not end in `Ms`.
 */
export const defineTasks = (columns: DialectColumns) => ({
  tasks: columns.table('tasks', {
    id: columns.id(),
    taskId: columns.text('task_id').notNull(),
    platform: columns.text('platform').notNull(),
    userId: columns.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: columns.big('wallet_id'),
    apiKeyId: columns.big('api_key_id'),
    group: columns.text('group').notNull(),
    channelId: columns.big('channel_id').notNull(),
    action: columns.text('action').notNull(),
    status: columns.text('status').$type<TaskStatus>().notNull(),
    progress: columns.text('progress').notNull(),
    failReason: columns.text('fail_reason').notNull().default(''),
    failReasonSentence: columns.json<StoredSentence>('fail_reason_sentence'),
    submitTime: columns.big('submit_time').notNull().default(0),
    startTime: columns.big('start_time').notNull().default(0),
    finishTime: columns.big('finish_time').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
    updatedAt: columns.big('updated_at').notNull(),
    quota: columns.big('quota').notNull(),
    properties: columns.json<TaskProperties>('properties').notNull(),
    data: columns.json<Json>('data'),
    state: columns.json<Json>('state'),
    upstreamTaskId: columns.text('upstream_task_id').notNull().default(''),
    pollFailures: columns.int('poll_failures').notNull().default(0),
    polls: columns.int('polls').notNull().default(0),
    nextPollAtMs: columns.big('next_poll_at').notNull().default(0),
    leaseOwner: columns.text('lease_owner'),
    leaseUntilMs: columns.big('lease_until').notNull().default(0),
    leaseSeq: columns.big('lease_seq').notNull().default(0),
    execution: columns.json<TaskExecution>('execution').notNull(),
    billing: columns.json<BillingSnapshot>('billing').notNull(),
    callbackUrl: columns.text('callback_url'),
    hiddenAt: columns.big('hidden_at').notNull().default(0),
    sourceHash: columns.varchar('source_hash', 64).notNull().default(''),
    linkVersions: columns.text('link_versions').notNull().default(''),
    phase: columns.text('phase').$type<TaskPhase>().notNull().default('sending'),
    upstreamModel: columns.text('upstream_model').notNull().default(''),
    slots: columns.int('slots').notNull().default(1),
    waitingSince: columns.big('waiting_since').notNull().default(0),
    dispatchedAtMs: columns.big('dispatched_at').notNull().default(0),
    slotUntil: columns.big('slot_until').notNull().default(0),
    cancelRequested: columns.bool('cancel_requested').notNull().default(false),
    credentialId: columns.big('credential_id'),
  }),

  unstoredTasks: columns.table('unstored_tasks', {
    taskId: columns.text('task_id').primaryKey(),
  }),

  responseStreams: columns.table('response_streams', {
    taskId: columns.text('task_id').primaryKey(),
    outputsAfter: columns.int('outputs_after').notNull(),
  }),

  /** Kept by triggers of the database; never written from here. */
  taskList: columns.table('task_list', {
    /** The id of the task. */
    id: columns.big('id').primaryKey(),
    userId: columns.big('user_id').notNull(),
    apiKeyId: columns.big('api_key_id'),
    channelId: columns.big('channel_id').notNull(),
    platform: columns.text('platform').notNull(),
    model: columns.text('model').notNull(),
    status: columns.text('status').$type<TaskStatus>().notNull(),
    /** Its first 200 characters. */
    failReason: columns.text('fail_reason').notNull(),
    quota: columns.big('quota').notNull(),
    createdAt: columns.big('created_at').notNull(),
    /** From the submission to the end; 0 before. */
    seconds: columns.big('seconds').notNull(),
    hiddenAt: columns.big('hidden_at').notNull(),
  }),

  taskEvents: columns.table('task_events', {
    id: columns.id(),
    taskId: columns.text('task_id').notNull(),
    at: columns.big('at').notNull(),
    kind: columns.text('kind').$type<TaskEventKind>().notNull(),
    status: columns.text('status').$type<TaskStatus>().notNull(),
    class: columns.text('class').notNull().default(''),
    httpStatus: columns.int('http_status').notNull().default(0),
    detail: columns.text('detail').notNull().default(''),
    detailSentence: columns.json<StoredSentence>('detail_sentence'),
  }),

  ledgerEntries: columns.table('ledger_entries', {
    id: columns.id(),
    walletId: columns.big('wallet_id').notNull(),
    apiKeyId: columns.big('api_key_id'),
    taskId: columns.text('task_id'),
    kind: columns.text('kind').$type<LedgerKind>().notNull(),
    attempt: columns.int('attempt').notNull().default(0),
    amount: columns.big('amount').notNull(),
    note: columns.text('note').notNull().default(''),
    noteSentence: columns.json<StoredSentence>('note_sentence'),
    /** The unique key of a grant or top-up; null for the lines of a task. */
    grantKey: columns.text('grant_key'),
    createdAt: columns.big('created_at').notNull(),
    reason: columns.text('reason').$type<LedgerReason>().notNull().default(''),
    /** The administrator who changed the balance. */
    actorId: columns.big('actor_id'),
    /** The task that an administrator's change is about; its own lines have `taskId`. */
    aboutTaskId: columns.text('about_task_id'),
    /** The digest of the change that was asked for, by which a repeated one is known. */
    request: columns.text('request').notNull().default(''),
    /** JSON of the ids of sums that a reservation counts in; empty: in none (`move-money.ts`). */
    budgets: columns.text('budgets').notNull().default(''),
  }),

  budgetSums: columns.table('budget_sums', {
    id: columns.text('id').primaryKey(),
    /** 0: the period has no end. */
    endsAt: columns.big('ends_at').notNull(),
    spent: columns.big('spent').notNull(),
  }),

  idempotencyKeys: columns.table('idempotency_keys', {
    userId: columns.big('user_id').notNull(),
    key: columns.text('key').notNull(),
    /**
     * `v2.` and the digest of what the request means; older rows have the digest of its raw bytes,
     * in hex.
     */
    requestHash: columns.varchar('request_hash', 64).notNull(),
    taskId: columns.text('task_id'),
    createdAt: columns.big('created_at').notNull(),
    expiresAt: columns.big('expires_at').notNull(),
  }),

  webhookOutbox: columns.table('webhook_outbox', {
    id: columns.id(),
    eventId: columns.varchar('event_id', 64).notNull(),
    taskId: columns.text('task_id').notNull(),
    userId: columns.big('user_id').notNull(),
    apiKeyId: columns.big('api_key_id').notNull(),
    event: columns.text('event').$type<WebhookEvent>().notNull(),
    url: columns.text('url').notNull(),
    host: columns.text('host').notNull(),
    payload: columns.json<JsonObject>('payload').notNull(),
    status: columns.text('status').$type<WebhookStatus>().notNull(),
    attempts: columns.int('attempts').notNull().default(0),
    retries: columns.int('retries').notNull().default(0),
    nextAttemptAtMs: columns.big('next_attempt_at').notNull(),
    giveUpAtMs: columns.big('give_up_at').notNull(),
    lastAttemptAtMs: columns.big('last_attempt_at').notNull().default(0),
    leaseOwner: columns.text('lease_owner'),
    leaseUntilMs: columns.big('lease_until').notNull().default(0),
    leaseSeq: columns.big('lease_seq').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
  }),

  webhookDeliveries: columns.table('webhook_deliveries', {
    id: columns.id(),
    outboxId: columns.big('outbox_id').notNull(),
    at: columns.big('at').notNull(),
    httpStatus: columns.int('http_status').notNull().default(0),
    durationMs: columns.int('duration_ms').notNull().default(0),
    error: columns.text('error').notNull().default(''),
  }),
});

/**
 * Results of tasks that the gateway keeps, and their files. Times are Unix seconds where the
 * property's name does not end in `Ms`.
 */
export const defineResults = (columns: DialectColumns) => ({
  keptResults: columns.table('kept_results', {
    id: columns.id(),
    taskId: columns.text('task_id').notNull(),
    artifactKey: columns.text('artifact_key').notNull(),
    userId: columns.big('user_id').notNull(),
    state: columns.resultState('state').notNull(),
    kind: columns.text('kind').notNull().default(''),
    sha256: columns.varchar('sha256', 64),
    bytes: columns.big('bytes').notNull().default(0),
    mimeType: columns.text('mime_type').notNull().default(''),
    keptAt: columns.big('kept_at').notNull().default(0),
    keptUntil: columns.big('kept_until').notNull().default(0),
    reason: columns.text('reason').notNull().default(''),
    reasonSentence: columns.json<StoredSentence>('reason_sentence'),
    attempts: columns.int('attempts').notNull().default(0),
    nextAttemptAtMs: columns.big('next_attempt_at').notNull(),
    giveUpAtMs: columns.big('give_up_at').notNull(),
    leaseOwner: columns.text('lease_owner'),
    leaseUntilMs: columns.big('lease_until').notNull().default(0),
    leaseSeq: columns.big('lease_seq').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
    width: columns.int('width').notNull().default(0),
    height: columns.int('height').notNull().default(0),
  }),

  keptFiles: columns.table('kept_files', {
    sha256: columns.varchar('sha256', 64).notNull(),
    bytes: columns.big('bytes').notNull(),
    refs: columns.int('refs').notNull(),
    changedAt: columns.big('changed_at').notNull(),
  }),
});

/**
 * What type-1 channels pass on. Times are Unix seconds where the property's name does not end in
 * `Ms`.
 */
export const defineRelay = (columns: DialectColumns) => ({
  relayRequests: columns.table('relay_requests', {
    id: columns.id(),
    relayId: columns.varchar('relay_id', 64).notNull(),
    kind: columns.text('kind').$type<RelayKind>().notNull(),
    userId: columns.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: columns.big('wallet_id'),
    apiKeyId: columns.big('api_key_id'),
    group: columns.text('group').notNull(),
    channelId: columns.big('channel_id').notNull(),
    model: columns.text('model').notNull(),
    status: columns.text('status').$type<RelayStatus>().notNull(),
    quota: columns.big('quota').notNull(),
    billing: columns.json<BillingSnapshot>('billing').notNull(),
    requestId: columns.text('request_id').notNull(),
    httpStatus: columns.int('http_status').notNull().default(0),
    leaseOwner: columns.text('lease_owner').notNull(),
    leaseUntilMs: columns.big('lease_until').notNull(),
    createdAt: columns.big('created_at').notNull(),
    finishedAt: columns.big('finished_at').notNull().default(0),
    credentialId: columns.big('credential_id'),
    hiddenAt: columns.big('hidden_at').notNull().default(0),
  }),

  relayObjects: columns.table('relay_objects', {
    id: columns.id(),
    /** The vendor's id; for a long one its digest, so that it fits into an index. */
    objectId: columns.text('object_id').notNull(),
    /** The id behind a digest. */
    fullId: columns.text('full_id').notNull().default(''),
    kind: columns.text('kind').$type<RelayObjectKind | RelayPartKind>().notNull(),
    vendor: columns.text('vendor').notNull(),
    userId: columns.big('user_id').notNull(),
    channelId: columns.big('channel_id').notNull(),
    relayId: columns.varchar('relay_id', 64).notNull(),
    createdAt: columns.big('created_at').notNull(),
    credentialId: columns.big('credential_id'),
    video: columns.json<RequestedVideo>('video'),
  }),
});

/**
 * Batches of requests, and the files that clients upload for them. Times are Unix seconds where the
 * property's name does not end in `Ms`.
 */
export const defineBatches = (columns: DialectColumns) => ({
  batches: columns.table('batches', {
    id: columns.id(),
    batchId: columns.text('batch_id').notNull(),
    userId: columns.big('user_id').notNull(),
    apiKeyId: columns.big('api_key_id').notNull(),
    endpoint: columns.text('endpoint').notNull(),
    inputFileId: columns.text('input_file_id').notNull().default(''),
    allOrNone: columns.bool('all_or_none').notNull(),
    metadata: columns.json<Record<string, string>>('metadata').notNull(),
    callbackUrl: columns.text('callback_url'),
    requestId: columns.text('request_id').notNull(),
    status: columns.text('status').$type<BatchStatus>().notNull(),
    error: columns.json<StoredFailure>('error'),
    total: columns.int('total').notNull(),
    createdAt: columns.big('created_at').notNull(),
    expiresAt: columns.big('expires_at').notNull(),
    startedAt: columns.big('started_at').notNull().default(0),
    cancellingAt: columns.big('cancelling_at').notNull().default(0),
    endedAt: columns.big('ended_at').notNull().default(0),
    dueAtMs: columns.big('due_at').notNull(),
  }),

  batchItems: columns.table('batch_items', {
    batchId: columns.text('batch_id').notNull(),
    position: columns.int('position').notNull(),
    customId: columns.text('custom_id').notNull(),
    path: columns.text('path').notNull(),
    body: columns.json<Json>('body'),
    status: columns.text('status').$type<BatchItemStatus>().notNull().default('pending'),
    begunAt: columns.big('begun_at').notNull().default(0),
    taskId: columns.text('task_id'),
    error: columns.json<StoredFailure>('error'),
  }),

  batchFiles: columns.table('batch_files', {
    id: columns.id(),
    fileId: columns.text('file_id').notNull(),
    userId: columns.big('user_id').notNull(),
    filename: columns.text('filename').notNull(),
    bytes: columns.big('bytes').notNull(),
    content: columns.text('content').notNull(),
    createdAt: columns.big('created_at').notNull(),
    expiresAt: columns.big('expires_at').notNull(),
  }),
});

/**
 * Tasks that wait to be sent, and what is known of accounts' limits. Times are Unix seconds where
 * the property's name does not end in `Ms`.
 */
export const defineWaiting = (columns: DialectColumns) => ({
  waiting: columns.table('waiting', {
    taskId: columns.text('task_id').primaryKey(),
    class: columns.text('class').notNull(),
    priority: columns.int('priority').notNull(),
    turn: columns.big('turn').notNull(),
    notBeforeMs: columns.big('not_before').notNull().default(0),
    userId: columns.big('user_id').notNull(),
    apiKeyId: columns.big('api_key_id'),
    node: columns.text('node').notNull().default(''),
    attached: columns.text('attached').notNull().default(''),
    sinceMs: columns.big('since').notNull(),
    deadlineMs: columns.big('deadline').notNull(),
    dueAtMs: columns.big('due_at').notNull(),
    raised: columns.int('raised').notNull().default(0),
    returns: columns.int('returns').notNull().default(0),
    bytes: columns.big('bytes').notNull().default(0),
    parked: columns.text('parked').$type<ParkedBy>().notNull().default(''),
    fallsBack: columns.bool('falls_back').notNull().default(false),
    request: columns.json<JsonObject>('request').notNull(),
  }),

  waitingClasses: columns.table('waiting_classes', {
    class: columns.text('class').notNull(),
    priority: columns.int('priority').notNull(),
    plugin: columns.text('plugin').notNull(),
    model: columns.text('model').notNull(),
    group: columns.text('group').notNull(),
    channelId: columns.big('channel_id').notNull().default(0),
    credentialId: columns.big('credential_id').notNull().default(0),
    waiting: columns.int('waiting').notNull().default(0),
    parked: columns.int('parked').notNull().default(0),
    bytes: columns.big('bytes').notNull().default(0),
    turn: columns.big('turn').notNull().default(0),
  }),

  waitingTurns: columns.table('waiting_turns', {
    class: columns.text('class').notNull(),
    priority: columns.int('priority').notNull(),
    userId: columns.big('user_id').notNull(),
    turn: columns.big('turn').notNull(),
  }),

  capacity: columns.table('capacity', {
    pool: columns.text('pool').notNull(),
    model: columns.text('model').notNull(),
    ceiling: columns.int('ceiling').notNull().default(0),
    ceilingReason: columns.text('ceiling_reason').notNull().default(''),
    restingUntilMs: columns.big('resting_until').notNull().default(0),
    restReason: columns.text('rest_reason').notNull().default(''),
    restStep: columns.int('rest_step').notNull().default(0),
    restGeneration: columns.int('rest_generation').notNull().default(0),
    trialTaskId: columns.text('trial_task_id'),
    changedAt: columns.big('changed_at').notNull(),
  }),

  restEvents: columns.table('rest_events', {
    id: columns.id(),
    channelId: columns.big('channel_id').notNull(),
    credentialId: columns.big('credential_id').notNull(),
    model: columns.text('model').notNull(),
    reason: columns.text('reason').notNull(),
    what: columns.text('what').$type<RestEvent['what']>().notNull(),
    until: columns.big('until').notNull(),
    at: columns.big('at').notNull(),
  }),
});
