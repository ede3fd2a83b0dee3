import type { FailureVerdict, PluginStage } from '../ports/index.ts';
import type { Kit } from './kits.ts';

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
