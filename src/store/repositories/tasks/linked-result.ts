import { and, eq, sql } from 'drizzle-orm';
import type { TaskStore } from '../../ports/index.ts';
import { type Context, lazy } from '../context.ts';

/** Reads a kept result behind a link, with what decides on the link. */
export function createLinkedResult({ db, tables }: Context): TaskStore['linkedResult'] {
  const { tasks, users, keptResults } = tables;
  const at = sql.placeholder;
  const linkedResult = lazy(() =>
    db
      .select({
        task: {
          taskId: tasks.taskId,
          status: tasks.status,
          hiddenAt: tasks.hiddenAt,
          finishTime: tasks.finishTime,
          linkVersions: tasks.linkVersions,
        },
        owner: { status: users.status, linkVersion: users.linkVersion },
        result: {
          artifactKey: keptResults.artifactKey,
          kind: keptResults.kind,
          state: keptResults.state,
          sha256: keptResults.sha256,
          bytes: keptResults.bytes,
          keptAt: keptResults.keptAt,
          mimeType: keptResults.mimeType,
        },
      })
      .from(keptResults)
      .innerJoin(tasks, eq(tasks.taskId, keptResults.taskId))
      .innerJoin(users, and(eq(users.id, tasks.userId), eq(users.deletedAt, 0)))
      .where(
        and(
          eq(keptResults.taskId, at('taskId')),
          eq(keptResults.artifactKey, at('artifactKey')),
          eq(keptResults.state, 'kept'),
        ),
      )
      .prepare(),
  );

  return async (taskId, artifactKey) => {
    const [row] = await linkedResult().execute({ taskId, artifactKey });
    return row;
  };
}
