import { and, asc, eq, gte, sql } from 'drizzle-orm';
import type { NodeStore, OptionStore, PriceStore } from '../../ports/index.ts';
import type { Context } from '../context.ts';

export function createPriceStore({ db, tables: { prices } }: Context): PriceStore {
  return {
    all: async () => db.select().from(prices).orderBy(asc(prices.pluginKey), asc(prices.model)),

    async put(price) {
      const { expression, updatedAt } = price;
      await db
        .insert(prices)
        .values(price)
        .onConflictDoUpdate({ target: [prices.pluginKey, prices.model], set: { expression, updatedAt } });
    },

    async delete(pluginKey, model) {
      const deleted = await db
        .delete(prices)
        .where(and(eq(prices.pluginKey, pluginKey), eq(prices.model, model)))
        .returning({ model: prices.model });
      return deleted.length === 1;
    },
  };
}

export function createOptionStore({ db, tables: { options } }: Context): OptionStore {
  return {
    all: async () => db.select().from(options).orderBy(asc(options.key)),

    async get(key) {
      const [row] = await db.select({ value: options.value }).from(options).where(eq(options.key, key));
      return row?.value;
    },

    async put(key, value) {
      await db.insert(options).values({ key, value }).onConflictDoUpdate({ target: options.key, set: { value } });
    },

    async putIfAbsent(key, value) {
      const written = await db
        .insert(options)
        .values({ key, value })
        .onConflictDoNothing()
        .returning({ key: options.key });
      return written.length === 1;
    },

    async replace(key, before, value) {
      const written = await db
        .update(options)
        .set({ value })
        .where(and(eq(options.key, key), eq(options.value, before)))
        .returning({ key: options.key });
      return written.length === 1;
    },
  };
}

export function createNodeStore({ db, tables: { nodes } }: Context): NodeStore {
  return {
    async heartbeat(node, at) {
      const row = { ...node, heartbeatAt: at };
      await db.insert(nodes).values(row).onConflictDoUpdate({ target: nodes.id, set: row });
    },

    alive: async (since) =>
      db.select().from(nodes).where(gte(nodes.heartbeatAt, since)).orderBy(asc(nodes.startedAt), sql`${nodes.id}`),

    async remove(id) {
      await db.delete(nodes).where(eq(nodes.id, id));
    },
  };
}
