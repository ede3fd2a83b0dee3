import { and, eq, inArray, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { INPUT_KIND, type KeptResultRecord, type ResultStore } from '../../ports/index.ts';
import { atomic, type Context, lazy } from '../context.ts';

type CountedFile = Pick<KeptResultRecord, 'bytes' | 'keptAt'> & { sha256: string };

/** How many results need a kept file. Call both in the transaction that changes the results. */
export type FileReferences = {
  /** Counts one more. False while the file is being deleted: it may be gone before this commits. */
  add(file: CountedFile): Promise<boolean>;
  /**
   * Counts each result of these that has a file once less, and returns how many results they are.
   * Files that nothing needs any more stay until the sweep takes them.
   */
  release(forgotten: readonly Pick<KeptResultRecord, 'sha256'>[]): Promise<number>;
};

export function createFileReferences({ nowMs, now, prepare }: Context): FileReferences {
  const at = sql.placeholder;
  const add = lazy(() =>
    prepare(sql`insert into kept_files (sha256, bytes, refs, changed_at)
      values (${at('sha256')}, ${at('bytes')}, 1, ${at('keptAt')})
      on conflict (sha256) do update set refs = kept_files.refs + 1, changed_at = excluded.changed_at
      where kept_files.refs >= 0 returning refs`),
  );
  const release = lazy(() =>
    prepare(sql`update kept_files set refs = refs - 1, changed_at = ${nowMs} / 1000
      where sha256 = ${at('sha256')} and refs > 0`),
  );

  return {
    async add({ sha256, bytes, keptAt }) {
      return (await add()({ sha256, bytes, keptAt })).length === 1;
    },
    async release(forgotten) {
      // In one order everywhere, so that two transactions cannot wait for each other.
      const digests = forgotten.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256])).sort();
      for (const sha256 of digests) await release()({ sha256, ...now() });
      return forgotten.length;
    },
  };
}

/** Whether a row is a file of a request that waits to be sent; a literal, as in the index. */
export const isHeldFile = (artifactKey: SQLWrapper): SQL => sql`substr(${artifactKey}, 1, 8) = 'waiting:'`;

type FileCounts = { references: FileReferences; sumKept: (userId: number) => Promise<number> };

/** Keeps the files of requests and relayed answers, and drops those of requests that waited. */
export function createRequestFiles(
  { db, tables }: Context,
  { references, sumKept }: FileCounts,
): Pick<ResultStore, 'keepFiles' | 'releaseHeld' | 'releaseAbandoned'> {
  const { keptResults: results } = tables;
  const isHeld = isHeldFile(results.artifactKey);
  const deleteHeld = lazy(() =>
    db
      .delete(results)
      .where(and(eq(results.taskId, sql.placeholder('taskId')), isHeld))
      .returning()
      .prepare(),
  );
  return {
    keepFiles: atomic(async ({ files, quotaBytes = Number.POSITIVE_INFINITY, ...task }) => {
      const isLimited = Number.isFinite(quotaBytes);
      const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
      if (isLimited && (await sumKept(task.userId)) + total > quotaBytes) return false;
      // In the order of a release.
      const sorted = [...files].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
      for (const [index, { sha256, bytes }] of sorted.entries()) {
        if (await references.add({ sha256, bytes, keptAt: task.keptAt })) continue;
        await references.release(sorted.slice(0, index));
        return false;
      }
      const shared = { kind: INPUT_KIND, ...task, state: 'kept' as const, createdAt: task.keptAt };
      const rows = files.map((file) => ({ ...shared, ...file, nextAttemptAtMs: 0, giveUpAtMs: 0 }));
      if (rows.length > 0) await db.insert(results).values(rows);
      // Other requests of the same transaction may have kept theirs in between.
      if (!isLimited || (await sumKept(task.userId)) <= quotaBytes) return true;
      const keys = files.map(({ artifactKey }) => artifactKey);
      const isTheirs = and(eq(results.taskId, task.taskId), inArray(results.artifactKey, keys));
      await references.release(await db.delete(results).where(isTheirs).returning());
      return false;
    }),
    releaseHeld: atomic(async (taskId) => references.release(await deleteHeld().execute({ taskId }))),
    releaseAbandoned: atomic(async (limit) => {
      const left = sql`select kept_results.id from kept_results join tasks on tasks.task_id = kept_results.task_id
        where ${isHeld} and tasks.status <> 'NOT_START' limit ${limit}`;
      return references.release(await db.delete(results).where(sql`${results.id} in (${left})`).returning());
    }),
  };
}
