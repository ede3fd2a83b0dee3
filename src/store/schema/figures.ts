import type { StoredSentence } from '../../kernel/index.ts';
import type { Kit } from './kits.ts';

/** Sums of usage, and samples of the gateway's state. Starts are Unix seconds. */
export const defineFigures = (kit: Kit) => ({
  usageQuarters: kit.table('usage_quarters', usageColumns(kit)),
  usageDates: kit.table('usage_dates', usageColumns(kit)),

  usageSumsProgress: kit.table('usage_sums_progress', {
    id: kit.int('id').primaryKey(),
    until: kit.big('until').notNull(),
    quartersFrom: kit.big('quarters_from').notNull(),
  }),

  channelHours: kit.table('channel_hours', {
    channelId: kit.big('channel_id').notNull(),
    start: kit.big('start').notNull(),
    kind: kit.text('kind').$type<'settle' | 'refund'>().notNull(),
    duration: kit.int('duration').notNull(),
    tasks: kit.big('tasks').notNull(),
  }),

  channelTests: kit.table('channel_tests', {
    channelId: kit.big('channel_id').primaryKey(),
    testedAt: kit.big('tested_at').notNull(),
    failedStep: kit.text('failed_step').notNull(),
    message: kit.text('message').notNull(),
    messageSentence: kit.json<StoredSentence>('message_sentence'),
  }),

  nodeSamples: kit.table('node_samples', {
    nodeId: kit.text('node_id').notNull(),
    start: kit.big('start').notNull(),
    polls: kit.big('polls').notNull(),
    lagMs: kit.big('lag_ms').notNull(),
  }),

  gatewaySamples: kit.table('gateway_samples', {
    start: kit.big('start').primaryKey(),
    unfinished: kit.big('unfinished').notNull(),
    due: kit.big('due').notNull(),
    latenessMs: kit.big('lateness_ms').notNull(),
    databaseBytes: kit.big('database_bytes').notNull(),
  }),
});

const usageColumns = (kit: Kit) => ({
  start: kit.big('start').notNull(),
  userId: kit.big('user_id').notNull(),
  walletId: kit.big('wallet_id').notNull(),
  apiKeyId: kit.big('api_key_id').notNull(),
  channelId: kit.big('channel_id').notNull(),
  pluginKey: kit.text('plugin_key').notNull(),
  model: kit.text('model').notNull(),
  succeeded: kit.big('succeeded').notNull(),
  failed: kit.big('failed').notNull(),
  spend: kit.big('spend').notNull(),
});
