import { and, asc, desc, eq, getTableColumns, inArray, isNotNull, lte, ne, type SQL, sql } from 'drizzle-orm';
import {
  LONGEST_LEASE_MS,
  LONGEST_WEBHOOK_PAUSE_MS,
  LONGEST_WEBHOOK_TRIES_MS,
  MAIL,
  type NewWebhook,
  PREVIEW_KIND,
  type WebhookOutcome,
  type WebhookRecord,
  type WebhookStore,
} from '../../ports/index.ts';
import { STORED_PENDING } from '../../schema/dialect-columns.ts';
import { atomic, type Context, createPullForward, isOverIn, lazy, separate } from '../context.ts';
import { columnPlaceholders, countAll, createPages } from '../prepare-by-shape.ts';

/** Attempts of one webhook that are kept, the latest. */
const MAX_DELIVERIES = 50;

/** A literal and not a parameter, so that the partial index of pending webhooks applies. */
const PENDING = sql.raw(`'pending'`);
const MAILED = sql.raw(`'${MAIL}'`);
const PREVIEW = sql.raw(`'${PREVIEW_KIND}'`);
const RESULT_PENDING = sql.raw(`'${STORED_PENDING}'`);

/**
 * The `put…` methods and `settle` take several statements. Outside a transaction the store opens
 * one for them.
 */
