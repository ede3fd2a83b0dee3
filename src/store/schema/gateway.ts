import type { JsonObject, StoredSentence } from '../../kernel/index.ts';
import type {
  AuditChainName,
  BackupStatus,
  BackupTrigger,
  DeclaredLimits,
  EnabledStatus,
  FailureVerdict,
  ImportedKind,
  PluginStage,
} from '../ports/index.ts';
import type { DialectColumns } from './dialect-columns.ts';

/**
 * Channels, plugins, prices, settings, nodes and the written record of what people did. Times are
 * Unix seconds.
 */
export const defineGateway = (columns: DialectColumns) => ({
  channels: columns.table('channels', {
    id: columns.id(),
    name: columns.text('name').notNull(),
    type: columns.int('type').notNull(),
    baseUrl: columns.text('base_url').notNull(),
    models: columns.json<string[]>('models').notNull(),
    groups: columns.json<string[]>('groups').notNull(),
    priority: columns.int('priority').notNull(),
    weight: columns.int('weight').notNull(),
    modelMapping: columns.json<Record<string, string>>('model_mapping').notNull(),
    taskPluginKey: columns.text('task_plugin_key'),
    settings: columns.json<JsonObject>('settings').notNull(),
    status: columns.int('status').$type<EnabledStatus>().notNull(),
    usedQuota: columns.big('used_quota').notNull().default(0),
    createdAt: columns.big('created_at').notNull(),
    updatedAt: columns.big('updated_at').notNull(),
    limits: columns.json<DeclaredLimits>('limits'),
    proxySealed: columns.text('proxy_sealed'),
    headersSealed: columns.text('headers_sealed'),
    bodyDefaults: columns.json<JsonObject>('body_defaults'),
    pool: columns.text('pool').notNull().default(''),
    spill: columns.bool('spill').notNull().default(true),
  }),

  credentials: columns.table('credentials', {
    id: columns.id(),
    channelId: columns.big('channel_id').notNull(),
    keySealed: columns.text('key_sealed').notNull(),
    keyHint: columns.text('key_hint').notNull(),
    label: columns.text('label').notNull().default(''),
    pool: columns.text('pool').notNull().default(''),
    status: columns.int('status').$type<EnabledStatus>().notNull().default(1),
    expiresAt: columns.big('expires_at').notNull().default(0),
    lastError: columns.text('last_error').notNull().default(''),
    lastErrorSentence: columns.json<StoredSentence>('last_error_sentence'),
    lastErrorAt: columns.big('last_error_at').notNull().default(0),
    usedQuota: columns.big('used_quota').notNull().default(0),
    balanceMicros: columns.big('balance_micros'),
    balanceAt: columns.big('balance_at').notNull().default(0),
    balanceFault: columns.json<StoredSentence & { message: string }>('balance_fault'),
    reportedLimits: columns.json<DeclaredLimits>('told_limits'),
    reportedLimitsFault: columns.json<StoredSentence & { message: string }>('told_limits_fault'),
    createdAt: columns.big('created_at').notNull(),
    updatedAt: columns.big('updated_at').notNull(),
    removedAt: columns.big('removed_at').notNull().default(0),
  }),

  taskPlugins: columns.table('task_plugins', {
    id: columns.id(),
    key: columns.text('key').notNull(),
    version: columns.text('version').notNull(),
    apiVersion: columns.int('api_version').notNull(),
    source: columns.text('source').notNull(),
    sourceHash: columns.varchar('source_hash', 64).notNull(),
    icon: columns.text('icon'),
    active: columns.bool('active').notNull(),
    enabled: columns.bool('enabled').notNull(),
    remark: columns.text('remark').notNull().default(''),
    narrowedModels: columns.json<string[]>('narrowed_models'),
    changelog: columns.json<Record<string, { name: string; items: string[] }[]>>('changelog'),
    createdAt: columns.big('created_at').notNull(),
  }),

  prices: columns.table('prices', {
    pluginKey: columns.text('plugin_key').notNull(),
    model: columns.text('model').notNull(),
    expression: columns.text('expression').notNull(),
    updatedAt: columns.big('updated_at').notNull(),
  }),

  options: columns.table('options', {
    key: columns.text('key').primaryKey(),
    value: columns.text('value').notNull(),
  }),

  nodes: columns.table('nodes', {
    id: columns.text('id').primaryKey(),
    role: columns.text('role').notNull(),
    version: columns.text('version').notNull(),
    startedAt: columns.big('started_at').notNull(),
    heartbeatAt: columns.big('heartbeat_at').notNull(),
    fingerprints: columns.json<string[]>('fingerprints').notNull(),
    features: columns.json<string[]>('features').notNull().default([]),
    host: columns.text('host').notNull().default(''),
    drained: columns.bool('drained').notNull().default(false),
  }),

  usageLogs: columns.table('usage_logs', {
    id: columns.id(),
    userId: columns.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: columns.big('wallet_id'),
    apiKeyId: columns.big('api_key_id'),
    taskId: columns.text('task_id').notNull(),
    channelId: columns.big('channel_id').notNull(),
    pluginKey: columns.text('plugin_key').notNull(),
    model: columns.text('model').notNull(),
    kind: columns.text('kind').$type<'settle' | 'refund'>().notNull(),
    quota: columns.big('quota').notNull(),
    detail: columns.json<JsonObject>('detail').notNull(),
    /** What the reason in `detail` says. */
    reasonSentence: columns.json<StoredSentence>('reason_sentence'),
    createdAt: columns.big('created_at').notNull(),
    seconds: columns.big('seconds').notNull().default(-1),
  }),

  usageDays: columns.table('usage_days', {
    userId: columns.big('user_id').notNull(),
    day: columns.big('day').notNull(),
    pluginKey: columns.text('plugin_key').notNull(),
    model: columns.text('model').notNull(),
    kind: columns.text('kind').$type<'settle' | 'refund'>().notNull(),
    duration: columns.int('duration').notNull(),
    walletId: columns.big('wallet_id').notNull(),
    tasks: columns.big('tasks').notNull(),
    quota: columns.big('quota').notNull(),
  }),

  usageProgress: columns.table('usage_progress', {
    id: columns.int('id').primaryKey(),
    until: columns.big('until').notNull(),
  }),

  retentionProgress: columns.table('retention_progress', {
    name: columns.text('name').primaryKey(),
    position: columns.big('position').notNull().default(0),
    skipped: columns.big('skipped').notNull().default(0),
    at: columns.big('at').notNull().default(0),
  }),

  auditLogs: columns.table('audit_logs', {
    id: columns.id(),
    userId: columns.big('user_id'),
    username: columns.text('username').notNull(),
    authMethod: columns.text('auth_method').notNull(),
    ip: columns.text('ip').notNull(),
    action: columns.text('action').notNull(),
    target: columns.text('target').notNull(),
    detail: columns.json<JsonObject>('detail').notNull(),
    createdAt: columns.big('created_at').notNull(),
    chain: columns.text('chain').$type<AuditChainName | ''>().notNull(),
    prevHash: columns.text('prev_hash').notNull(),
    hash: columns.text('hash').notNull(),
    redactedBy: columns.big('redacted_by').notNull().default(0),
  }),

  auditChains: columns.table('audit_chains', {
    name: columns.text('name').$type<AuditChainName>().primaryKey(),
    headId: columns.big('head_id').notNull(),
    headHash: columns.text('head_hash').notNull(),
    removedId: columns.big('removed_id').notNull(),
    removedHash: columns.text('removed_hash').notNull(),
  }),
});

