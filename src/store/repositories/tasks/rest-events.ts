import { and, desc, eq, lte, sql } from 'drizzle-orm';
import type { RestEvent, RestEventRecord } from '../../ports/index.ts';
import { type Context, plainText } from '../context.ts';

/** Those that are kept of a channel and reason: many of one leave room for the others. */
const KEPT = 50;

/** What people read of an account's rests. */
export function createRestEvents({ db, tables: { restEvents }, nowMs, prepare, now }: Context) {
  const at = sql.placeholder;
  const nowSeconds = sql`cast(${nowMs} / 1000 as bigint)`;
  const insert = prepare(sql`insert into rest_events (channel_id, credential_id, model, reason, what, until, at)
    values (${at('channelId')}, ${at('credentialId')}, ${at('model')}, ${at('reason')}, ${at('what')},
      case when cast(${at('forMs')} as bigint) = 0 then 0
        else cast((${nowMs} + cast(${at('forMs')} as bigint)) / 1000 as bigint) end,
      ${nowSeconds})`);

  return {
    /** `forMs`: how long it rests from now on; 0: no longer. */
    async note(event: RestEvent, forMs: number): Promise<void> {
      await insert({ ...event, model: plainText(event.model), forMs, ...now() });
      const isOfReason = and(eq(restEvents.channelId, event.channelId), eq(restEvents.reason, event.reason));
      const [oldest] = await db
        .select({ id: restEvents.id })
        .from(restEvents)
        .where(isOfReason)
        .orderBy(desc(restEvents.id))
        .limit(1)
        .offset(KEPT);
      if (oldest) await db.delete(restEvents).where(and(isOfReason, lte(restEvents.id, oldest.id)));
    },
    ofChannel: (channelId: number, limit: number): Promise<RestEventRecord[]> =>
      db.select().from(restEvents).where(eq(restEvents.channelId, channelId)).orderBy(desc(restEvents.id)).limit(limit),
  };
}
