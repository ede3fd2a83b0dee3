import { and, eq, getTableColumns, inArray, isNotNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { type AgedTask, type ContentChange, INPUT_KIND, PREVIEW_KIND, type RetentionStore } from '../../ports/index.ts';
import { STORED_PENDING } from '../../schema/dialect-columns.ts';
import { atomic, type Context, encodeTexts, lazy } from '../context.ts';
import { createLedgerFold } from '../money/fold-ledger.ts';
import { lazyByShape } from '../prepare-by-shape.ts';
import { createFileReferences } from '../results/file-references.ts';

const PENDING = sql.raw(`'${STORED_PENDING}'`);
export const ENDED = sql.raw(`('SUCCESS', 'FAILURE')`);
/** What is kept with a task and deleted with it; a result keeps its task instead. */
const GOES_ALONG = [PREVIEW_KIND, INPUT_KIND];
/** The state of the results of a task that are kept, or are to be; null where there are none. */
const keptResult = (taskId: SQL) => sql`(select max(state) from kept_results r where r.task_id = ${taskId}
  and r.state in ('kept', ${PENDING}) and r.kind not in (${sql.raw(GOES_ALONG.map((kind) => `'${kind}'`).join())}))`;

export function createRetentionStore(context: Context): RetentionStore {
  const {
    dialect,
    db,
    tables,
    prepare,
    lockRows,
    lists: { elements, amongTexts, amongRows },
  } = context;
  const { tasks, taskEvents, webhookOutbox: notices, keptResults, usageLogs } = tables;
  const at = sql.placeholder;
  const references = createFileReferences(context);
  const hasEnded = sql`${tasks.status} in ${ENDED}`;

  const readProgress = lazy(() =>
    prepare(sql`select position, skipped, at from retention_progress where name = ${at('name')}`),
  );
  const saveProgress = lazy(() =>
    prepare(sql`insert into retention_progress (name, position, skipped, at)
      values (${at('name')}, ${at('position')}, ${at('skipped')}, ${at('at')})
      on conflict (name) do update set position = excluded.position, skipped = excluded.skipped, at = excluded.at`),
  );
  const replace = lazyByShape((given: { answers?: true }) =>
    prepare(sql`
      update tasks set properties = change.value ->> 'properties', execution = change.value ->> 'execution'
        ${given.answers ? sql`, data = null, state = null` : sql``}
      from ${elements('changes')} as change
      where tasks.id = cast(change.value ->> 'id' as bigint) and tasks.status in ${ENDED} returning tasks.id`),
  );

  async function replaceContent(changes: readonly ContentChange[], given: { answers?: true }): Promise<number> {
    if (changes.length === 0) return 0;
    const rows = changes.map(({ id, properties, execution }) => ({
      id,
      properties: JSON.stringify(properties),
      execution: JSON.stringify(execution),
    }));
    return (await replace(given)({ changes: JSON.stringify(rows) })).length;
  }

  const rewriteEmptied = createRowRewrite(context);
  const deleteEvents = async (taskIds: readonly string[]): Promise<number> =>
    taskIds.length === 0 ? 0 : (await selectEvents().execute({ taskIds: encodeTexts(taskIds) })).length;
  const selectEvents = lazy(() =>
    db.delete(taskEvents).where(amongTexts(taskEvents.taskId, 'taskIds')).returning({ id: taskEvents.id }).prepare(),
  );

  const addUnstored = lazy(() => prepare(sql`insert into unstored_tasks (task_id) values (${at('taskId')})`));
  const unstored = lazy(() =>
    prepare(sql`
      select u.task_id, t.id, t.status, t.created_at, t.finish_time,
        ${keptResult(sql`u.task_id`)}
      from unstored_tasks u left join tasks t on t.task_id = u.task_id
      where u.task_id > ${at('after')} order by u.task_id limit ${at('limit')}`),
  );
  const forgetUnstored = lazy(() =>
    prepare(sql`delete from unstored_tasks where ${amongTexts(sql`task_id`, 'taskIds')}`),
  );

  return {
    async addUnstored(taskId) {
      await addUnstored()({ taskId });
    },

    unstoredTasks: async (after, limit) =>
      (await unstored()({ after, limit })).map(([taskId, id, ...task]) => ({
        taskId: String(taskId),
        task: id === null ? undefined : toAgedTask([id, taskId, ...task]),
      })),

    async forgetUnstored(taskIds) {
      if (taskIds.length > 0) await forgetUnstored()({ taskIds: encodeTexts(taskIds) });
    },

    async progress(name) {
      const [row] = await readProgress()({ name });
      const [position = 0, skipped = 0, seenAt = 0] = (row ?? []).map(Number);
      return { position, skipped, at: seenAt };
    },

    async saveProgress(name, progress) {
      await saveProgress()({ name, ...progress });
    },

    tasksAfter: createAgedTasks(context),

    async readContent(ids) {
      if (ids.length === 0) return [];
      await context.statement(
        sql`select id from ${tasks} where ${inArray(tasks.id, [...ids])} and ${hasEnded} order by id ${lockRows}`,
      );
      return db
        .select({
          id: tasks.id,
          taskId: tasks.taskId,
          properties: tasks.properties,
          execution: tasks.execution,
          hasAnswer: sql`(${or(isNotNull(tasks.data), isNotNull(tasks.state))})`.mapWith(Boolean),
        })
        .from(tasks)
        .where(and(inArray(tasks.id, [...ids]), hasEnded));
    },

    async replaceContent(changes) {
      const kept = changes.filter(({ removesAnswer }) => !removesAnswer);
      const emptied = changes.filter(({ removesAnswer }) => removesAnswer);
      const write = dialect === 'sqlite' ? rewriteEmptied : () => replaceContent(emptied, { answers: true });
      return (await replaceContent(kept, {})) + (await write(emptied));
    },

    deleteTasks: atomic(async (ids) => {
      if (ids.length === 0) return 0;
      const deleted = await db
        .delete(tasks)
        .where(and(inArray(tasks.id, [...ids]), hasEnded))
        .returning({ taskId: tasks.taskId });
      const taskIds = deleted.map(({ taskId }) => taskId);
      if (taskIds.length === 0) return 0;
      await deleteEvents(taskIds);
      await db.delete(notices).where(inArray(notices.taskId, taskIds));
      const isTheirs = or(eq(keptResults.state, 'lost'), inArray(keptResults.kind, GOES_ALONG));
      await references.release(
        await db
          .delete(keptResults)
          .where(and(inArray(keptResults.taskId, taskIds), isTheirs))
          .returning(),
      );
      return taskIds.length;
    }),

    deleteEvents,

    async deleteUsage(until, limit) {
      const isOld = and(
        lte(usageLogs.createdAt, until),
        sql`${usageLogs.createdAt} < (select until from usage_progress where id = 1)`,
        sql`${usageLogs.createdAt} < (select until from usage_sums_progress where id = 1)`,
      );
      const rows = sql`select ${usageLogs.id} from ${usageLogs} where ${isOld} order by ${usageLogs.createdAt} limit ${limit}`;
      const deleted = await db
        .delete(usageLogs)
        .where(and(amongRows(usageLogs.id, rows), isOld))
        .returning({ id: usageLogs.id });
      return deleted.length;
    },

    foldLedger: atomic(createLedgerFold(context)),
  };
}

/**
 * Deletes and inserts rows again, with the same ids. SQLite leaves the room of a shortened row to
 * that row's page alone; pages around deleted rows are merged.
 */
function createRowRewrite({ tables: { tasks }, statement, prepare }: Context) {
  const columns = Object.entries(getTableColumns(tasks));
  const names = sql.join(
    columns.map(([, { name }]) => sql.identifier(name)),
    sql`, `,
  );
  const insert = lazy(() => {
    const values = sql.join(
      columns.map(([name]) => sql`${sql.placeholder(name)}`),
      sql`, `,
    );
    return prepare(sql`insert into tasks (${names}) values (${values})`);
  });

  return async (changes: readonly ContentChange[]): Promise<number> => {
    if (changes.length === 0) return 0;
    const ids = changes.map(({ id }) => id);
    const isOne = sql`${inArray(tasks.id, ids)} and status in ${ENDED}`;
    const rows = await statement(sql`select ${names} from tasks where ${isOne}`);
    await statement(sql`delete from tasks where ${isOne}`);
    const byId = new Map(changes.map((change) => [change.id, change]));
    for (const row of rows) {
      const former = Object.fromEntries(columns.map(([name], index) => [name, row[index]]));
      const change = byId.get(Number(former.id));
      const content = {
        properties: JSON.stringify(change?.properties),
        execution: JSON.stringify(change?.execution),
        data: null,
        state: null,
      };
      await insert()({ ...former, ...content });
    }
    return rows.length;
  };
}

const readState = (stored: unknown): AgedTask['result'] =>
  stored === STORED_PENDING ? 'pending' : stored === 'kept' ? 'kept' : undefined;

/** Tasks after an id: of all users, or those that `owner` restricts them to. */
export function createAgedTasks({ prepare }: Context, owner = sql``) {
  const at = sql.placeholder;
  const read = lazy(() =>
    prepare(sql`
      select id, task_id, status, created_at, finish_time,
        ${keptResult(sql`tasks.task_id`)}
      from tasks where id > ${at('after')} ${owner} order by id limit ${at('limit')}`),
  );
  return async (after: number, limit: number, values: Record<string, unknown> = {}) =>
    (await read()({ after, limit, ...values })).map(toAgedTask);
}

const toAgedTask = ([id, taskId, status, createdAt, finishTime, result]: readonly unknown[]): AgedTask => ({
  id: Number(id),
  taskId: String(taskId),
  status: String(status) as never,
  createdAt: Number(createdAt),
  finishTime: Number(finishTime),
  result: readState(result),
});
