import { and, asc, desc, eq, gte, isNotNull, lt, ne, sql } from 'drizzle-orm';
import type { ActivationName, PluginOutcomeStore, PluginSourceStore, PluginStore } from '../../ports/index.ts';
import { atomic, type Context, isEmpty } from '../context.ts';
import { IS_OPEN } from '../tasks/claim-tasks.ts';

export function createPluginStore({ db, tables, lockName }: Context): PluginStore {
  const { taskPlugins: plugins, deletedPluginVersions: former } = tables;
  const isVersion = (key: string, version: string) => and(eq(plugins.key, key), eq(plugins.version, version));
  const isActive = (key: string) => and(eq(plugins.key, key), eq(plugins.active, true));
  // Changes of which version of a key serves happen one at a time.
  const lockKey = (key: string) => lockName(`plugin ${key}`);

  return {
    insert: atomic(async (plugin, { waits } = { waits: false }) => {
      await lockKey(plugin.key);
      // If no version is active, an administrator took the key out of service: another version does
      // not change that.
      const stored = await db.select({ id: plugins.id }).from(plugins).where(eq(plugins.key, plugin.key)).limit(1);
      const [row] = await db
        .insert(plugins)
        .values({ ...plugin, active: stored.length === 0 && !waits })
        .onConflictDoNothing({ target: [plugins.key, plugins.version] })
        .returning();
      return row;
    }),

    async byVersion(key, version) {
      const [row] = await db.select().from(plugins).where(isVersion(key, version));
      return row;
    },

    versions: async (key) => db.select().from(plugins).where(eq(plugins.key, key)).orderBy(desc(plugins.id)),

    active: async () => db.select().from(plugins).where(eq(plugins.active, true)).orderBy(asc(plugins.key)),

    activate: atomic(async (key, version) => {
      await lockKey(key);
      const [target] = await db.select({ id: plugins.id }).from(plugins).where(isVersion(key, version));
      if (!target) return false;
      await db
        .update(plugins)
        .set({ active: false })
        .where(and(isActive(key), ne(plugins.id, target.id)));
      await db.update(plugins).set({ active: true, enabled: true }).where(eq(plugins.id, target.id));
      return true;
    }),

    deactivate: atomic(async (key) => {
      await lockKey(key);
      const changed = await db
        .update(plugins)
        .set({ active: false })
        .where(isActive(key))
        .returning({ id: plugins.id });
      return changed.length > 0;
    }),

    async update(id, change) {
      const found = isEmpty(change)
        ? await db.select({ id: plugins.id }).from(plugins).where(eq(plugins.id, id))
        : await db.update(plugins).set(change).where(eq(plugins.id, id)).returning({ id: plugins.id });
      return found.length === 1;
    },

    async setEnabled(key, enabled) {
      const changed = await db
        .update(plugins)
        .set({ enabled })
        .where(eq(plugins.key, key))
        .returning({ id: plugins.id });
      return changed.length > 0;
    },

    delete: atomic(async (key, version, at) => {
      await lockKey(key);
      const [deleted] = await db
        .delete(plugins)
        .where(isVersion(key, version))
        .returning({ active: plugins.active, enabled: plugins.enabled, sourceHash: plugins.sourceHash });
      if (!deleted) return false;
      const { sourceHash } = deleted;
      await db.insert(former).values({ key, version, sourceHash, deletedAt: at }).onConflictDoNothing();
      if (deleted.active) {
        const [newest] = await db
          .select({ id: plugins.id })
          .from(plugins)
          .where(eq(plugins.key, key))
          .orderBy(desc(plugins.id))
          .limit(1);
        if (newest) {
          const { enabled } = deleted;
          await db.update(plugins).set({ active: true, enabled }).where(eq(plugins.id, newest.id));
        }
      }
      return true;
    }),

    async deletedSource(key, version) {
      const [row] = await db
        .select({ sourceHash: former.sourceHash })
        .from(former)
        .where(and(eq(former.key, key), eq(former.version, version)));
      return row?.sourceHash;
    },
  };
}

