import type { Json, JsonObject, StoredSentence } from '../../kernel/index.ts';
import type {
  AskedVideo,
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
import type { Kit } from './kits.ts';

/**
 * Tasks, their timeline, money and outgoing notices. Times are Unix seconds where the property's
 * name does not end in `Ms`.
 */
export const defineTasks = (kit: Kit) => ({
  tasks: kit.table('tasks', {
    id: kit.id(),
    taskId: kit.text('task_id').notNull(),
    platform: kit.text('platform').notNull(),
    userId: kit.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: kit.big('wallet_id'),
    apiKeyId: kit.big('api_key_id'),
    group: kit.text('group').notNull(),
    channelId: kit.big('channel_id').notNull(),
    action: kit.text('action').notNull(),
    status: kit.text('status').$type<TaskStatus>().notNull(),
    progress: kit.text('progress').notNull(),
    failReason: kit.text('fail_reason').notNull().default(''),
    failReasonSentence: kit.json<StoredSentence>('fail_reason_sentence'),
    submitTime: kit.big('submit_time').notNull().default(0),
    startTime: kit.big('start_time').notNull().default(0),
    finishTime: kit.big('finish_time').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
    updatedAt: kit.big('updated_at').notNull(),
    quota: kit.big('quota').notNull(),
    properties: kit.json<TaskProperties>('properties').notNull(),
    data: kit.json<Json>('data'),
    state: kit.json<Json>('state'),
    upstreamTaskId: kit.text('upstream_task_id').notNull().default(''),
    pollFailures: kit.int('poll_failures').notNull().default(0),
    polls: kit.int('polls').notNull().default(0),
    nextPollAtMs: kit.big('next_poll_at').notNull().default(0),
    leaseOwner: kit.text('lease_owner'),
    leaseUntilMs: kit.big('lease_until').notNull().default(0),
    leaseSeq: kit.big('lease_seq').notNull().default(0),
    execution: kit.json<TaskExecution>('execution').notNull(),
    billing: kit.json<BillingSnapshot>('billing').notNull(),
    callbackUrl: kit.text('callback_url'),
    hiddenAt: kit.big('hidden_at').notNull().default(0),
    sourceHash: kit.varchar('source_hash', 64).notNull().default(''),
    linkVersions: kit.text('link_versions').notNull().default(''),
    phase: kit.text('phase').$type<TaskPhase>().notNull().default('sending'),
    upstreamModel: kit.text('upstream_model').notNull().default(''),
    slots: kit.int('slots').notNull().default(1),
    waitingSince: kit.big('waiting_since').notNull().default(0),
    dispatchedAtMs: kit.big('dispatched_at').notNull().default(0),
    slotUntil: kit.big('slot_until').notNull().default(0),
    cancelRequested: kit.bool('cancel_requested').notNull().default(false),
    credentialId: kit.big('credential_id'),
  }),

  unstoredTasks: kit.table('unstored_tasks', {
    taskId: kit.text('task_id').primaryKey(),
  }),

  responseStreams: kit.table('response_streams', {
    taskId: kit.text('task_id').primaryKey(),
    outputsAfter: kit.int('outputs_after').notNull(),
  }),

  /** Kept by triggers of the database; never written from here. */
  taskList: kit.table('task_list', {
    /** That of the task. */
    id: kit.big('id').primaryKey(),
    userId: kit.big('user_id').notNull(),
    apiKeyId: kit.big('api_key_id'),
    channelId: kit.big('channel_id').notNull(),
    platform: kit.text('platform').notNull(),
    model: kit.text('model').notNull(),
    status: kit.text('status').$type<TaskStatus>().notNull(),
    /** Its first 200 characters. */
    failReason: kit.text('fail_reason').notNull(),
    quota: kit.big('quota').notNull(),
    createdAt: kit.big('created_at').notNull(),
    /** From the submission to the end; 0 before. */
    seconds: kit.big('seconds').notNull(),
    hiddenAt: kit.big('hidden_at').notNull(),
  }),

  taskEvents: kit.table('task_events', {
    id: kit.id(),
    taskId: kit.text('task_id').notNull(),
    at: kit.big('at').notNull(),
    kind: kit.text('kind').$type<TaskEventKind>().notNull(),
    status: kit.text('status').$type<TaskStatus>().notNull(),
    class: kit.text('class').notNull().default(''),
    httpStatus: kit.int('http_status').notNull().default(0),
    detail: kit.text('detail').notNull().default(''),
    detailSentence: kit.json<StoredSentence>('detail_sentence'),
  }),

  ledgerEntries: kit.table('ledger_entries', {
    id: kit.id(),
    walletId: kit.big('wallet_id').notNull(),
    apiKeyId: kit.big('api_key_id'),
    taskId: kit.text('task_id'),
    kind: kit.text('kind').$type<LedgerKind>().notNull(),
    attempt: kit.int('attempt').notNull().default(0),
    amount: kit.big('amount').notNull(),
    note: kit.text('note').notNull().default(''),
    noteSentence: kit.json<StoredSentence>('note_sentence'),
    /** The unique key of a grant or top-up; null for the lines of a task. */
    grantKey: kit.text('grant_key'),
    createdAt: kit.big('created_at').notNull(),
    reason: kit.text('reason').$type<LedgerReason>().notNull().default(''),
    /** The administrator who changed the balance. */
    actorId: kit.big('actor_id'),
    /** The task that an administrator's change is about; its own lines have \`taskId\`. */
    aboutTaskId: kit.text('about_task_id'),
    /** The digest of the change that was asked for, by which a repeated one is known. */
    request: kit.text('request').notNull().default(''),
    /** A JSON array of the ids of the sums that a reservation counts in; empty: in none. */
    budgets: kit.text('budgets').notNull().default(''),
  }),

  budgetSums: kit.table('budget_sums', {
    id: kit.text('id').primaryKey(),
    /** 0: the period has no end. */
    endsAt: kit.big('ends_at').notNull(),
    spent: kit.big('spent').notNull(),
  }),

  idempotencyKeys: kit.table('idempotency_keys', {
    userId: kit.big('user_id').notNull(),
    key: kit.text('key').notNull(),
    /**
     * `v2.` and the digest of what the request means; older rows have the digest of its raw bytes,
     * in hex.
     */
    requestHash: kit.varchar('request_hash', 64).notNull(),
    taskId: kit.text('task_id'),
    createdAt: kit.big('created_at').notNull(),
    expiresAt: kit.big('expires_at').notNull(),
  }),

  webhookOutbox: kit.table('webhook_outbox', {
    id: kit.id(),
    eventId: kit.varchar('event_id', 64).notNull(),
    taskId: kit.text('task_id').notNull(),
    userId: kit.big('user_id').notNull(),
    apiKeyId: kit.big('api_key_id').notNull(),
    event: kit.text('event').$type<WebhookEvent>().notNull(),
    url: kit.text('url').notNull(),
    host: kit.text('host').notNull(),
    payload: kit.json<JsonObject>('payload').notNull(),
    status: kit.text('status').$type<WebhookStatus>().notNull(),
    attempts: kit.int('attempts').notNull().default(0),
    retries: kit.int('retries').notNull().default(0),
    nextAttemptAtMs: kit.big('next_attempt_at').notNull(),
    giveUpAtMs: kit.big('give_up_at').notNull(),
    lastAttemptAtMs: kit.big('last_attempt_at').notNull().default(0),
    leaseOwner: kit.text('lease_owner'),
    leaseUntilMs: kit.big('lease_until').notNull().default(0),
    leaseSeq: kit.big('lease_seq').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
  }),

  webhookDeliveries: kit.table('webhook_deliveries', {
    id: kit.id(),
    outboxId: kit.big('outbox_id').notNull(),
    at: kit.big('at').notNull(),
    httpStatus: kit.int('http_status').notNull().default(0),
    durationMs: kit.int('duration_ms').notNull().default(0),
    error: kit.text('error').notNull().default(''),
  }),
});

/**
 * Results of tasks that the gateway keeps, and their files. Times are Unix seconds where the
 * property's name does not end in `Ms`.
 */
export const defineResults = (kit: Kit) => ({
  keptResults: kit.table('kept_results', {
    id: kit.id(),
    taskId: kit.text('task_id').notNull(),
    artifactKey: kit.text('artifact_key').notNull(),
    userId: kit.big('user_id').notNull(),
    state: kit.resultState('state').notNull(),
    kind: kit.text('kind').notNull().default(''),
    sha256: kit.varchar('sha256', 64),
    bytes: kit.big('bytes').notNull().default(0),
    mimeType: kit.text('mime_type').notNull().default(''),
    keptAt: kit.big('kept_at').notNull().default(0),
    keptUntil: kit.big('kept_until').notNull().default(0),
    reason: kit.text('reason').notNull().default(''),
    reasonSentence: kit.json<StoredSentence>('reason_sentence'),
    attempts: kit.int('attempts').notNull().default(0),
    nextAttemptAtMs: kit.big('next_attempt_at').notNull(),
    giveUpAtMs: kit.big('give_up_at').notNull(),
    leaseOwner: kit.text('lease_owner'),
    leaseUntilMs: kit.big('lease_until').notNull().default(0),
    leaseSeq: kit.big('lease_seq').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
    width: kit.int('width').notNull().default(0),
    height: kit.int('height').notNull().default(0),
  }),

  keptFiles: kit.table('kept_files', {
    sha256: kit.varchar('sha256', 64).notNull(),
    bytes: kit.big('bytes').notNull(),
    refs: kit.int('refs').notNull(),
    changedAt: kit.big('changed_at').notNull(),
  }),
});

/**
 * What type-1 channels pass on. Times are Unix seconds where the property's name does not end in
 * `Ms`.
 */
export const defineRelay = (kit: Kit) => ({
  relayRequests: kit.table('relay_requests', {
    id: kit.id(),
    relayId: kit.varchar('relay_id', 64).notNull(),
    kind: kit.text('kind').$type<RelayKind>().notNull(),
    userId: kit.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: kit.big('wallet_id'),
    apiKeyId: kit.big('api_key_id'),
    group: kit.text('group').notNull(),
    channelId: kit.big('channel_id').notNull(),
    model: kit.text('model').notNull(),
    status: kit.text('status').$type<RelayStatus>().notNull(),
    quota: kit.big('quota').notNull(),
    billing: kit.json<BillingSnapshot>('billing').notNull(),
    requestId: kit.text('request_id').notNull(),
    httpStatus: kit.int('http_status').notNull().default(0),
    leaseOwner: kit.text('lease_owner').notNull(),
    leaseUntilMs: kit.big('lease_until').notNull(),
    createdAt: kit.big('created_at').notNull(),
    finishedAt: kit.big('finished_at').notNull().default(0),
    credentialId: kit.big('credential_id'),
    hiddenAt: kit.big('hidden_at').notNull().default(0),
  }),

  relayObjects: kit.table('relay_objects', {
    id: kit.id(),
    /** The vendor's id; for a long one its digest, so that it fits into an index. */
    objectId: kit.text('object_id').notNull(),
    /** The id behind a digest. */
    fullId: kit.text('full_id').notNull().default(''),
    kind: kit.text('kind').$type<RelayObjectKind | RelayPartKind>().notNull(),
    vendor: kit.text('vendor').notNull(),
    userId: kit.big('user_id').notNull(),
    channelId: kit.big('channel_id').notNull(),
    relayId: kit.varchar('relay_id', 64).notNull(),
    createdAt: kit.big('created_at').notNull(),
    credentialId: kit.big('credential_id'),
    video: kit.json<AskedVideo>('video'),
  }),
});

/**
 * Batches of requests, and the files that clients upload for them. Times are Unix seconds where the
 * property's name does not end in `Ms`.
 */
export const defineBatches = (kit: Kit) => ({
  batches: kit.table('batches', {
    id: kit.id(),
    batchId: kit.text('batch_id').notNull(),
    userId: kit.big('user_id').notNull(),
    apiKeyId: kit.big('api_key_id').notNull(),
    endpoint: kit.text('endpoint').notNull(),
    inputFileId: kit.text('input_file_id').notNull().default(''),
    allOrNone: kit.bool('all_or_none').notNull(),
    metadata: kit.json<Record<string, string>>('metadata').notNull(),
    callbackUrl: kit.text('callback_url'),
    requestId: kit.text('request_id').notNull(),
    status: kit.text('status').$type<BatchStatus>().notNull(),
    error: kit.json<StoredFailure>('error'),
    total: kit.int('total').notNull(),
    createdAt: kit.big('created_at').notNull(),
    expiresAt: kit.big('expires_at').notNull(),
    startedAt: kit.big('started_at').notNull().default(0),
    cancellingAt: kit.big('cancelling_at').notNull().default(0),
    endedAt: kit.big('ended_at').notNull().default(0),
    dueAtMs: kit.big('due_at').notNull(),
  }),

  batchItems: kit.table('batch_items', {
    batchId: kit.text('batch_id').notNull(),
    position: kit.int('position').notNull(),
    customId: kit.text('custom_id').notNull(),
    path: kit.text('path').notNull(),
    body: kit.json<Json>('body'),
    status: kit.text('status').$type<BatchItemStatus>().notNull().default('pending'),
    begunAt: kit.big('begun_at').notNull().default(0),
    taskId: kit.text('task_id'),
    error: kit.json<StoredFailure>('error'),
  }),

  batchFiles: kit.table('batch_files', {
    id: kit.id(),
    fileId: kit.text('file_id').notNull(),
    userId: kit.big('user_id').notNull(),
    filename: kit.text('filename').notNull(),
    bytes: kit.big('bytes').notNull(),
    content: kit.text('content').notNull(),
    createdAt: kit.big('created_at').notNull(),
    expiresAt: kit.big('expires_at').notNull(),
  }),
});

/**
 * Tasks that wait to be sent, and what is known of accounts' limits. Times are Unix seconds where
 * the property's name does not end in `Ms`.
 */
export const defineWaiting = (kit: Kit) => ({
  waiting: kit.table('waiting', {
    taskId: kit.text('task_id').primaryKey(),
    class: kit.text('class').notNull(),
    priority: kit.int('priority').notNull(),
    turn: kit.big('turn').notNull(),
    notBeforeMs: kit.big('not_before').notNull().default(0),
    userId: kit.big('user_id').notNull(),
    apiKeyId: kit.big('api_key_id'),
    node: kit.text('node').notNull().default(''),
    attached: kit.text('attached').notNull().default(''),
    sinceMs: kit.big('since').notNull(),
    deadlineMs: kit.big('deadline').notNull(),
    dueAtMs: kit.big('due_at').notNull(),
    raised: kit.int('raised').notNull().default(0),
    returns: kit.int('returns').notNull().default(0),
    bytes: kit.big('bytes').notNull().default(0),
    parked: kit.text('parked').$type<ParkedBy>().notNull().default(''),
    fallsBack: kit.bool('falls_back').notNull().default(false),
    request: kit.json<JsonObject>('request').notNull(),
  }),

  waitingClasses: kit.table('waiting_classes', {
    class: kit.text('class').notNull(),
    priority: kit.int('priority').notNull(),
    plugin: kit.text('plugin').notNull(),
    model: kit.text('model').notNull(),
    group: kit.text('group').notNull(),
    channelId: kit.big('channel_id').notNull().default(0),
    credentialId: kit.big('credential_id').notNull().default(0),
    waiting: kit.int('waiting').notNull().default(0),
    parked: kit.int('parked').notNull().default(0),
    bytes: kit.big('bytes').notNull().default(0),
    turn: kit.big('turn').notNull().default(0),
  }),

  waitingTurns: kit.table('waiting_turns', {
    class: kit.text('class').notNull(),
    priority: kit.int('priority').notNull(),
    userId: kit.big('user_id').notNull(),
    turn: kit.big('turn').notNull(),
  }),

  capacity: kit.table('capacity', {
    pool: kit.text('pool').notNull(),
    model: kit.text('model').notNull(),
    ceiling: kit.int('ceiling').notNull().default(0),
    ceilingReason: kit.text('ceiling_reason').notNull().default(''),
    restingUntilMs: kit.big('resting_until').notNull().default(0),
    restReason: kit.text('rest_reason').notNull().default(''),
    restStep: kit.int('rest_step').notNull().default(0),
    restGeneration: kit.int('rest_generation').notNull().default(0),
    trialTaskId: kit.text('trial_task_id'),
    changedAt: kit.big('changed_at').notNull(),
  }),

  restEvents: kit.table('rest_events', {
    id: kit.id(),
    channelId: kit.big('channel_id').notNull(),
    credentialId: kit.big('credential_id').notNull(),
    model: kit.text('model').notNull(),
    reason: kit.text('reason').notNull(),
    what: kit.text('what').$type<RestEvent['what']>().notNull(),
    until: kit.big('until').notNull(),
    at: kit.big('at').notNull(),
  }),
});
