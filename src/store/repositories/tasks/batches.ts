import { and, asc, desc, eq, getTableColumns, gt, inArray, lt, ne, sql } from 'drizzle-orm';
import { type BatchCounts, type BatchStore, LONGEST_BATCH_PAUSE_MS, type NewBatch } from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, isOverIn, lazy } from '../context.ts';
import { columnPlaceholder, columnPlaceholders } from '../prepare-by-shape.ts';

/** Literals and not parameters, so that the partial index of open batches applies. */
const OPEN = sql.raw('ended_at = 0');
const UNSENT = sql.raw(`status in ('pending', 'sending')`);
const NONE: BatchCounts = { pending: 0, sending: 0, submitted: 0, completed: 0, failed: 0, cancelled: 0, expired: 0 };
/** Items that one statement inserts: PostgreSQL takes 65,535 parameters. */
const INSERTED_AT_ONCE = 100;

export function createBatchStore(context: Context): BatchStore {
  const { db, tables, prepare, nowMs, now, lists, lockName } = context;
  const { batches, batchItems: items, batchFiles, webhookOutbox: notices } = tables;
  const { content: _, ...fileColumns } = getTableColumns(batchFiles);
  const at = sql.placeholder;
  const isBatch = eq(batches.batchId, at('batch'));
  const ofBatch = eq(items.batchId, at('batch'));
  const isItem = and(ofBatch, eq(items.position, at('position')));

  const { id: _id, error: _error, cancellingAt: _c, endedAt: _e, dueAtMs: _d, ...given } = getTableColumns(batches);
  const insertBatch = lazy(() =>
    db
      .insert(batches)
      .values({ ...columnPlaceholders(given), dueAtMs: nowMs } as never)
      .prepare(),
  );
  const countOpen = lazy(() => prepare(sql`select count(*) from batches where user_id = ${at('userId')} and ${OPEN}`));
  const byId = lazy(() => db.select().from(batches).where(isBatch).prepare());
  const ofUser = (order: 'asc' | 'desc', continues: boolean) =>
    lazy(() =>
      db
        .select()
        .from(batches)
        .where(
          and(
            eq(batches.userId, at('userId')),
            ...(continues ? [order === 'asc' ? gt(batches.id, at('after')) : lt(batches.id, at('after'))] : []),
          ),
        )
        .orderBy(order === 'asc' ? asc(batches.id) : desc(batches.id))
        .limit(at('limit') as never)
        .prepare(),
    );
  const pages = {
    asc: { first: ofUser('asc', false), next: ofUser('asc', true) },
    desc: { first: ofUser('desc', false), next: ofUser('desc', true) },
  };
  const counts = lazy(() =>
    prepare(sql`select batch_id, status, count(*) from batch_items
      where ${lists.amongTexts(items.batchId, 'batches')} group by batch_id, status`),
  );
  const outcomes = lazy(() =>
    db
      .select({
        ...{ batchId: items.batchId, position: items.position, customId: items.customId, path: items.path },
        ...{ status: items.status, taskId: items.taskId, error: items.error },
        quota:
          sql<number>`coalesce((select quota from tasks where tasks.task_id = ${sql.raw('batch_items.task_id')}), 0)`.mapWith(
            Number,
          ),
      })
      .from(items)
      .where(and(ofBatch, gt(items.position, at('after'))))
      .orderBy(asc(items.position))
      .limit(at('limit') as never)
      .prepare(),
  );
  const due = lazy(() =>
    db
      .select()
      .from(batches)
      .where(and(OPEN, isOverIn(batches.dueAtMs, nowMs, LONGEST_BATCH_PAUSE_MS)))
      .orderBy(asc(batches.dueAtMs))
      .limit(at('limit') as never)
      .prepare(),
  );
  const untilDue = lazy(() =>
    prepare(sql`select min(case when ${isOverIn(sql`due_at`, nowMs, LONGEST_BATCH_PAUSE_MS)} then 0
      else due_at - ${nowMs} end) from batches where ${OPEN}`),
  );
  const postpone = lazy(() =>
    db
      .update(batches)
      .set({ dueAtMs: sql`${nowMs} + ${at('inMs')}` })
      .where(and(isBatch, OPEN))
      .prepare(),
  );
  const unsent = lazy(() =>
    db
      .select()
      .from(items)
      .where(and(ofBatch, UNSENT))
      .orderBy(asc(items.position))
      .limit(at('limit') as never)
      .prepare(),
  );
  const begin = lazy(() =>
    db
      .update(items)
      .set({
        status: 'sending',
        begunAt: sql`case when ${items.begunAt} = 0 then ${columnPlaceholder('time', items.begunAt)} else ${items.begunAt} end`,
      })
      // A batch may be cancelled while its items are being sent.
      .where(
        and(
          isItem,
          UNSENT,
          sql`exists (select 1 from batches where batches.batch_id = ${at('batch')}
          and batches.status = 'in_progress')`,
        ),
      )
      .returning({ position: items.position })
      .prepare(),
  );
  const endItem = lazy(() =>
    db
      .update(items)
      .set({
        ...columnPlaceholders({ status: items.status, taskId: items.taskId, error: items.error }),
        body: null,
      })
      .where(and(isItem, UNSENT))
      .returning({ position: items.position })
      .prepare(),
  );
  const endPending = lazy(() =>
    db
      .update(items)
      .set({ ...columnPlaceholders({ status: items.status }), body: null })
      .where(and(ofBatch, eq(items.status, 'pending')))
      .returning({ position: items.position })
      .prepare(),
  );
  const followTasks = lazy(() =>
    prepare(sql`update batch_items set status = case when exists (select 1 from tasks
        where tasks.task_id = batch_items.task_id and tasks.status = 'SUCCESS') then 'completed' else 'failed' end
      where batch_id = ${at('batch')} and status = 'submitted' and not exists (select 1 from tasks
        where tasks.task_id = batch_items.task_id and tasks.status not in ('SUCCESS', 'FAILURE'))
      returning position`),
  );
  const waitingTasks = lazy(() =>
    prepare(sql`select tasks.task_id from batch_items join tasks on tasks.task_id = batch_items.task_id
      where batch_items.batch_id = ${at('batch')} and batch_items.status = 'submitted'
      and tasks.status = 'NOT_START' and tasks.phase = 'waiting' order by position`),
  );
  const start = lazy(() =>
    db
      .update(batches)
      .set({ status: 'in_progress', ...columnPlaceholders({ startedAt: batches.startedAt }) })
      .where(and(isBatch, eq(batches.status, 'validating')))
      .returning({ id: batches.id })
      .prepare(),
  );
  const cancel = lazy(() =>
    db
      .update(batches)
      .set({ status: 'cancelling', ...columnPlaceholders({ cancellingAt: batches.cancellingAt }), dueAtMs: nowMs })
      .where(and(isBatch, OPEN, ne(batches.status, 'cancelling')))
      .returning({ id: batches.id })
      .prepare(),
  );
  const end = lazy(() =>
    db
      .update(batches)
      .set(columnPlaceholders({ status: batches.status, error: batches.error, endedAt: batches.endedAt }))
      .where(and(isBatch, OPEN))
      .returning({ id: batches.id })
      .prepare(),
  );
  const insertFile = lazy(() => {
    const { id: _id, ...columns } = getTableColumns(batchFiles);
    return db
      .insert(batchFiles)
      .values(columnPlaceholders(columns) as never)
      .prepare();
  });
  const sumFiles = lazy(() =>
    prepare(sql`select count(*), coalesce(sum(bytes), 0) from batch_files where user_id = ${at('userId')}`),
  );
  const isFile = eq(batchFiles.fileId, at('file'));
  const file = lazy(() => db.select(fileColumns).from(batchFiles).where(isFile).prepare());
  const content = lazy(() => db.select({ content: batchFiles.content }).from(batchFiles).where(isFile).prepare());
  const files = lazy(() =>
    db
      .select(fileColumns)
      .from(batchFiles)
      .where(eq(batchFiles.userId, at('userId')))
      .orderBy(desc(batchFiles.id))
      .prepare(),
  );
  const deleteFile = lazy(() => db.delete(batchFiles).where(isFile).returning({ id: batchFiles.id }).prepare());

  async function deleteBatches(which: ReturnType<typeof sql>, values: Record<string, unknown>): Promise<number> {
    const found = await prepare(sql`select batch_id from batches where ${which} order by id limit ${at('limit')}`)(
      values,
    );
    const ids = found.map(([id]) => String(id));
    if (ids.length === 0) return 0;
    await db.delete(items).where(inArray(items.batchId, ids));
    await db.delete(notices).where(inArray(notices.taskId, ids));
    await db.delete(batches).where(inArray(batches.batchId, ids));
    return ids.length;
  }

  return {
    insert: atomic(async (batch: NewBatch, list, maxOpen) => {
      await lockName(`batches ${batch.userId}`);
      const [[open] = []] = await countOpen()({ userId: batch.userId });
      if (Number(open) >= maxOpen) return false;
      await insertBatch().execute({ ...batch, ...now() });
      for (let from = 0; from < list.length; from += INSERTED_AT_ONCE) {
        const rows = list.slice(from, from + INSERTED_AT_ONCE).map((item) => ({ ...item, batchId: batch.batchId }));
        await db.insert(items).values(rows);
      }
      return true;
    }),
    async byId(batch) {
      const [row] = await byId().execute({ batch });
      return row;
    },
    ofUser: (userId, { after, limit, order }) =>
      pages[order][after === undefined ? 'first' : 'next']().execute({ userId, after, limit }),
    async counts(batchIds) {
      const counted = new Map(batchIds.map((id) => [id, { ...NONE }]));
      if (batchIds.length === 0) return counted;
      for (const [id, status, count] of await counts()({ batches: encodeTexts(batchIds) })) {
        const of = counted.get(String(id));
        if (of) of[status as keyof BatchCounts] = Number(count);
      }
      return counted;
    },
    outcomes: (batch, after, limit) => outcomes().execute({ batch, after, limit }),
    async untilDue() {
      const [[ms] = []] = await untilDue()(now());
      return ms === null || ms === undefined ? undefined : Number(ms);
    },
    due: (limit) => due().execute({ limit, ...now() }),
    async postpone(batch, inMs) {
      await postpone().execute({ batch, inMs, ...now() });
    },
    unsent: (batch, limit) => unsent().execute({ batch, limit }),
    begin: async ({ batchId, position }, time) =>
      (await begin().execute({ batch: batchId, position, time })).length === 1,
    endItem: async ({ batchId, position }, { status, taskId, error }) =>
      (await endItem().execute({ batch: batchId, position, status, taskId, error })).length === 1,
    endPending: async (batch, status) => (await endPending().execute({ batch, status })).length,
    followTasks: async (batch) => (await followTasks()({ batch })).length,
    waitingTasks: async (batch) => (await waitingTasks()({ batch })).map(([id]) => String(id)),
    start: async (batch, startedAt) => (await start().execute({ batch, startedAt })).length === 1,
    requestCancel: async (batch, cancellingAt) =>
      (await cancel().execute({ batch, cancellingAt, ...now() })).length === 1,
    end: async (batch, ending) => (await end().execute({ batch, ...ending })).length === 1,
    deleteOld: atomic((until: number, limit: number) =>
      deleteBatches(sql`ended_at <> 0 and created_at <= ${at('until')}`, { until, limit }),
    ),

    addFile: atomic(async (added, most) => {
      await lockName(`batches ${added.userId}`);
      const [[count, bytes] = []] = await sumFiles()({ userId: added.userId });
      if (Number(count) >= most.files || Number(bytes) + added.bytes > most.bytes) return false;
      await insertFile().execute(added);
      return true;
    }),
    async file(id) {
      const [row] = await file().execute({ file: id });
      return row;
    },
    fileContent: async (id) => (await content().execute({ file: id }))[0]?.content,
    files: (userId) => files().execute({ userId }),
    deleteFile: async (id) => (await deleteFile().execute({ file: id })).length === 1,
    async deleteExpiredFiles(until, limit) {
      const rows = sql`select id from batch_files where expires_at <= ${until} order by expires_at limit ${limit}`;
      const deleted = await db
        .delete(batchFiles)
        .where(lists.amongRows(batchFiles.id, rows))
        .returning({ id: batchFiles.id });
      return deleted.length;
    },
    deleteOfUser: atomic(async (userId: number, limit: number) => {
      const rows = sql`select id from batch_files where user_id = ${userId} limit ${limit}`;
      const gone = await db
        .delete(batchFiles)
        .where(lists.amongRows(batchFiles.id, rows))
        .returning({ id: batchFiles.id });
      return gone.length + (await deleteBatches(sql`user_id = ${at('userId')}`, { userId, limit }));
    }),
  };
}
