import type { StoredSentence } from '../../kernel/index.ts';
import type { DialectColumns } from './dialect-columns.ts';

/** Sums of usage, and samples of the gateway's state. Starts are Unix seconds. */
export const defineFigures = (columns: DialectColumns) => ({
  usageQuarters: columns.table('usage_quarters', usageColumns(columns)),
  usageDates: columns.table('usage_dates', usageColumns(columns)),

  usageSumsProgress: columns.table('usage_sums_progress', {
    id: columns.int('id').primaryKey(),
    until: columns.big('until').notNull(),
    quartersFrom: columns.big('quarters_from').notNull(),
  }),

  channelHours: columns.table('channel_hours', {
    channelId: columns.big('channel_id').notNull(),
    start: columns.big('start').notNull(),
    kind: columns.text('kind').$type<'settle' | 'refund'>().notNull(),
    duration: columns.int('duration').notNull(),
    tasks: columns.big('tasks').notNull(),
  }),

  channelTests: columns.table('channel_tests', {
    channelId: columns.big('channel_id').primaryKey(),
    testedAt: columns.big('tested_at').notNull(),
    failedStep: columns.text('failed_step').notNull(),
    message: columns.text('message').notNull(),
    messageSentence: columns.json<StoredSentence>('message_sentence'),
  }),

  nodeSamples: columns.table('node_samples', {
    nodeId: columns.text('node_id').notNull(),
    start: columns.big('start').notNull(),
    polls: columns.big('polls').notNull(),
    lagMs: columns.big('lag_ms').notNull(),
  }),

  gatewaySamples: columns.table('gateway_samples', {
    start: columns.big('start').primaryKey(),
    unfinished: columns.big('unfinished').notNull(),
    due: columns.big('due').notNull(),
    latenessMs: columns.big('lateness_ms').notNull(),
    databaseBytes: columns.big('database_bytes').notNull(),
  }),
});

const usageColumns = (columns: DialectColumns) => ({
  start: columns.big('start').notNull(),
  userId: columns.big('user_id').notNull(),
  walletId: columns.big('wallet_id').notNull(),
  apiKeyId: columns.big('api_key_id').notNull(),
  channelId: columns.big('channel_id').notNull(),
  pluginKey: columns.text('plugin_key').notNull(),
  model: columns.text('model').notNull(),
  succeeded: columns.big('succeeded').notNull(),
  failed: columns.big('failed').notNull(),
  spend: columns.big('spend').notNull(),
});
