import { and, asc, eq } from 'drizzle-orm';
import type { PriceStore } from '../../ports/index.ts';
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
