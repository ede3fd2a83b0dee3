import { inArray, type SQL, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import {
  CORRECTION_SECONDS,
  DURATION_LIMITS,
  type FigureStore,
  HEALTH_HOURS,
  type HourlyEnds,
  type TaskStatus,
} from '../../ports/index.ts';
import { type Context, decodeSentence } from '../context.ts';
import { IS_OPEN, IS_OPEN_AT_CHANNEL, RUNNING } from '../tasks/claim-tasks.ts';

const DAY_SECONDS = 86_400;
/** The ids of user and wallet in rows that sum up all users. */
const EVERYBODY = sql.raw('0');

/** Groups of usage by day; a part that is summed over has a value that no row has. */
const GROUPED = {
  all: {
    columns: sql.raw('day, plugin_key, model, kind, duration'),
    by: sql.raw('day, plugin_key, model, kind, duration'),
  },
  day: { columns: sql.raw(`day, '', '', kind, -1`), by: sql.raw('day, kind') },
  model: {
    columns: sql.raw('0, plugin_key, model, kind, duration'),
    by: sql.raw('plugin_key, model, kind, duration'),
  },
} as const;

export function createFigureStore(context: Context): FigureStore {
  const {
    db,
    dialect,
    statement,
    tables: { tasks },
  } = context;
  const addUp = (userId: SQL, walletId: SQL, { from, until }: { from: number; until: number }) =>
    statement(sql`
      insert into usage_days (user_id, day, plugin_key, model, kind, duration, wallet_id, tasks, quota)
      select ${userId}, created_at / ${sql.raw(String(DAY_SECONDS))}, plugin_key, model, kind, ${durationClass}, ${walletId}, sum(${endedTasks}), sum(quota)
      from usage_logs where created_at >= ${from} and created_at < ${until}
      group by 1, 2, 3, 4, 5, 6, 7
      on conflict (user_id, day, plugin_key, model, kind, duration, wallet_id)
      do update set tasks = usage_days.tasks + excluded.tasks, quota = usage_days.quota + excluded.quota`);

  return {
    async addUpDays(before, limit) {
      const step = await advanceProgress(context, PROGRESS.days, { before, limit });
      if (typeof step === 'string') return step === 'taken';
      await addUp(sql`user_id`, sql`coalesce(wallet_id, user_id)`, step);
      await addUp(EVERYBODY, EVERYBODY, step);
      return !step.isLast;
    },

    async usageByDay({ sinceDay, userId, by }) {
      // The plus keeps SQLite from reading all rows of the user by index: what is not added up yet
      // is a few minutes' worth.
      const own = userId === undefined ? sql`` : sql`and +user_id = ${userId}`;
      const rows = await statement(sql`
        select ${GROUPED[by ?? 'all'].columns}, sum(tasks), sum(quota) from (
          select day, plugin_key, model, kind, duration, tasks, quota from usage_days
          where user_id = ${userId ?? EVERYBODY} and day >= ${sinceDay}
          union all
          select created_at / ${sql.raw(String(DAY_SECONDS))}, plugin_key, model, kind, ${durationClass}, ${endedTasks}, quota from usage_logs
          where created_at >= (select until from usage_progress where id = 1) and created_at >= ${sinceDay * DAY_SECONDS} ${own}
        ) as used group by ${GROUPED[by ?? 'all'].by}`);
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
        where ${IS_OPEN} ${own} group by 1, 2`);
      return rows.map(([day, status, tasks]) => ({
        day: Number(day),
        status: String(status) as TaskStatus,
        tasks: Number(tasks),
      }));
    },

    async channelHealth(since) {
      const hourly = await statement(sql`
        select u.channel_id, u.kind, (u.created_at - ${since}) / 3600, sum(${endedTasks})
        from channels c cross join usage_logs u
        where u.channel_id = c.id and u.kind in ('settle', 'refund') and u.created_at >= ${since} group by 1, 2, 3`);
      const hoursByChannel = new Map<number, HourlyEnds[]>();
      for (const [id, kind, hour, count] of hourly) {
        const hours =
          hoursByChannel.get(Number(id)) ?? Array.from({ length: HEALTH_HOURS }, () => ({ succeeded: 0, failed: 0 }));
        hoursByChannel.set(Number(id), hours);
        // One that ended a moment ago may be ahead of the clock by which it was asked.
        const ends = hours[Math.min(Number(hour), HEALTH_HOURS - 1)];
        if (ends) ends[kind === 'settle' ? 'succeeded' : 'failed'] += Number(count);
      }
      const rows = await statement(sql`
        select c.id,
          (select count(*) from tasks where ${IS_OPEN_AT_CHANNEL} = c.id),
          (select max(u.created_at) from usage_logs u where u.channel_id = c.id and u.kind = 'settle' and ${endedTasks} = 1),
          (select max(u.created_at) from usage_logs u where u.channel_id = c.id and u.kind = 'refund'),
          (select u.task_id from usage_logs u where u.channel_id = c.id and u.kind = 'refund' order by u.created_at desc limit 1),
          (select test.tested_at from channel_tests test where test.channel_id = c.id and test.tested_at >= c.updated_at),
          (select test.failed_step from channel_tests test where test.channel_id = c.id),
          (select test.message from channel_tests test where test.channel_id = c.id),
          (select test.message_sentence from channel_tests test where test.channel_id = c.id)
        from channels c order by c.id`);
      const failed = rows.flatMap((row) => (typeof row[4] === 'string' ? row[4] : []));
      const found =
        failed.length === 0
          ? []
          : await db
              .select({
                taskId: tasks.taskId,
                reason: tasks.failReason,
                reasonSentence: tasks.failReasonSentence,
                execution: tasks.execution,
              })
              .from(tasks)
              .where(inArray(tasks.taskId, failed));
      const byId = new Map(found.map((task) => [task.taskId, task]));
      return rows.map((row) => {
        const [channelId, inFlight, lastSuccessAt, lastFailureAt] = row.map(Number);
        const hours = hoursByChannel.get(channelId ?? 0) ?? [];
        const lastFailedTask = String(row[4] ?? '');
        const task = byId.get(lastFailedTask);
        return {
          channelId: channelId ?? 0,
          succeeded: hours.reduce((sum, { succeeded }) => sum + succeeded, 0),
          failed: hours.reduce((sum, { failed }) => sum + failed, 0),
          hours,
          inFlight: inFlight ?? 0,
          lastSuccessAt: lastSuccessAt ?? 0,
          lastFailureAt: lastFailureAt ?? 0,
          lastFailedTask,
          lastFailureCode: task?.execution.failure?.code ?? '',
          lastFailureReason: task?.reason ?? '',
          lastFailureSentence: task?.reasonSentence ?? null,
          // A test says nothing about a channel that was changed after it.
          lastTest:
            row[5] == null
              ? undefined
              : {
                  at: Number(row[5]),
                  failedStep: String(row[6]),
                  message: String(row[7]),
                  sentence: decodeSentence(row[8]),
                },
        };
      });
    },

    async countOverdue(submittedBefore) {
      const [row] = await statement(
        sql`select count(*) from tasks where status in ${RUNNING} and submit_time <= ${submittedBefore}`,
      );
      return Number(row?.[0] ?? 0);
    },

    async databaseSize() {
      const [row] = await statement(
        dialect === 'sqlite'
          ? sql`select page_count * page_size, freelist_count * page_size
              from pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
          : sql`select pg_database_size(current_database()), 0`,
      );
      return { bytes: Number(row?.[0] ?? 0), freeBytes: Number(row?.[1] ?? 0) };
    },
  };
}

