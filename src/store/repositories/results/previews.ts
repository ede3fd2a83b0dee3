import { and, eq, type SQL, sql } from 'drizzle-orm';
import { ANSWER_KIND, type KeptResultRecord, PREVIEW_KIND, type PreviewStore } from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, lazy } from '../context.ts';
import { columnPlaceholders } from '../prepare-by-shape.ts';
import { createFileReferences, isHeldFile } from './file-references.ts';

/** Literals and not parameters, so that the partial index applies. */
const PREVIEW = sql.raw(`'${PREVIEW_KIND}'`);
const ANSWER = sql.raw(`'${ANSWER_KIND}'`);
const KEPT = sql.raw(`'kept'`);

/**
 * `schedule`, `add` and `forgetOldest` take several statements. Outside a transaction the store
 * opens one for them.
 */
export function createPreviewStore(context: Context): PreviewStore {
  const {
    db,
    tables,
    lockRows,
    prepare,
    lists: { amongRows, amongTexts },
  } = context;
  const { keptResults: results } = tables;
  const { taskId, artifactKey, userId, kind, createdAt } = results;
  const { sha256, bytes, mimeType, keptAt, keptUntil, width, height } = results;
  const at = sql.placeholder;
  const references = createFileReferences(context);
  const insertPending = createPendingInsert(context);
  const sumKept = createKeptUsage(context);
  const isKeptPreview = and(sql`${kind} = ${PREVIEW}`, sql`${results.state} = ${KEPT}`);

  // A task's deletion deletes its previews; it waits for this lock, or this finds the task hidden.
  const lockTask = lazy(() =>
    prepare(sql`select user_id from tasks
      where task_id = ${at('taskId')} and hidden_at = 0 ${lockRows}`),
  );
  const insertKept = lazy(() => {
    const file = columnPlaceholders({ sha256, bytes, mimeType, keptAt, keptUntil, width, height });
    return db
      .insert(results)
      .values({
        ...columnPlaceholders({ taskId, artifactKey, userId, kind, createdAt }),
        ...file,
        state: 'kept',
        nextAttemptAtMs: 0,
        giveUpAtMs: 0,
      })
      .onConflictDoUpdate({
        target: [taskId, artifactKey],
        set: {
          ...file,
          state: 'kept',
          reason: '',
          leaseOwner: sql`null`,
          leaseUntilMs: 0,
          leaseSeq: sql`${results.leaseSeq} + 1`,
        },
        setWhere: sql`${results.state} <> ${KEPT}`,
      })
      .returning({ id: results.id })
      .prepare();
  });
  const ofTasks = lazy(() =>
    db
      .select()
      .from(results)
      .where(and(amongTexts(taskId, 'taskIds'), isKeptPreview))
      .orderBy(taskId, results.id)
      .prepare(),
  );
  const sumByUser = lazy(() =>
    prepare(sql`select user_id, sum(bytes) from kept_results where kind = ${PREVIEW}
      group by user_id order by 2 desc, 1`),
  );

  /** The owner of a task that is not hidden. It stays so until the transaction ends. */
  async function findOwner(id: string): Promise<number | undefined> {
    const [task] = await lockTask()({ taskId: id });
    return task && Number(task[0]);
  }

  return {
    schedule: atomic(async (previews, forMs) => {
      const [first] = previews;
      if (!first || (await findOwner(first.taskId)) === undefined) return false;
      await insertPending(previews, forMs);
      return true;
    }),

    add: atomic(async (preview, { quotaBytes, size, ...file }) => {
      if ((await findOwner(preview.taskId)) !== preview.userId) return 'no_task';
      if (quotaBytes !== undefined && (await sumKept(preview.userId)) + file.bytes > quotaBytes) return 'over_quota';
      if (!(await references.add(file))) return 'being_deleted';
      const { width: wide = 0, height: high = 0 } = size ?? {};
      const inserted = await insertKept().execute({ ...preview, ...file, width: wide, height: high });
      if (inserted.length === 1) return 'kept';
      await references.release([file]);
      return 'exists';
    }),

    ofTasks: (taskIds) => ofTasks().execute({ taskIds: encodeTexts(taskIds) }),

    async usage() {
      const users = await sumByUser()({});
      const total = users.reduce((sum, [, held]) => sum + Number(held), 0);
      return { bytes: total, largestUserId: users[0] && Number(users[0][0]) };
    },

    forgetOldest: atomic(async (owner, limit) => {
      const isTheirs = and(isKeptPreview, eq(userId, owner));
      const rows = sql`select ${results.id} from ${results} where ${isTheirs} order by ${keptAt} limit ${limit}`;
      return references.release(
        await db
          .delete(results)
          .where(and(amongRows(results.id, rows), isTheirs))
          .returning(),
      );
    }),
  };
}

type PendingResult = Pick<KeptResultRecord, 'taskId' | 'artifactKey' | 'userId' | 'kind' | 'createdAt'>;

/** Writes what is to be kept, for `forMs`; what a task has already stays as it is. */
export function createPendingInsert({ db, tables: { keptResults: results }, nowMs, now }: Context) {
  const insert = lazy(() => {
    const { taskId, artifactKey, userId, kind, createdAt } = results;
    return db
      .insert(results)
      .values({
        ...columnPlaceholders({ taskId, artifactKey, userId, kind, createdAt }),
        state: 'pending',
        nextAttemptAtMs: sql`${nowMs}`,
        giveUpAtMs: sql`${nowMs} + ${sql.placeholder('forMs')}`,
      })
      .onConflictDoNothing({ target: [taskId, artifactKey] })
      .prepare();
  });
  return async (pending: readonly PendingResult[], forMs: number): Promise<void> => {
    for (const result of pending) await insert().execute({ ...result, forMs, ...now() });
  };
}

/**
 * What users keep for themselves. Relayed answers, and files of requests that wait, are kept by the
 * gateway's own rule: nobody pays for them, and no quota holds them.
 */
export const isKeptByUser = ({ state, kind, artifactKey }: Context['tables']['keptResults']): SQL =>
  sql`${state} = ${KEPT} and ${kind} <> ${ANSWER} and not ${isHeldFile(artifactKey)}`;

/** Adds up what users keep. Call it in the transaction that keeps more. */
export function createKeptUsage({ tables, lockRows, prepare }: Context) {
  const at = sql.placeholder;
  // The row that a submission has locked before: a user's own would be locked after it here, and
  // before it by a change of their balance.
  const lockWallet = lazy(() => prepare(sql`select id from wallets where user_id = ${at('userId')} ${lockRows}`));
  const sum = lazy(() =>
    prepare(sql`select coalesce(sum(bytes), 0) from kept_results
      where user_id = ${at('userId')} and ${isKeptByUser(tables.keptResults)}`),
  );
  /** Bytes that a user keeps. Their other results wait for this transaction. */
  return async (userId: number): Promise<number> => {
    await lockWallet()({ userId });
    const [used] = await sum()({ userId });
    return Number(used?.[0] ?? 0);
  };
}
