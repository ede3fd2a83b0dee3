/** Reads, for their export, and erases what is stored about one user. */
import { and, asc, eq, getTableColumns, gt, inArray, isNotNull, ne, or, sql } from 'drizzle-orm';
import type { PersonalDataStore } from '../../ports/index.ts';
import { createAuditRedaction, inSlice, nextSlice } from '../audit/redact-audit.ts';
import { atomic, type Context, encodeTexts, lazy, separate } from '../context.ts';
import { isOfOwnWallet } from '../money/account-statements.ts';
import { createAgedTasks, ENDED } from './retention.ts';

export function createPersonalDataStore(context: Context): PersonalDataStore {
  const {
    db,
    tables,
    prepare,
    lists: { amongTexts },
  } = context;
  const { tasks, taskEvents, users, webhookOutbox: notices, idempotencyKeys, ledgerEntries, usageLogs } = tables;
  const { auditLogs, userSessions } = tables;
  // Vendors' answers are not part of an export, and may have a MiB.
  const { data: _data, state: _state, ...exported } = getTableColumns(tasks);
  const at = sql.placeholder;
  const agedTasks = createAgedTasks(context, sql`and user_id = ${at('userId')}`);

  // Literals, as in the index.
  const toErase = lazy(() =>
    prepare(sql`select id from users where deleted_at <> 0 and erased_at = 0 and id > ${at('after')}
      and deleted_at <= ${at('deletedUntil')} order by id limit ${at('limit')}`),
  );
  const deleteNotices = lazy(() =>
    db.delete(notices).where(amongTexts(notices.taskId, 'taskIds')).returning({ id: notices.id }).prepare(),
  );
  const selectEvents = lazy(() =>
    db
      .select()
      .from(taskEvents)
      .where(amongTexts(taskEvents.taskId, 'taskIds'))
      .orderBy(asc(taskEvents.taskId), asc(taskEvents.id))
      .prepare(),
  );

  return {
    usersToErase: async (after, until) => (await toErase()({ after, ...until })).map(([id]) => Number(id)),

    async markErased(userId, { at, deletedUntil }) {
      const isDue = sql`${users.deletedAt} between 1 and ${deletedUntil}`;
      const marked = await db
        .update(users)
        .set({ erasedAt: at })
        .where(and(eq(users.id, userId), isDue, eq(users.erasedAt, 0)))
        .returning({ id: users.id });
      return marked.length === 1;
    },

    async eraseAgain(userId) {
      const marked = await db
        .update(users)
        .set({ erasedAt: 0 })
        .where(and(eq(users.id, userId), sql`${users.deletedAt} <> 0`))
        .returning({ id: users.id });
      return marked.length === 1;
    },

    agedTasks: (userId, after, limit) => agedTasks(after, limit, { userId }),

    async eraseTasks(ids, time) {
      if (ids.length === 0) return 0;
      const erased = await db
        .update(tasks)
        .set({
          failReason: '',
          failReasonSentence: null,
          callbackUrl: null,
          hiddenAt: sql`case when ${tasks.hiddenAt} = 0 then ${time} else ${tasks.hiddenAt} end`,
        })
        .where(
          and(
            inArray(tasks.id, [...ids]),
            sql`${tasks.status} in ${ENDED}`,
            // A run that waits for a task's end goes through the others again.
            or(ne(tasks.failReason, ''), isNotNull(tasks.callbackUrl), eq(tasks.hiddenAt, 0)),
          ),
        )
        .returning({ id: tasks.id });
      return erased.length;
    },

    async deleteNotices(taskIds) {
      return taskIds.length === 0 ? 0 : (await deleteNotices().execute({ taskIds: encodeTexts(taskIds) })).length;
    },

    async deleteIdempotencyKeys(userId) {
      const deleted = await db
        .delete(idempotencyKeys)
        .where(eq(idempotencyKeys.userId, userId))
        .returning({ key: idempotencyKeys.key });
      return deleted.length;
    },

    async clearSessions(userId) {
      await db
        .update(userSessions)
        .set({ ip: '', addressKey: '', userAgent: '' })
        .where(eq(userSessions.userId, userId));
    },

    clearReasons: separate(createReasonErasure(context)),

    redactAudit: atomic(createAuditRedaction(context)),

    exportTasks: (userId, after, limit) =>
      db
        .select(exported)
        .from(tasks)
        .where(and(eq(tasks.userId, userId), gt(tasks.id, after)))
        .orderBy(asc(tasks.id))
        .limit(limit),

    exportSessions: (userId, { skip, limit }) =>
      db
        .select()
        .from(userSessions)
        .where(eq(userSessions.userId, userId))
        .orderBy(asc(userSessions.createdAt), asc(userSessions.sid))
        .limit(limit)
        .offset(skip),

    exportEvents: async (taskIds) =>
      taskIds.length === 0 ? [] : selectEvents().execute({ taskIds: encodeTexts(taskIds) }),

    exportUsage: (userId, after, limit) =>
      db
        .select()
        .from(usageLogs)
        .where(and(eq(usageLogs.userId, userId), gt(usageLogs.id, after)))
        .orderBy(asc(usageLogs.id))
        .limit(limit),

    async exportLedger(userId, after, limit) {
      const rows = await db
        .select()
        .from(ledgerEntries)
        .where(and(isOfOwnWallet(ledgerEntries.walletId, userId), gt(ledgerEntries.id, after)))
        .orderBy(asc(ledgerEntries.id))
        .limit(limit);
      return rows.map(({ grantKey: _, budgets: __, ...row }) => row);
    },

    async exportAudit(userId, slice) {
      const rows = await db
        .select()
        .from(auditLogs)
        .where(
          and(
            sql`(${auditLogs.userId} = ${userId} or ${auditLogs.target} = ${`user:${userId}`})`,
            inSlice(tables, slice),
          ),
        )
        .orderBy(asc(auditLogs.id));
      return { rows, next: await nextSlice(context, slice) };
    },

    exportNotices: (userId, after, limit) =>
      db
        .select({
          id: notices.id,
          taskId: notices.taskId,
          event: notices.event,
          url: notices.url,
          payload: notices.payload,
          createdAt: notices.createdAt,
        })
        .from(notices)
        .where(and(eq(notices.userId, userId), gt(notices.id, after)))
        .orderBy(asc(notices.id))
        .limit(limit),
  };
}

