import { and, asc, desc, eq, gt, inArray, lt, notInArray, or, sql } from 'drizzle-orm';
import type { TaskStore } from '../../ports/index.ts';
import type { Context } from '../context.ts';

/** Reads tasks for their status alone, without what may be large. */
export function createTaskSummaries({ dialect, db, tables: { tasks }, lookUp }: Context) {
  const outcome =
    dialect === 'sqlite'
      ? sql`${tasks.billing} ->> '$.outcome.reserved'`
      : sql`${tasks.billing}::json #>> '{outcome,reserved}'`;
  const reserved = sql<number | null>`cast(${outcome} as bigint)`.mapWith((quota: unknown) =>
    quota === null ? null : Number(quota),
  );
  const summaryColumns = {
    taskId: tasks.taskId,
    platform: tasks.platform,
    userId: tasks.userId,
    action: tasks.action,
    status: tasks.status,
    progress: tasks.progress,
    failReason: tasks.failReason,
    createdAt: tasks.createdAt,
    finishTime: tasks.finishTime,
    quota: tasks.quota,
    properties: tasks.properties,
    hiddenAt: tasks.hiddenAt,
    linkVersions: tasks.linkVersions,
    reserved,
  };
  const summary = lookUp((isSought) =>
    db.select({ sought: tasks.taskId, row: summaryColumns }).from(tasks).where(isSought(tasks.taskId)).prepare(),
  );

  /** What a client wrote is escaped in this JSON, so it cannot look like a member. */
  const wasVideo = (serve: readonly string[]) =>
    and(
      notInArray(tasks.platform, [...serve]),
      sql`(${tasks.execution} like '%"surface":"proto_video"%' or ${tasks.properties} like '%"video":{%')`,
    );
  const findStart = async (taskId: string) =>
    (await db.select({ id: tasks.id, userId: tasks.userId }).from(tasks).where(eq(tasks.taskId, taskId)))[0];

  const pageByUser: TaskStore['pageByUser'] = async (userId, { after, limit, order, videos }) => {
    const start = after === undefined ? undefined : await findStart(after);
    // A task that was deleted since still says where the next page begins.
    if (after !== undefined && start?.userId !== userId) return undefined;
    const beyond = order === 'asc' ? gt : lt;
    return db
      .select(summaryColumns)
      .from(tasks)
      .where(
        and(
          eq(tasks.userId, userId),
          eq(tasks.hiddenAt, 0),
          start && beyond(tasks.id, start.id),
          videos && or(inArray(tasks.platform, [...videos.platforms]), wasVideo(videos.serve)),
        ),
      )
      .orderBy(order === 'asc' ? asc(tasks.id) : desc(tasks.id))
      .limit(limit);
  };

  return { reserved, summary, pageByUser };
}