export function createPluginSourceStore({ db, tables }: Context): PluginSourceStore {
  const { pluginSources: sources, tasks } = tables;
  return {
    async keep({ at, ...source }) {
      await db
        .insert(sources)
        .values({ ...source, createdAt: at, usedAt: at })
        .onConflictDoUpdate({ target: sources.sourceHash, set: { usedAt: at } });
    },

    async read(sourceHash) {
      const { key, version, source } = sources;
      const [row] = await db
        .select({ sourceHash: sources.sourceHash, key, version, source })
        .from(sources)
        .where(eq(sources.sourceHash, sourceHash));
      return row;
    },

    async adoptions() {
      const { sourceHash, adoptedBy, adoptedAt } = sources;
      const rows = await db
        .select({ sourceHash, adoptedBy, adoptedAt })
        .from(sources)
        .where(isNotNull(adoptedBy))
        .orderBy(asc(sourceHash));
      return rows.map((row) => ({ ...row, adoptedBy: row.adoptedBy ?? '' }));
    },

    adopt: atomic(async ({ key, by, at }) => {
      await db
        .update(sources)
        .set({ adoptedBy: by, adoptedAt: at })
        .where(and(eq(sources.key, key), ne(sources.sourceHash, by)));
      await db.update(sources).set({ adoptedBy: null, adoptedAt: 0 }).where(eq(sources.sourceHash, by));
    }),

    async countUnfinished() {
      const isAdopted = sql`${sources.adoptedBy} is not null and ${tasks.createdAt} <= ${sources.adoptedAt}`;
      const reader = sql<string>`case when ${isAdopted} then ${sources.adoptedBy} else ${tasks.sourceHash} end`;
      const rows = await db
        .select({ reader, count: sql<number>`count(*)` })
        .from(tasks)
        .leftJoin(sources, eq(sources.sourceHash, tasks.sourceHash))
        .where(sql`${IS_OPEN} and ${tasks.sourceHash} <> ''`)
        .groupBy(sql`1`);
      return new Map(rows.map((row) => [row.reader, Number(row.count)]));
    },

    async deleteUnused(usedUntil, limit) {
      const isNeeded = sql`exists (select 1 from ${tasks} where ${tasks.sourceHash} = unused.source_hash
        and ${IS_OPEN})`;
      const hasAdopted = sql`exists (select 1 from ${sources} as others where others.adopted_by = unused.source_hash)`;
      const unused = sql`select unused.source_hash from ${sources} as unused where unused.used_at <= ${usedUntil}
        and not ${isNeeded} and not ${hasAdopted} limit ${limit}`;
      const deleted = await db
        .delete(sources)
        .where(and(sql`${sources.sourceHash} in (${unused})`, sql`${sources.usedAt} <= ${usedUntil}`))
        .returning({ sourceHash: sources.sourceHash });
      return deleted.length;
    },
  };
}

export function createPluginOutcomeStore({ db, tables }: Context): PluginOutcomeStore {
  const { pluginOutcomes: outcomes, pluginActivations: activations } = tables;
  const isActivation = ({ key, sourceHash, activatedAt }: ActivationName) =>
    and(eq(activations.key, key), eq(activations.sourceHash, sourceHash), eq(activations.activatedAt, activatedAt));
  return {
    add: atomic(async (counts) => {
      for (const count of counts) {
        await db
          .insert(outcomes)
          .values(count)
          .onConflictDoUpdate({
            target: [outcomes.sourceHash, outcomes.stage, outcomes.minute],
            set: {
              cases: sql`${outcomes.cases} + ${count.cases}`,
              failures: sql`${outcomes.failures} + ${count.failures}`,
            },
          });
      }
    }),

    latest: async (sourceHash, limit) =>
      db
        .select()
        .from(outcomes)
        .where(eq(outcomes.sourceHash, sourceHash))
        .orderBy(desc(outcomes.minute), asc(outcomes.stage))
        .limit(limit),

    async deleteBefore(minute, limit) {
      const old = db
        .select({ minute: outcomes.minute })
        .from(outcomes)
        .where(lt(outcomes.minute, minute))
        .orderBy(asc(outcomes.minute))
        .limit(limit);
      const deleted = await db
        .delete(outcomes)
        .where(sql`${outcomes.minute} in (${old})`)
        .returning({ minute: outcomes.minute });
      return deleted.length;
    },

    async addActivation(activation) {
      const { key: _, sourceHash: __, ...set } = activation;
      await db
        .insert(activations)
        .values(activation)
        .onConflictDoUpdate({
          target: [activations.key, activations.sourceHash],
          set: { ...set, verdict: null },
        });
    },

    activations: async (since) =>
      db
        .select()
        .from(activations)
        .where(gte(activations.activatedAt, since))
        .orderBy(desc(activations.activatedAt), asc(activations.key)),

    async setVerdict(activation, verdict) {
      await db.update(activations).set({ verdict }).where(isActivation(activation));
    },

    async takeRollback(activation, at) {
      const taken = await db
        .update(activations)
        .set({ rolledBackAt: at })
        .where(and(isActivation(activation), eq(activations.rolledBackAt, 0)))
        .returning({ key: activations.key });
      return taken.length === 1;
    },
  };
}