export function createWebhookStore(context: Context): WebhookStore {
  const {
    db,
    tables,
    nowMs,
    now,
    prepare,
    lists: { elements, notAmong, amongRows },
  } = context;
  const { webhookOutbox: outbox, webhookDeliveries: deliveries } = tables;
  const at = sql.placeholder;
  const isPending = sql`${outbox.status} = ${PENDING}`;
  const isFree = isOverIn(outbox.leaseUntilMs, nowMs, LONGEST_LEASE_MS);
  const pullForward = createPullForward(context, {
    rows: { table: sql`webhook_outbox`, isWaiting: sql`status = ${PENDING}` },
    longestMs: LONGEST_WEBHOOK_PAUSE_MS,
    triesMs: LONGEST_WEBHOOK_TRIES_MS,
  });
  const pages = createPages(context, (_filter: { taskId: string }) => {
    const ofTask = eq(outbox.taskId, at('taskId'));
    return {
      from: outbox,
      where: ofTask,
      items: db.select().from(outbox).where(ofTask).orderBy(desc(outbox.id)),
    };
  });
  const released = { leaseOwner: sql`null`, leaseUntilMs: sql`0` };

  // One receiver gets the webhooks of a task, or of another subject, in their order: each waits
  // until the one before was delivered, was given up or was superseded, and is not under way.
  const isFirstHeld = (row: string, isHeld: SQL) => sql`not exists (select 1 from webhook_outbox as earlier
    where earlier.task_id = ${sql.raw(row)}.task_id and earlier.id < ${sql.raw(row)}.id
    and earlier.url = ${sql.raw(row)}.url and earlier.user_id = ${sql.raw(row)}.user_id
    and (earlier.status = ${PENDING} or ${isHeld} or not ${isOverIn(sql`earlier.lease_until`, nowMs, LONGEST_LEASE_MS)}))`;

  const claim = lazy(() => {
    const isFirst = isFirstHeld('webhook_outbox', sql`not ${notAmong(sql`earlier.id`, 'held')}`);
    const isNotExcluded = sql`${outbox.host} not in (select busy.value ->> 'host' from ${elements('hosts')} as busy)
      and ${notAmong(sql`${outbox.userId}`, 'users')} and (${outbox.host} || ' ' || ${outbox.userId})
      not in (select busy.value ->> 'pair' from ${elements('userHosts')} as busy)`;
    const due = sql`select ${outbox.id} from ${outbox} where ${isPending} and ${outbox.nextAttemptAtMs} <= ${nowMs} and ${isFree}
      and ${isNotExcluded} and ${notAmong(sql`${outbox.id}`, 'held')} and ${isFirst} order by ${outbox.nextAttemptAtMs} limit ${at('limit')}`;
    return db
      .update(outbox)
      .set({
        leaseOwner: sql`${at('owner')}`,
        leaseUntilMs: sql`${nowMs} + case when ${outbox.url} = ${MAILED} then cast(${at('mailLeaseForMs')} as bigint)
          else cast(${at('leaseForMs')} as bigint) end`,
        leaseSeq: sql`${outbox.leaseSeq} + 1`,
        lastAttemptAtMs: nowMs,
      })
      .where(and(amongRows(outbox.id, due), isPending))
      .returning()
      .prepare();
  });

  const findNextDue = lazy(() =>
    prepare(sql`select case when ${pullForward.isNeeded} then 0 else next_attempt_at - ${nowMs} end
      from webhook_outbox where status = ${PENDING} and ${isOverIn(sql`lease_until`, nowMs, LONGEST_LEASE_MS)}
      and ${isFirstHeld('webhook_outbox', sql`1 = 0`)} order by next_attempt_at limit 1`),
  );

  /**
   * An insert takes the clock's time as an update does: as a placeholder on SQLite, as a query on
   * PostgreSQL.
   */
  const buildInsert = () => {
    const { eventId, taskId, userId, apiKeyId, event, url, host, payload, retries, createdAt } = outbox;
    const given = { eventId, taskId, userId, apiKeyId, event, url, host, payload, retries, createdAt };
    return db.insert(outbox).values({
      ...columnPlaceholders(given),
      status: 'pending',
      // Not before the webhooks that it waits for: what waits is not looked at when others are due.
      nextAttemptAtMs: sql`(select max(due.at) from (select ${nowMs} as at union all select ${at('notBeforeMs')}
        union all select next_attempt_at from webhook_outbox where task_id = ${at('taskId')} and url = ${at('url')}
        and user_id = ${at('userId')} and status = ${PENDING}) as due)`,
      giveUpAtMs: sql`${nowMs} + ${at('forMs')}`,
    });
  };
  const prepareInsert = lazy(() => buildInsert().prepare());
  const insertOnce = lazy(() =>
    buildInsert().onConflictDoNothing({ target: outbox.eventId }).returning({ id: outbox.id }).prepare(),
  );
  const findPending = lazy(() =>
    prepare(sql`select id from kept_results
      where task_id = ${at('taskId')} and state = ${RESULT_PENDING} and kind <> ${PREVIEW} limit 1`),
  );
  const insert = async (
    webhook: NewWebhook,
    forMs: number,
    { retries, notBeforeMs }: { retries: number; notBeforeMs: number },
  ): Promise<void> => {
    await prepareInsert().execute({ ...webhook, retries, notBeforeMs, forMs, ...now() });
  };

  const ofUpdate = and(eq(outbox.taskId, at('taskId')), eq(outbox.event, 'task.updated'));
  const replaceUpdate = lazy(() =>
    db
      .update(outbox)
      .set({ ...columnPlaceholders({ payload: outbox.payload }) })
      .where(and(ofUpdate, isPending, eq(outbox.leaseSeq, 0)))
      .returning({ id: outbox.id })
      .prepare(),
  );
  // One that was sent in the future, before the clock was set back, was sent by now.
  const sentAt = sql`case when ${outbox.lastAttemptAtMs} > ${nowMs} then ${nowMs} else ${outbox.lastAttemptAtMs} end`;
  const lastUpdate = lazy(() =>
    db
      .select({ atMs: sql<number>`coalesce(max(${sentAt}), 0)`.mapWith(Number) })
      .from(outbox)
      .where(ofUpdate)
      .prepare(),
  );
  const supersedeUpdates = lazy(() =>
    db
      .update(outbox)
      .set({ status: 'superseded' })
      .where(and(ofUpdate, isPending))
      .returning({
        attempts: outbox.attempts,
        retries: outbox.retries,
        nextAttemptAtMs: outbox.nextAttemptAtMs,
      })
      .prepare(),
  );

  const gaveUp = sql`${outbox.giveUpAtMs} <= ${nowMs}`;
  const next = sql`${nowMs} + ${at('inMs')}`;
  const prepareSettle = (outcome: WebhookOutcome['status']) => {
    const retrying = outcome === 'retry';
    const status = retrying ? sql`case when ${gaveUp} then 'failed' else 'pending' end` : sql.raw(`'${outcome}'`);
    // A webhook that was superseded during its delivery counts as delivered.
    const mayChange = outcome === 'delivered' ? sql`true` : isPending;
    return db
      .update(outbox)
      .set({
        ...released,
        status: sql`case when ${mayChange} then ${status} else ${outbox.status} end`,
        attempts: sql`${outbox.attempts} + 1`,
        retries: sql`${outbox.retries} + 1`,
        // The last attempt is made at the give-up time.
        ...(retrying
          ? {
              nextAttemptAtMs: sql`case when ${next} < ${outbox.giveUpAtMs} then ${next} else ${outbox.giveUpAtMs} end`,
            }
          : {}),
      })
      .where(and(eq(outbox.id, at('id')), eq(outbox.leaseOwner, at('leaseOwner')), eq(outbox.leaseSeq, at('leaseSeq'))))
      .returning({
        ...{ attempts: outbox.attempts, status: outbox.status, nextAttemptAtMs: outbox.nextAttemptAtMs },
        ...{ taskId: outbox.taskId, url: outbox.url, userId: outbox.userId },
      })
      .prepare();
  };
  const postponeLater = lazy(() =>
    db
      .update(outbox)
      .set({ nextAttemptAtMs: sql`${at('nextAttemptAtMs')}` })
      .where(
        sql`${outbox.taskId} = ${at('taskId')} and ${outbox.id} > ${at('id')} and ${isPending} and ${outbox.url} = ${at('url')}
          and ${outbox.userId} = ${at('userId')} and ${outbox.nextAttemptAtMs} < ${at('nextAttemptAtMs')}`,
      )
      .prepare(),
  );
  const settle = {
    delivered: lazy(() => prepareSettle('delivered')),
    failed: lazy(() => prepareSettle('failed')),
    retry: lazy(() => prepareSettle('retry')),
  };
  const { id: _, ...deliveryColumns } = getTableColumns(deliveries);
  const addDelivery = lazy(() => db.insert(deliveries).values(columnPlaceholders(deliveryColumns)).prepare());

  return {
    putUpdate: atomic(async (webhook, everyMs, forMs) => {
      const { taskId, payload } = webhook;
      const replaced = await replaceUpdate().execute({ taskId, payload });
      if (replaced.length > 0) return;
      const [superseded] = await supersedeUpdates().execute({ taskId });
      const [last] = await lastUpdate().execute({ taskId, ...now() });
      const notBeforeMs = Math.max(
        last && last.atMs > 0 ? last.atMs + everyMs : 0,
        // New data is no reason to call a failing receiver more often.
        superseded && superseded.attempts > 0 ? superseded.nextAttemptAtMs : 0,
      );
      await insert(webhook, forMs, { retries: superseded?.retries ?? 0, notBeforeMs });
    }),

    putFinish: atomic(async (webhook, forMs) => {
      await supersedeUpdates().execute({ taskId: webhook.taskId });
      await insert(webhook, forMs, { retries: 0, notBeforeMs: 0 });
    }),

    async putQueued(webhook, forMs) {
      await insertOnce().execute({ ...webhook, retries: 0, notBeforeMs: 0, forMs, ...now() });
    },

    putKept: atomic(async (webhook, forMs) => {
      const { taskId } = webhook;
      if ((await findPending()({ taskId })).length > 0) return false;
      const given = { ...webhook, retries: 0, notBeforeMs: 0, forMs, ...now() };
      return (await insertOnce().execute(given)).length === 1;
    }),

    putGatewayNotice: (webhook, forMs) => insert(webhook, forMs, { retries: 0, notBeforeMs: 0 }),

    async latestOfOperator() {
      // A literal, so that the partial index applies.
      const isTried = sql`${outbox.userId} = 0 and ${outbox.attempts} > 0`;
      const [row] = await db.select().from(outbox).where(isTried).orderBy(desc(outbox.id)).limit(1);
      if (!row) return undefined;
      const [delivery] = await db
        .select()
        .from(deliveries)
        .where(eq(deliveries.outboxId, row.id))
        .orderBy(desc(deliveries.id))
        .limit(1);
      return { ...row, delivery };
    },

    async untilDue() {
      const [first] = await findNextDue()(now());
      return first && Number(first[0]);
    },

    claim: separate(async ({ owner, limit, leaseForMs, mailLeaseForMs = leaseForMs, exclude }) => {
      const hosts = JSON.stringify(exclude.hosts.map((host) => ({ host })));
      const users = JSON.stringify(exclude.users);
      const userHosts = JSON.stringify(exclude.userHosts.map(({ host, userId }) => ({ pair: `${host} ${userId}` })));
      const held = JSON.stringify(exclude.held ?? []);
      const leases = { leaseForMs, mailLeaseForMs };
      const take = (most: number) =>
        claim().execute({ owner, limit: most, ...leases, hosts, users, userHosts, held, ...now() });
      const claimed = await take(limit);
      if (claimed.length < limit && (await pullForward.run())) claimed.push(...(await take(limit - claimed.length)));
      // `returning` promises no order.
      return claimed.sort((a, b) => a.nextAttemptAtMs - b.nextAttemptAtMs || a.id - b.id);
    }),

    settle: atomic(async ({ id, leaseOwner, leaseSeq }, outcome, delivery) => {
      const { status } = outcome;
      const inMs = status === 'retry' ? Math.round(outcome.inMs) : 0;
      const [settled] = await settle[status]().execute({ id, leaseOwner, leaseSeq, inMs, ...now() });
      if (!settled) return false;
      if (status === 'retry' && settled.status === 'pending') await postponeLater().execute({ id, ...settled });
      await addDelivery().execute({ outboxId: id, ...delivery });
      if (settled.attempts > MAX_DELIVERIES) {
        const kept = sql`select id from webhook_deliveries where outbox_id = ${id} order by id desc limit ${MAX_DELIVERIES}`;
        await db.delete(deliveries).where(and(eq(deliveries.outboxId, id), sql`${deliveries.id} not in (${kept})`));
      }
      return true;
    }),

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
      const found = await pages({ taskId }, page);
      const ids = found.items.map(({ id }) => id);
      const rows =
        ids.length === 0
          ? []
          : await db.select().from(deliveries).where(inArray(deliveries.outboxId, ids)).orderBy(asc(deliveries.id));
      const listDeliveries = (webhook: WebhookRecord) =>
        rows
          .filter(({ outboxId }) => outboxId === webhook.id)
          .map(({ at: time, httpStatus, durationMs, error }) => ({ at: time, httpStatus, durationMs, error }));
      return {
        ...found,
        items: found.items.map((webhook) => ({ ...webhook, deliveries: listDeliveries(webhook) })),
      };
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
      const deleted = await db
        .delete(outbox)
        .where(and(amongRows(outbox.id, rows), isOld))
        .returning({ id: outbox.id });
      return deleted.length;
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
