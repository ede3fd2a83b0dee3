import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { QueueViewStore, WaitingOrder } from '../../ports/index.ts';
import type { Context } from '../context.ts';
import { countAll } from '../prepare-by-shape.ts';
import { IS_SENDING } from './claim-tasks.ts';

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/**
 * Reads what people see of the queue, and moves a task to its front. Never reads the request of a
 * waiting task: it may be large.
 */
export function createQueueView({ db, tables, statement }: Context): QueueViewStore {
  const { waiting, tasks, users, apiKeys } = tables;
  const waitingTask = {
    taskId: waiting.taskId,
    class: waiting.class,
    priority: waiting.priority,
    turn: waiting.turn,
    notBeforeMs: waiting.notBeforeMs,
    sinceMs: waiting.sinceMs,
    deadlineMs: waiting.deadlineMs,
    parked: waiting.parked,
  };
  const inSeconds = <Row extends { notBeforeMs: number; sinceMs: number; deadlineMs: number }>({
    notBeforeMs,
    sinceMs,
    deadlineMs,
    ...row
  }: Row) => ({
    ...row,
    // Rounded up: a task that may be sent now has 0.
    notBefore: Math.ceil(notBeforeMs / 1000),
    since: toSeconds(sinceMs),
    deadline: toSeconds(deadlineMs),
  });

  /** The nodes whose files tasks of a class are bound to: one step along the index for each. */
  async function listFileNodes(waitingClass: string): Promise<string[]> {
    const rows = await statement(sql`
      with recursive file_nodes (node) as (
        select min(node) from waiting where class = ${waitingClass} and not_before = 0 and parked = ''
        union all
        select (select min(w.node) from waiting w where w.class = ${waitingClass} and w.not_before = 0 and w.parked = '' and w.node > file_nodes.node)
        from file_nodes where file_nodes.node is not null
      ) select node from file_nodes where node is not null`);
    return rows.map(([node]) => String(node));
  }

  return {
    async find(taskIds) {
      if (taskIds.length === 0) return [];
      const rows = await db
        .select(waitingTask)
        .from(waiting)
        .where(inArray(waiting.taskId, [...taskIds]));
      return rows.map(inSeconds);
    },

    async next(waitingClass, limit) {
      const nodes = await listFileNodes(waitingClass);
      const parts = await Promise.all(
        nodes.map((node) =>
          statement(sql`
            select task_id, priority, turn from waiting
            where class = ${waitingClass} and node = ${node} and not_before = 0 and parked = ''
            order by priority desc, turn, task_id limit ${limit}`),
        ),
      );
      const found = parts.flat().map(
        ([taskId, priority, turn]): WaitingOrder => ({
          taskId: String(taskId),
          priority: Number(priority),
          turn: Number(turn),
        }),
      );
      return found.sort(compareOrder).slice(0, limit);
    },

    async list({ userId, classes }, { page, pageSize }) {
      const where: SQL | undefined = and(
        userId === undefined ? undefined : eq(waiting.userId, userId),
        classes === undefined ? undefined : inArray(waiting.class, [...classes, '']),
      );
      const [counted] = await db.select({ total: countAll() }).from(waiting).where(where);
      const rows = await db
        .select({
          ...waitingTask,
          userId: waiting.userId,
          username: users.username,
          apiKeyId: waiting.apiKeyId,
          keyName: apiKeys.name,
          action: tasks.action,
          properties: tasks.properties,
          returns: waiting.returns,
          attached: waiting.attached,
        })
        .from(waiting)
        .innerJoin(tasks, eq(tasks.taskId, waiting.taskId))
        .leftJoin(users, eq(users.id, waiting.userId))
        .leftJoin(apiKeys, eq(apiKeys.id, waiting.apiKeyId))
        .where(where)
        // An id begins with the time.
        .orderBy(asc(waiting.taskId))
        .limit(pageSize)
        .offset((page - 1) * pageSize);
      return {
        total: counted?.total ?? 0,
        hasMore: false,
        items: rows.map(({ attached, ...row }) => ({ ...inSeconds(row), isAttached: attached !== '' })),
      };
    },

    async totals() {
      const rows = await statement(sql`
        select class, plugin, model, "group", channel_id, credential_id, sum(waiting) from waiting_classes
        where waiting > 0 group by 1, 2, 3, 4, 5, 6 order by 7 desc, 1`);
      return rows.map(([name, plugin, model, group, channelId, credentialId, count]) => ({
        class: String(name),
        plugin: String(plugin),
        model: String(model),
        group: String(group),
        channelId: Number(channelId),
        credentialId: Number(credentialId),
        waiting: Number(count),
      }));
    },

    async durations(since, limit) {
      const rows = await statement(sql`
        select plugin_key, model, count(*), avg(seconds), min(case when place * 20 >= tasks * 19 then seconds end) from (
          select plugin_key, model, seconds, count(*) over (partition by plugin_key, model) as tasks,
            row_number() over (partition by plugin_key, model order by seconds) as place
          from (
            select plugin_key, model, seconds from usage_logs
            where created_at >= ${since} and kind = 'settle' and seconds >= 0
            order by created_at desc limit ${limit}
          ) as ended
        ) as placed group by 1, 2`);
      return rows.map(([plugin, model, count, mean, p95]) => ({
        plugin: String(plugin),
        model: String(model),
        tasks: Number(count),
        meanSeconds: Number(mean),
        p95Seconds: Number(p95),
      }));
    },

    async running() {
      const rows = await statement(sql`
        select channel_id, upstream_model, sum(slots) from tasks
        where ${IS_SENDING} group by 1, 2`);
      return rows.map(([channelId, upstreamModel, slots]) => ({
        channelId: Number(channelId),
        upstreamModel: String(upstreamModel),
        slots: Number(slots),
      }));
    },

    async moveToFront(taskId) {
      const moved = await db
        .update(waiting)
        .set({ turn: 0 })
        .where(eq(waiting.taskId, taskId))
        .returning({ taskId: waiting.taskId });
      return moved.length > 0;
    },
  };
}

/** The index has this order, but for ids of one turn where the database sorts by a language. */
const compareOrder = (one: WaitingOrder, other: WaitingOrder): number =>
  other.priority - one.priority || one.turn - other.turn || (one.taskId < other.taskId ? -1 : 1);
