import { and, asc, desc, eq, ne } from 'drizzle-orm';
import type { PluginStore } from '../../ports/index.ts';
import { atomic, type Context, isEmpty } from '../context.ts';

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
