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
import type { Kit } from './kits.ts';

/**
 * Channels, plugins, prices, settings, nodes and the written record of what people did. Times are
 * Unix seconds.
 */
export const defineGateway = (kit: Kit) => ({
  channels: kit.table('channels', {
    id: kit.id(),
    name: kit.text('name').notNull(),
    type: kit.int('type').notNull(),
    baseUrl: kit.text('base_url').notNull(),
    models: kit.json<string[]>('models').notNull(),
    groups: kit.json<string[]>('groups').notNull(),
    priority: kit.int('priority').notNull(),
    weight: kit.int('weight').notNull(),
    modelMapping: kit.json<Record<string, string>>('model_mapping').notNull(),
    taskPluginKey: kit.text('task_plugin_key'),
    settings: kit.json<JsonObject>('settings').notNull(),
    status: kit.int('status').$type<EnabledStatus>().notNull(),
    usedQuota: kit.big('used_quota').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
    updatedAt: kit.big('updated_at').notNull(),
    limits: kit.json<DeclaredLimits>('limits'),
    proxySealed: kit.text('proxy_sealed'),
    headersSealed: kit.text('headers_sealed'),
    bodyDefaults: kit.json<JsonObject>('body_defaults'),
    pool: kit.text('pool').notNull().default(''),
    spill: kit.bool('spill').notNull().default(true),
  }),

  credentials: kit.table('credentials', {
    id: kit.id(),
    channelId: kit.big('channel_id').notNull(),
    keySealed: kit.text('key_sealed').notNull(),
    keyHint: kit.text('key_hint').notNull(),
    label: kit.text('label').notNull().default(''),
    pool: kit.text('pool').notNull().default(''),
    status: kit.int('status').$type<EnabledStatus>().notNull().default(1),
    expiresAt: kit.big('expires_at').notNull().default(0),
    lastError: kit.text('last_error').notNull().default(''),
    lastErrorSentence: kit.json<StoredSentence>('last_error_sentence'),
    lastErrorAt: kit.big('last_error_at').notNull().default(0),
    usedQuota: kit.big('used_quota').notNull().default(0),
    balanceMicros: kit.big('balance_micros'),
    balanceAt: kit.big('balance_at').notNull().default(0),
    balanceFault: kit.json<StoredSentence & { message: string }>('balance_fault'),
    toldLimits: kit.json<DeclaredLimits>('told_limits'),
    toldLimitsFault: kit.json<StoredSentence & { message: string }>('told_limits_fault'),
    createdAt: kit.big('created_at').notNull(),
    updatedAt: kit.big('updated_at').notNull(),
    removedAt: kit.big('removed_at').notNull().default(0),
  }),

  taskPlugins: kit.table('task_plugins', {
    id: kit.id(),
    key: kit.text('key').notNull(),
    version: kit.text('version').notNull(),
    apiVersion: kit.int('api_version').notNull(),
    source: kit.text('source').notNull(),
    sourceHash: kit.varchar('source_hash', 64).notNull(),
    icon: kit.text('icon'),
    active: kit.bool('active').notNull(),
    enabled: kit.bool('enabled').notNull(),
    remark: kit.text('remark').notNull().default(''),
    narrowedModels: kit.json<string[]>('narrowed_models'),
    changelog: kit.json<Record<string, { name: string; items: string[] }[]>>('changelog'),
    createdAt: kit.big('created_at').notNull(),
  }),

  prices: kit.table('prices', {
    pluginKey: kit.text('plugin_key').notNull(),
    model: kit.text('model').notNull(),
    expression: kit.text('expression').notNull(),
    updatedAt: kit.big('updated_at').notNull(),
  }),

  options: kit.table('options', {
    key: kit.text('key').primaryKey(),
    value: kit.text('value').notNull(),
  }),

  nodes: kit.table('nodes', {
    id: kit.text('id').primaryKey(),
    role: kit.text('role').notNull(),
    version: kit.text('version').notNull(),
    startedAt: kit.big('started_at').notNull(),
    heartbeatAt: kit.big('heartbeat_at').notNull(),
    fingerprints: kit.json<string[]>('fingerprints').notNull(),
    features: kit.json<string[]>('features').notNull().default([]),
    host: kit.text('host').notNull().default(''),
    drained: kit.bool('drained').notNull().default(false),
  }),

  usageLogs: kit.table('usage_logs', {
    id: kit.id(),
    userId: kit.big('user_id').notNull(),
    /** null: it is the user's id. */
    walletId: kit.big('wallet_id'),
    apiKeyId: kit.big('api_key_id'),
    taskId: kit.text('task_id').notNull(),
    channelId: kit.big('channel_id').notNull(),
    pluginKey: kit.text('plugin_key').notNull(),
    model: kit.text('model').notNull(),
    kind: kit.text('kind').$type<'settle' | 'refund'>().notNull(),
    quota: kit.big('quota').notNull(),
    detail: kit.json<JsonObject>('detail').notNull(),
    /** What the reason in `detail` says. */
    reasonSentence: kit.json<StoredSentence>('reason_sentence'),
    createdAt: kit.big('created_at').notNull(),
    seconds: kit.big('seconds').notNull().default(-1),
  }),

  usageDays: kit.table('usage_days', {
    userId: kit.big('user_id').notNull(),
    day: kit.big('day').notNull(),
    pluginKey: kit.text('plugin_key').notNull(),
    model: kit.text('model').notNull(),
    kind: kit.text('kind').$type<'settle' | 'refund'>().notNull(),
    duration: kit.int('duration').notNull(),
    walletId: kit.big('wallet_id').notNull(),
    tasks: kit.big('tasks').notNull(),
    quota: kit.big('quota').notNull(),
  }),

  usageProgress: kit.table('usage_progress', {
    id: kit.int('id').primaryKey(),
    until: kit.big('until').notNull(),
  }),

  retentionProgress: kit.table('retention_progress', {
    name: kit.text('name').primaryKey(),
    position: kit.big('position').notNull().default(0),
    skipped: kit.big('skipped').notNull().default(0),
    at: kit.big('at').notNull().default(0),
  }),

  auditLogs: kit.table('audit_logs', {
    id: kit.id(),
    userId: kit.big('user_id'),
    username: kit.text('username').notNull(),
    authMethod: kit.text('auth_method').notNull(),
    ip: kit.text('ip').notNull(),
    action: kit.text('action').notNull(),
    target: kit.text('target').notNull(),
    detail: kit.json<JsonObject>('detail').notNull(),
    createdAt: kit.big('created_at').notNull(),
    chain: kit.text('chain').$type<AuditChainName | ''>().notNull(),
    prevHash: kit.text('prev_hash').notNull(),
    hash: kit.text('hash').notNull(),
    redactedBy: kit.big('redacted_by').notNull().default(0),
  }),

  auditChains: kit.table('audit_chains', {
    name: kit.text('name').$type<AuditChainName>().primaryKey(),
    headId: kit.big('head_id').notNull(),
    headHash: kit.text('head_hash').notNull(),
    removedId: kit.big('removed_id').notNull(),
    removedHash: kit.text('removed_hash').notNull(),
  }),
});