/** Sources that began tasks, how their calls ended, and activations. Times are Unix seconds. */
export const definePluginHistory = (columns: DialectColumns) => ({
  pluginSources: columns.table('plugin_sources', {
    sourceHash: columns.varchar('source_hash', 64).primaryKey(),
    key: columns.text('key').notNull(),
    version: columns.text('version').notNull(),
    source: columns.text('source').notNull(),
    createdAt: columns.big('created_at').notNull(),
    usedAt: columns.big('used_at').notNull(),
    adoptedBy: columns.varchar('adopted_by', 64),
    adoptedAt: columns.big('adopted_at').notNull().default(0),
  }),

  deletedPluginVersions: columns.table('deleted_plugin_versions', {
    key: columns.text('key').notNull(),
    version: columns.text('version').notNull(),
    sourceHash: columns.varchar('source_hash', 64).notNull(),
    deletedAt: columns.big('deleted_at').notNull(),
  }),

  pluginOutcomes: columns.table('plugin_outcomes', {
    sourceHash: columns.varchar('source_hash', 64).notNull(),
    stage: columns.text('stage').$type<PluginStage>().notNull(),
    minute: columns.big('minute').notNull(),
    cases: columns.big('cases').notNull(),
    failures: columns.big('failures').notNull(),
  }),

  pluginActivations: columns.table('plugin_activations', {
    key: columns.text('key').notNull(),
    sourceHash: columns.varchar('source_hash', 64).notNull(),
    version: columns.text('version').notNull(),
    activatedAt: columns.big('activated_at').notNull(),
    formerHash: columns.varchar('former_hash', 64).notNull(),
    formerVersion: columns.text('former_version').notNull(),
    formerLayer: columns.text('former_layer').notNull(),
    verdict: columns.json<FailureVerdict>('verdict'),
    rolledBackAt: columns.big('rolled_back_at').notNull().default(0),
  }),
});

/** Runs of backups. Times are Unix seconds where the property's name does not end in `Ms`. */
export const defineBackups = (columns: DialectColumns) => ({
  backupRuns: columns.table('backup_runs', {
    id: columns.text('id').primaryKey(),
    trigger: columns.text('trigger_kind').$type<BackupTrigger>().notNull(),
    status: columns.text('status').$type<BackupStatus>().notNull(),
    backup: columns.text('backup').notNull().default(''),
    place: columns.text('place').notNull(),
    owner: columns.text('owner').notNull(),
    leaseUntilMs: columns.big('lease_until').notNull(),
    startedAt: columns.big('started_at').notNull(),
    endedAt: columns.big('ended_at').notNull().default(0),
    bytes: columns.big('bytes').notNull().default(0),
    message: columns.text('message').notNull().default(''),
    messageSentence: columns.json<StoredSentence>('message_sentence'),
  }),
});

/** What was imported from other gateways. Times are Unix seconds. */
export const defineImports = (columns: DialectColumns) => ({
  importedRows: columns.table('imported_rows', {
    source: columns.varchar('source', 64).notNull(),
    kind: columns.varchar('kind', 16).$type<ImportedKind>().notNull(),
    sourceId: columns.varchar('source_id', 64).notNull(),
    targetId: columns.big('target_id').notNull(),
    createdAt: columns.big('created_at').notNull(),
  }),
});