/** The number of tasks that a usage row counts. */
export const endedTasks: SQL = sql.raw(`case when seconds = ${CORRECTION_SECONDS} then 0 else 1 end`);

/** The class of a usage row's duration. */
export const durationClass: SQL = sql.raw(
  `case when seconds < 0 then -1 ${DURATION_LIMITS.map((limit, i) => `when seconds <= ${limit} then ${i}`).join(' ')} else ${DURATION_LIMITS.length} end`,
);

/** The progress of adding usage up: in the figures by day, and in the sums by key. */
export const PROGRESS = { days: sql.raw('usage_progress'), sums: sql.raw('usage_sums_progress') } as const;

/** A progress further ahead was made by a wrong clock, and is not waited for. */
const MAX_AHEAD_SECONDS = 86_400;

/** When a usage row counts as made: not before what is added up already, or it never would be. */
export const buildUsageTime = (createdAt: SQL): SQL => sql`(select max(at) from (
  select ${createdAt} as at union all select until from ${PROGRESS.days}
  union all select until from ${PROGRESS.sums}) as known)`;

/**
 * Takes a progress from the future back to `before`, and the rows of that future with it: those
 * that are added up become a part of the past, and the others are added up next. False: another
 * node was first.
 */
async function goBack(
  statement: Context['statement'],
  { from, before, storeNow }: { from: number; before: number; storeNow: number },
): Promise<boolean> {
  const takeBack = (progress: SQL) =>
    statement(sql`update ${progress} set until = ${before} where id = 1 and until > ${before} returning until`);
  if ((await takeBack(PROGRESS.days)).length + (await takeBack(PROGRESS.sums)).length === 0) return false;
  await statement(sql`update usage_logs set created_at = case when created_at < ${from} then ${before - 1} else ${before} end
    where created_at > ${storeNow + CLOCK_LEEWAY_SECONDS}`);
  return true;
}

type Step = { from: number; until: number; isLast: boolean };

/**
 * Moves a progress over about `limit` usage rows older than `before`, which the caller then adds up
 * in the same transaction. `nothing`: there are none; `taken`: another node was first.
 */
export async function advanceProgress(
  { statement, prepare, nowMs, now }: Pick<Context, 'statement' | 'prepare' | 'nowMs' | 'now'>,
  progress: SQL,
  { before: wanted, limit }: { before: number; limit: number },
): Promise<Step | 'nothing' | 'taken'> {
  const [row] = await prepare(sql`select until, ${nowMs} / 1000 from ${progress} where id = 1`)(now());
  const [from = 0, storeNow = wanted] = (row ?? []).map((value) => Math.floor(Number(value)));
  // A node whose clock is ahead of the store's goes no further than the others.
  const before = Math.min(wanted, storeNow);
  if (from > storeNow + MAX_AHEAD_SECONDS)
    return (await goBack(statement, { from, before, storeNow })) ? 'taken' : 'nothing';
  if (from >= before) return 'nothing';
  const [edge] = await statement(
    sql`select created_at from usage_logs where created_at >= ${from} and created_at < ${before} order by created_at limit 1 offset ${limit}`,
  );
  // A second that holds more rows than the limit is added up as a whole.
  const until = edge ? Math.max(Number(edge[0]), from + 1) : before;
  const moved = await statement(
    sql`update ${progress} set until = ${until} where id = 1 and until = ${from} returning until`,
  );
  return moved.length === 0 ? 'taken' : { from, until, isLast: edge === undefined };
}
