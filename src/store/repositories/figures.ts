import { type SQL, sql } from 'drizzle-orm';
import { DURATION_LIMITS, type FigureStore, type TaskStatus } from '../ports/index.ts';
import { UNFINISHED } from './claim-tasks.ts';
import type { Context } from './context.ts';

const DAY_SECONDS = 86_400;

export function createFigureStore({ statement }: Context): FigureStore {
  return {
    async addUpDays(before, limit) {
      const [row] = await statement(sql`select until from usage_progress where id = 1`);
      const from = Number(row?.[0] ?? 0);
      if (from >= before) return false;
      const [edge] = await statement(
        sql`select created_at from usage_logs where created_at >= ${from} and created_at < ${before} order by created_at limit 1 offset ${limit}`,
      );
      // A second that holds more rows than the limit is added up whole.
      const until = edge ? Math.max(Number(edge[0]), from + 1) : before;
      const moved = await statement(
        sql`update usage_progress set until = ${until} where id = 1 and until = ${from} returning until`,
      );
      // Another node did it meanwhile.
      if (moved.length === 0) return true;
      await statement(sql`
        insert into usage_days (user_id, day, plugin_key, model, kind, duration, tasks, quota)
        select user_id, created_at / ${sql.raw(String(DAY_SECONDS))}, plugin_key, model, kind, ${durationClass}, count(*), sum(quota)
        from usage_logs where created_at >= ${from} and created_at < ${until}
        group by 1, 2, 3, 4, 5, 6
        on conflict (user_id, day, plugin_key, model, kind, duration)
        do update set tasks = usage_days.tasks + excluded.tasks, quota = usage_days.quota + excluded.quota`);
      return edge !== undefined;
    },

    async usageByDay({ sinceDay, userId }) {
      const own = userId === undefined ? sql`` : sql`and user_id = ${userId}`;
      const rows = await statement(sql`
        select day, plugin_key, model, kind, duration, sum(tasks), sum(quota) from (
          select day, plugin_key, model, kind, duration, tasks, quota from usage_days where day >= ${sinceDay} ${own}
          union all
          select created_at / ${sql.raw(String(DAY_SECONDS))}, plugin_key, model, kind, ${durationClass}, 1, quota from usage_logs
          where created_at >= (select until from usage_progress where id = 1) and created_at >= ${sinceDay * DAY_SECONDS} ${own}
        ) as used group by day, plugin_key, model, kind, duration`);
      return rows.map(([day, pluginKey, model, kind, duration, tasks, quota]) => ({
        day: Number(day),
        pluginKey: String(pluginKey),
        model: String(model),
        kind: kind === 'settle' ? ('settle' as const) : ('refund' as const),
        duration: Number(duration),
        tasks: Number(tasks),
        quota: Number(quota),
      }));
    },

    async openTasks({ userId }) {
      const own = userId === undefined ? sql`` : sql`and user_id = ${userId}`;
      const rows = await statement(sql`
        select created_at / ${sql.raw(String(DAY_SECONDS))}, status, count(*) from tasks
        where status in ${UNFINISHED} ${own} group by 1, 2`);
      return rows.map(([day, status, tasks]) => ({
        day: Number(day),
        status: String(status) as TaskStatus,
        tasks: Number(tasks),
      }));
    },
  };
}

const durationClass: SQL = sql.raw(
  `case when seconds < 0 then -1 ${DURATION_LIMITS.map((limit, i) => `when seconds <= ${limit} then ${i}`).join(' ')} else ${DURATION_LIMITS.length} end`,
);