/**
 * Why a task was refunded stands in its usage row and its ledger line, in the vendor's or the
 * plugin's words, and administrators note what a change of a balance is for. The sums need neither.
 */
function createReasonErasure({ db, tables, prepare, lists: { elements } }: Context): PersonalDataStore['clearReasons'] {
  const { usageLogs, ledgerEntries } = tables;

  async function clearUsage(userId: number, { after, limit }: { after: number; limit: number }) {
    const rows = await db
      .select({ id: usageLogs.id, detail: usageLogs.detail })
      .from(usageLogs)
      .where(and(eq(usageLogs.userId, userId), gt(usageLogs.id, after)))
      .orderBy(asc(usageLogs.id))
      .limit(limit);
    const changes = rows.flatMap(({ id, detail: { reason, ...rest } }) =>
      reason === undefined ? [] : [{ id, detail: JSON.stringify(rest) }],
    );
    if (changes.length > 0) {
      await prepare(sql`
        update usage_logs set detail = change.value ->> 'detail', reason_sentence = null from ${elements('changes')} as change
        where usage_logs.id = cast(change.value ->> 'id' as bigint)`)({ changes: JSON.stringify(changes) });
    }
    return { changed: changes.length, last: rows.at(-1)?.id };
  }

  async function clearLedger(userId: number, { after, limit }: { after: number; limit: number }) {
    const { id, kind, note } = ledgerEntries;
    const rows = await db
      .select({ id })
      .from(ledgerEntries)
      .where(and(isOfOwnWallet(ledgerEntries.walletId, userId), gt(id, after)))
      .orderBy(asc(id))
      .limit(limit);
    const ids = rows.map((row) => row.id);
    if (ids.length === 0) return { changed: 0, last: undefined };
    const changed = await db
      .update(ledgerEntries)
      .set({ note: '', noteSentence: null })
      .where(and(inArray(id, ids), inArray(kind, ['refund', 'adjust']), ne(note, '')))
      .returning({ id });
    return { changed: changed.length, last: ids.at(-1) };
  }

  return (table, userId, part) => (table === 'usage' ? clearUsage(userId, part) : clearLedger(userId, part));
}
