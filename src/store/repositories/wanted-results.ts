import { sql } from 'drizzle-orm';
import type { ResultRecord } from '../ports/index.ts';
import { type Context, columnPlaceholders, lazy } from './context.ts';

type WantedResult = Pick<ResultRecord, 'taskId' | 'artifactKey' | 'userId' | 'kind' | 'createdAt'>;

/** Writes what is to be kept, for `forMs`; what a task has already stays as it is. */
export function createWantedInsert({ db, tables: { keptResults: results }, nowMs, now }: Context) {
  const insert = lazy(() => {
    const { taskId, artifactKey, userId, kind, createdAt } = results;
    return db
      .insert(results)
      .values({
        ...columnPlaceholders({ taskId, artifactKey, userId, kind, createdAt }),
        state: 'wanted',
        nextAttemptAtMs: sql`${nowMs}`,
        giveUpAtMs: sql`${nowMs} + ${sql.placeholder('forMs')}`,
      })
      .onConflictDoNothing({ target: [taskId, artifactKey] })
      .prepare();
  });
  return async (wanted: readonly WantedResult[], forMs: number): Promise<void> => {
    for (const result of wanted) await insert().execute({ ...result, forMs, ...now() });
  };
}

/** What users keep. Call it in the transaction that keeps more. */
export function createKeptUsage({ lockRows, prepare }: Context) {
  const at = sql.placeholder;
  const lockUser = lazy(() => prepare(sql`select id from users where id = ${at('userId')} ${lockRows}`));
  // A literal and not a parameter, so that the index by state applies.
  const sum = lazy(() =>
    prepare(sql`select coalesce(sum(bytes), 0) from kept_results
      where user_id = ${at('userId')} and state = 'kept'`),
  );
  /** Bytes that a user keeps. Their other results wait for this transaction. */
  return async (userId: number): Promise<number> => {
    await lockUser()({ userId });
    const [used] = await sum()({ userId });
    return Number(used?.[0] ?? 0);
  };
}
