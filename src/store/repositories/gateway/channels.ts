import { and, asc, eq, lt, ne, sql } from 'drizzle-orm';
import { type Sentence, withoutMessage } from '../../../kernel/index.ts';
import type { ChannelStore, CredentialStore } from '../../ports/index.ts';
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

    delete: atomic(async (id, at) => {
      const pool = sql`coalesce(nullif(${credentials.pool}, ''),
        (select ${channels.pool} from ${channels} where ${channels.id} = ${id}), '')`;
      const removedAt = sql`coalesce(nullif(${credentials.removedAt}, 0), ${at})`;
      const isOfChannel = eq(credentials.channelId, id);
      await db
        .update(credentials)
        .set({ pool, removedAt, keySealed: '', keyHint: '', updatedAt: at })
        .where(isOfChannel);
      await db.delete(credentials).where(and(isOfChannel, eq(credentials.pool, '')));
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

export function createCredentialStore({ db, tables, lockRows, statement }: Context): CredentialStore {
  const { channels, credentials, relayObjects, tasks } = tables;
  const all = lazy(() => db.select().from(credentials).orderBy(asc(credentials.id)).prepare());
  const find = lazy(() =>
    db
      .select()
      .from(credentials)
      .where(eq(credentials.id, sql.placeholder('id')))
      .prepare(),
  );
  const findOfChannel = lazy(() =>
    db
      .select()
      .from(credentials)
      .where(eq(credentials.channelId, sql.placeholder('channelId')))
      .orderBy(asc(credentials.id))
      .prepare(),
  );
  const isInUse = eq(credentials.removedAt, 0);
  const isSame = (id: number, at: number) => and(eq(credentials.id, id), eq(credentials.balanceAt, at));
  const toFault = (failed: Sentence) => ({ ...withoutMessage(failed), message: failed.message });

  return {
    all: () => all().execute(),
    byId: async (id) => (await find().execute({ id }))[0],
    ofChannel: (channelId) => findOfChannel().execute({ channelId }),

    async insert(added) {
      if (added.length === 0) return [];
      const rows = await db
        .insert(credentials)
        .values([...added])
        .returning();
      return rows.sort((a, b) => a.id - b.id);
    },

    async update(id, change) {
      const forgotten =
        change.keySealed === undefined
          ? {}
          : { balanceMicros: null, balanceAt: 0, balanceFault: null, reportedLimits: null, reportedLimitsFault: null };
      const [row] = await db
        .update(credentials)
        .set({ ...change, ...forgotten })
        .where(and(eq(credentials.id, id), isInUse))
        .returning();
      return row;
    },

    remove: atomic(async (id, at) => {
      const [found] = await db.select().from(credentials).where(eq(credentials.id, id));
      if (!found) return false;
      // Two that are removed at once would each see the other as the one that stays.
      await statement(sql`select 1 from ${channels} where ${channels.id} = ${found.channelId} ${lockRows}`);
      const hasOther = sql`exists (select 1 from ${credentials} as other
        where other.channel_id = ${found.channelId} and other.removed_at = 0 and other.id <> ${id})`;
      const removed = await db
        .update(credentials)
        .set({ removedAt: at, updatedAt: at })
        .where(and(eq(credentials.id, id), isInUse, hasOther))
        .returning({ id: credentials.id });
      return removed.length === 1;
    }),

    async claimBalance(id, { seen, at }) {
      const claimed = await db
        .update(credentials)
        .set({ balanceAt: at })
        .where(and(eq(credentials.id, id), eq(credentials.balanceAt, seen), isInUse))
        .returning({ id: credentials.id });
      return claimed.length === 1;
    },

    async recordBalance(id, at, read) {
      const noted =
        'usd' in read
          ? { balanceMicros: Math.round(read.usd * 1_000_000), balanceFault: null }
          : { balanceFault: toFault(read.failed) };
      await db.update(credentials).set(noted).where(isSame(id, at));
    },

    async recordReportedLimits(id, at, read) {
      const noted =
        'limits' in read
          ? { reportedLimits: read.limits, reportedLimitsFault: null }
          : { reportedLimitsFault: toFault(read.failed) };
      await db.update(credentials).set(noted).where(isSame(id, at));
    },

    async recordError(id, { said, at }) {
      await db
        .update(credentials)
        .set({ lastError: said.message, lastErrorSentence: withoutMessage(said), lastErrorAt: at })
        .where(eq(credentials.id, id));
    },

    async deleteUnused(removedBefore) {
      const isUsed = (table: typeof tasks | typeof relayObjects) =>
        sql`exists (select 1 from ${table} where ${table.channelId} = ${credentials.channelId}
          and coalesce(${table.credentialId},
            (select min(first.id) from ${credentials} as first where first.channel_id = ${credentials.channelId})
          ) = ${credentials.id})`;
      const deleted = await db
        .delete(credentials)
        .where(
          and(
            ne(credentials.removedAt, 0),
            lt(credentials.removedAt, removedBefore),
            sql`not ${isUsed(tasks)}`,
            sql`not ${isUsed(relayObjects)}`,
          ),
        )
        .returning({ id: credentials.id });
      return deleted.length;
    },
  };
}