/** Sources that began tasks, how their calls ended, and activations. Times are Unix seconds. */
export const definePluginHistory = (kit: Kit) => ({
  pluginSources: kit.table('plugin_sources', {
    sourceHash: kit.varchar('source_hash', 64).primaryKey(),
    key: kit.text('key').notNull(),
    version: kit.text('version').notNull(),
    source: kit.text('source').notNull(),
    createdAt: kit.big('created_at').notNull(),
    usedAt: kit.big('used_at').notNull(),
    adoptedBy: kit.varchar('adopted_by', 64),
    adoptedAt: kit.big('adopted_at').notNull().default(0),
  }),

  deletedPluginVersions: kit.table('deleted_plugin_versions', {
    key: kit.text('key').notNull(),
    version: kit.text('version').notNull(),
    sourceHash: kit.varchar('source_hash', 64).notNull(),
    deletedAt: kit.big('deleted_at').notNull(),
  }),

  pluginOutcomes: kit.table('plugin_outcomes', {
    sourceHash: kit.varchar('source_hash', 64).notNull(),
    stage: kit.text('stage').$type<PluginStage>().notNull(),
    minute: kit.big('minute').notNull(),
    cases: kit.big('cases').notNull(),
    failures: kit.big('failures').notNull(),
  }),

  pluginActivations: kit.table('plugin_activations', {
    key: kit.text('key').notNull(),
    sourceHash: kit.varchar('source_hash', 64).notNull(),
    version: kit.text('version').notNull(),
    activatedAt: kit.big('activated_at').notNull(),
    formerHash: kit.varchar('former_hash', 64).notNull(),
    formerVersion: kit.text('former_version').notNull(),
    formerLayer: kit.text('former_layer').notNull(),
    verdict: kit.json<FailureVerdict>('verdict'),
    rolledBackAt: kit.big('rolled_back_at').notNull().default(0),
  }),
});

/** Runs of backups. Times are Unix seconds where the property's name does not end in `Ms`. */
export const defineBackups = (kit: Kit) => ({
  backupRuns: kit.table('backup_runs', {
    id: kit.text('id').primaryKey(),
    trigger: kit.text('trigger_kind').$type<BackupTrigger>().notNull(),
    status: kit.text('status').$type<BackupStatus>().notNull(),
    backup: kit.text('backup').notNull().default(''),
    place: kit.text('place').notNull(),
    owner: kit.text('owner').notNull(),
    leaseUntilMs: kit.big('lease_until').notNull(),
    startedAt: kit.big('started_at').notNull(),
    endedAt: kit.big('ended_at').notNull().default(0),
    bytes: kit.big('bytes').notNull().default(0),
    message: kit.text('message').notNull().default(''),
    messageSentence: kit.json<StoredSentence>('message_sentence'),
  }),
});

/** What was imported from other gateways. Times are Unix seconds. */
export const defineImports = (kit: Kit) => ({
  importedRows: kit.table('imported_rows', {
    source: kit.varchar('source', 64).notNull(),
    kind: kit.varchar('kind', 16).$type<ImportedKind>().notNull(),
    sourceId: kit.varchar('source_id', 64).notNull(),
    targetId: kit.big('target_id').notNull(),
    createdAt: kit.big('created_at').notNull(),
  }),
});
