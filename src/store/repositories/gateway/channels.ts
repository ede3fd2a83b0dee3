import { asc, eq, sql } from 'drizzle-orm';
import type { ChannelStore } from '../../ports/index.ts';
import { atomic, type Context, isEmpty, lazy } from '../context.ts';
import { createPages } from '../prepare-by-shape.ts';

export function createChannelStore(context: Context): ChannelStore {
  const { db, tables } = context;
  const { channels, credentials, restEvents } = tables;
  const find = lazy(() =>
    db
      .select()
      .from(channels)
      .where(eq(channels.id, sql.placeholder('id')))
      .prepare(),
  );
  const all = lazy(() => db.select().from(channels).orderBy(asc(channels.id)).prepare());
  const pages = createPages(context, () => ({
    from: channels,
    where: undefined,
    items: db.select().from(channels).orderBy(asc(channels.id)),
  }));
  const byId: ChannelStore['byId'] = async (id) => {
    const [row] = await find().execute({ id });
    return row;
  };
  return {
    byId,

    async insert(channel) {
      const [row] = await db.insert(channels).values(channel).returning();
      return row as NonNullable<typeof row>;
    },

    all: () => all().execute(),

    list: (page) => pages({}, page),

    async update(id, change) {
      if (isEmpty(change)) return byId(id);
      const [row] = await db.update(channels).set(change).where(eq(channels.id, id)).returning();
      return row;
    },

    delete: atomic(async (id) => {
      await db.delete(credentials).where(eq(credentials.channelId, id));
      await db.delete(restEvents).where(eq(restEvents.channelId, id));
      return (await db.delete(channels).where(eq(channels.id, id)).returning({ id: channels.id })).length === 1;
    }),

    async addUsedQuota(id, delta) {
      await db
        .update(channels)
        .set({ usedQuota: sql`${channels.usedQuota} + ${delta}` })
        .where(eq(channels.id, id));
    },
  };
}
