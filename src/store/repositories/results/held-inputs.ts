import { and, eq, sql } from 'drizzle-orm';
import type { ResultStore } from '../../ports/index.ts';
import { atomic, type Context, lazy } from '../context.ts';
import type { FileReferences } from './file-references.ts';

/** Drops the files of requests that waited. */
export function createHeldInputs(
  { db, tables }: Context,
  references: FileReferences,
): Pick<ResultStore, 'releaseHeld' | 'releaseLeftHeld'> {
  const { keptResults: results } = tables;
  /** A literal, as in the index. */
  const isHeld = sql`substr(${results.artifactKey}, 1, 8) = 'waiting:'`;
  const deleteHeld = lazy(() =>
    db
      .delete(results)
      .where(and(eq(results.taskId, sql.placeholder('taskId')), isHeld))
      .returning()
      .prepare(),
  );
  return {
    releaseHeld: atomic(async (taskId) => references.release(await deleteHeld().execute({ taskId }))),
    releaseLeftHeld: atomic(async (limit) => {
      const left = sql`select kept_results.id from kept_results join tasks on tasks.task_id = kept_results.task_id
        where ${isHeld} and tasks.status <> 'NOT_START' limit ${limit}`;
      return references.release(await db.delete(results).where(sql`${results.id} in (${left})`).returning());
    }),
  };
}
