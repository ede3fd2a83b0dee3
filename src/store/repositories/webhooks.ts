import { and, asc, desc, eq, inArray, isNotNull, lte, ne, sql } from 'drizzle-orm';
import type { NewWebhook, WebhookRecord, WebhookStore } from '../ports/index.ts';
import { type Context, countAll, lazy, paged } from './context.ts';

/** Attempts of one notice that the log keeps, the latest. */
const MAX_DELIVERIES = 50;

/** A literal and not a parameter, so that the partial index of pending notices applies. */
const PENDING = sql.raw(`'pending'`);

/**
 * The `put…` methods and `settle` take several statements: outside a transaction the store gives
 * them one of their own.
 */
export function createWebhookStore({ db, tables, nowMs, now, elements, notAmong, amongRows }: Context): WebhookStore {
  const { webhookOutbox: outbox, webhookDeliveries: deliveries } = tables;
  const at = sql.placeholder;
  const isPending = sql`${outbox.status} = ${PENDING}`;
  const isFree = sql`${outbox.leaseUntilMs} <= ${nowMs}`;
  const released = { leaseOwner: sql`null`, leaseUntilMs: sql`0` };

  const claim = lazy(() => {
    // Two of one task under way at once could arrive in the wrong order.
    const isFirst = sql`not exists (select 1 from webhook_outbox as earlier where earlier.task_id = ${outbox.taskId}
      and earlier.id < ${outbox.id} and earlier.lease_until > ${nowMs})`;
    const isOffered = sql`${outbox.host} not in (select busy.value ->> 'host' from ${elements('hosts')} as busy)
      and ${notAmong(sql`${outbox.userId}`, 'users')} and (${outbox.host} || ' ' || ${outbox.userId})
      not in (select busy.value ->> 'lane' from ${elements('lanes')} as busy)`;
    const due = sql`select ${outbox.id} from ${outbox} where ${isPending} and ${outbox.nextAttemptAtMs} <= ${nowMs} and ${isFree}
      and ${isOffered} and ${isFirst} order by ${outbox.nextAttemptAtMs} limit ${at('limit')}`;
    return db
      .update(outbox)
      .set({
        leaseOwner: sql`${at('owner')}`,
        leaseUntilMs: sql`${nowMs} + ${at('leaseForMs')}`,
        leaseSeq: sql`${outbox.leaseSeq} + 1`,
        lastAttemptAtMs: nowMs,
      })
      .where(and(amongRows(outbox.id, due), isPending))
      .returning()
      .prepare();
  });

  /**
   * The clock's time stands in values of an insert as in those of an update: as a placeholder on
   * SQLite, as a query on PostgreSQL.
   */
  const insert = async (
    notice: NewWebhook,
    forMs: number,
    { retries, notBeforeMs }: { retries: number; notBeforeMs: number },
  ): Promise<void> => {
    await db
      .insert(outbox)
      .values({
        ...notice,
        status: 'pending',
        retries,
        nextAttemptAtMs: sql`case when ${nowMs} > ${at('notBeforeMs')} then ${nowMs} else ${at('notBeforeMs')} end`,
        giveUpAtMs: sql`${nowMs} + ${at('forMs')}`,
      })
      .prepare()
      .execute({ notBeforeMs, forMs, ...now() });
  };

  const supersedeUpdates = (taskId: string) =>
    db
      .update(outbox)
      .set({ status: 'superseded' })
      .where(and(eq(outbox.taskId, taskId), eq(outbox.event, 'task.updated'), isPending))
      .returning({
        attempts: outbox.attempts,
        retries: outbox.retries,
        nextAttemptAtMs: outbox.nextAttemptAtMs,
      });

  return {
    async putUpdate(notice, everyMs, forMs) {
      const { taskId, payload } = notice;
      const replaced = await db
        .update(outbox)
        .set({ payload })
        .where(and(eq(outbox.taskId, taskId), eq(outbox.event, 'task.updated'), isPending, eq(outbox.leaseSeq, 0)))
        .returning({ id: outbox.id });
      if (replaced.length > 0) return;
      const [tried] = await supersedeUpdates(taskId);
      const [last] = await db
        .select({ atMs: sql<number>`coalesce(max(${outbox.lastAttemptAtMs}), 0)`.mapWith(Number) })
        .from(outbox)
        .where(and(eq(outbox.taskId, taskId), eq(outbox.event, 'task.updated')));
      const notBeforeMs = Math.max(
        last && last.atMs > 0 ? last.atMs + everyMs : 0,
        // A receiver in trouble is not asked more often because there is news.
        tried && tried.attempts > 0 ? tried.nextAttemptAtMs : 0,
      );
      await insert(notice, forMs, { retries: tried?.retries ?? 0, notBeforeMs });
    },

    async putFinish(notice, forMs) {
      await supersedeUpdates(notice.taskId);
      await insert(notice, forMs, { retries: 0, notBeforeMs: 0 });
    },

    async claim({ owner, limit, leaseForMs, unoffered }) {
      const hosts = JSON.stringify(unoffered.hosts.map((host) => ({ host })));
      const users = JSON.stringify(unoffered.users);
      const lanes = JSON.stringify(unoffered.lanes.map(({ host, userId }) => ({ lane: `${host} ${userId}` })));
      const claimed = await claim().execute({ owner, limit, leaseForMs, hosts, users, lanes, ...now() });
      // `returning` promises no order.
      return claimed.sort((a, b) => a.nextAttemptAtMs - b.nextAttemptAtMs || a.id - b.id);
    },

    async settle({ id, leaseOwner, leaseSeq }, outcome, delivery) {
      const retrying = outcome.status === 'retry';
      const gaveUp = sql`${outbox.giveUpAtMs} <= ${nowMs}`;
      const next = sql`${nowMs} + ${at('inMs')}`;
      const status = retrying ? sql`case when ${gaveUp} then 'failed' else 'pending' end` : sql`${at('status')}`;
      // One that was superseded meanwhile and arrived all the same has arrived.
      const mayTurn = outcome.status === 'delivered' ? sql`true` : isPending;
      const [settled] = await db
        .update(outbox)
        .set({
          ...released,
          status: sql`case when ${mayTurn} then ${status} else ${outbox.status} end`,
          attempts: sql`${outbox.attempts} + 1`,
          retries: sql`${outbox.retries} + 1`,
          // The last attempt is made when the time is over.
          ...(retrying
            ? {
                nextAttemptAtMs: sql`case when ${next} < ${outbox.giveUpAtMs} then ${next} else ${outbox.giveUpAtMs} end`,
              }
            : {}),
        })
        .where(and(eq(outbox.id, id), eq(outbox.leaseOwner, leaseOwner), eq(outbox.leaseSeq, leaseSeq)))
        .returning({ attempts: outbox.attempts })
        .prepare()
        .execute({ ...(retrying ? { inMs: Math.round(outcome.inMs) } : { status: outcome.status }), ...now() });
      if (!settled) return false;
      await db.insert(deliveries).values({ outboxId: id, ...delivery });
      if (settled.attempts > MAX_DELIVERIES) {
        const kept = sql`select id from webhook_deliveries where outbox_id = ${id} order by id desc limit ${MAX_DELIVERIES}`;
        await db.delete(deliveries).where(and(eq(deliveries.outboxId, id), sql`${deliveries.id} not in (${kept})`));
      }
      return true;
    },

    async releaseOwner(owner) {
      const rows = await db
        .update(outbox)
        .set(released)
        .where(eq(outbox.leaseOwner, owner))
        .returning({ id: outbox.id });
      return rows.length;
    },

    async expireLeases() {
      const rows = await db
        .update(outbox)
        .set(released)
        .where(isNotNull(outbox.leaseOwner))
        .returning({ id: outbox.id });
      return rows.length;
    },

    async listOfTask(taskId, page) {
      const ofTask = eq(outbox.taskId, taskId);
      const found = await paged(page, db.select({ total: countAll() }).from(outbox).where(ofTask), (limit, offset) =>
        db.select().from(outbox).where(ofTask).orderBy(desc(outbox.id)).limit(limit).offset(offset),
      );
      const ids = found.items.map(({ id }) => id);
      const rows =
        ids.length === 0
          ? []
          : await db.select().from(deliveries).where(inArray(deliveries.outboxId, ids)).orderBy(asc(deliveries.id));
      const of = (notice: WebhookRecord) =>
        rows
          .filter(({ outboxId }) => outboxId === notice.id)
          .map(({ at: time, httpStatus, durationMs, error }) => ({ at: time, httpStatus, durationMs, error }));
      return { total: found.total, items: found.items.map((notice) => ({ ...notice, deliveries: of(notice) })) };
    },

    async byEventId(taskId, eventId) {
      const [row] = await db
        .select()
        .from(outbox)
        .where(and(eq(outbox.eventId, eventId), eq(outbox.taskId, taskId)));
      return row;
    },

    async redeliver(id, forMs) {
      const rows = await db
        .update(outbox)
        .set({
          ...released,
          status: 'pending',
          retries: 0,
          nextAttemptAtMs: nowMs,
          giveUpAtMs: sql`${nowMs} + ${at('forMs')}`,
        })
        .where(and(eq(outbox.id, id), isFree))
        .returning({ id: outbox.id })
        .prepare()
        .execute({ forMs, ...now() });
      return rows.length === 1;
    },

    async deleteOld(createdUntil, limit) {
      const isOld = and(lte(outbox.createdAt, createdUntil), ne(outbox.status, 'pending'));
      const rows = sql`select ${outbox.id} from ${outbox} where ${isOld} order by ${outbox.createdAt} limit ${limit}`;
      const gone = await db
        .delete(outbox)
        .where(and(amongRows(outbox.id, rows), isOld))
        .returning({ id: outbox.id });
      return gone.length;
    },

    async depth() {
      const [row] = await db
        .select({
          pending: countAll(),
          oldest: sql<number>`coalesce(${nowMs} / 1000 - min(${outbox.createdAt}), 0)`.mapWith(Number),
        })
        .from(outbox)
        .where(isPending)
        .prepare()
        .execute(now());
      return { pending: row?.pending ?? 0, oldestSeconds: Math.max(0, Math.floor(row?.oldest ?? 0)) };
    },
  };
}
