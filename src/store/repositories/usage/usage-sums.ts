/** Sums of the usage rows by quarter of an hour, hour and day, so that reports read few rows. */
import { inArray, type SQL, sql } from 'drizzle-orm';
import type { ChannelFailures, UsageDimension, UsageStore, UsageSumFilter } from '../../ports/index.ts';
import { type Context, decodeSentence, encodeSentence, separate } from '../context.ts';
import { advanceProgress, durationClass, endedTasks, PROGRESS } from './figures.ts';

/** Units of sums: their tables, and their lengths in seconds. */
const UNITS = {
  quarter: { table: sql.raw('usage_quarters'), seconds: 900 },
  day: { table: sql.raw('usage_dates'), seconds: 86_400 },
} as const;
const HOUR = 3600;
/** The time span that a batch of the clean-up deletes, from the oldest row on. */
const BATCH_SECONDS = 6 * HOUR;

const PARTS = sql.raw('user_id, wallet_id, api_key_id, channel_id, plugin_key, model');
/** The columns of `PARTS` as a usage row has them. */
const PARTS_OF_ROW = sql.raw(
  'user_id, coalesce(wallet_id, user_id), coalesce(api_key_id, 0), channel_id, plugin_key, model',
);
const SUCCEEDED = sql`case when kind = 'settle' then ${endedTasks} else 0 end`;
const FAILED = sql.raw(`case when kind = 'settle' then 0 else 1 end`);
const SPEND = sql.raw(`case when kind = 'settle' then quota else 0 end`);
const ADDED_UNTIL = sql.raw('(select until from usage_sums_progress where id = 1)');

const GROUPS: Readonly<Record<UsageDimension, SQL>> = {
  user: sql.raw(`user_id, '', ''`),
  key: sql.raw(`api_key_id, '', ''`),
  channel: sql.raw(`channel_id, '', ''`),
  // SQLite would take a plain 0 for the number of a column to group by.
  model: sql.raw('0 + 0, plugin_key, model'),
};

/** The start of the unit that a usage row belongs to. */
const toStart = (seconds: number): SQL => sql.raw(`created_at - created_at % ${seconds}`);

export function createUsageStore(context: Context): UsageStore {
  const { db, statement, tables } = context;
  async function addUpUnit(unit: UsageSumFilter['unit'], from: number, until: number): Promise<void> {
    const { table, seconds } = UNITS[unit];
    await statement(sql`
      insert into ${table} (start, ${PARTS}, succeeded, failed, spend)
      select ${toStart(seconds)}, ${PARTS_OF_ROW}, sum(${SUCCEEDED}), sum(${FAILED}), sum(${SPEND})
      from usage_logs where created_at >= ${from} and created_at < ${until} group by 1, 2, 3, 4, 5, 6, 7
      on conflict (start, ${PARTS}) do update set succeeded = ${table}.succeeded + excluded.succeeded,
        failed = ${table}.failed + excluded.failed, spend = ${table}.spend + excluded.spend`);
  }

  const addUpChannels = (from: number, until: number) =>
    statement(sql`
      insert into channel_hours (channel_id, start, kind, duration, tasks)
      select channel_id, ${toStart(HOUR)}, kind, ${durationClass}, sum(${endedTasks})
      from usage_logs where created_at >= ${from} and created_at < ${until} group by 1, 2, 3, 4
      on conflict (channel_id, start, kind, duration) do update set tasks = channel_hours.tasks + excluded.tasks`);

  return {
    async addUp({ before, keptFrom }, limit) {
      const step = await advanceProgress(context, PROGRESS.sums, { before, limit });
      if (typeof step === 'string') return step === 'taken';
      const { from, until, isLast } = step;
      await addUpUnit('day', from, until);
      if (until > keptFrom) {
        await addUpUnit('quarter', Math.max(from, keptFrom), until);
        await addUpChannels(Math.max(from, keptFrom), until);
      }
      return !isLast;
    },

    deleteOld: separate(async (before) => {
      const deleteFirst = (table: SQL) =>
        statement(sql`delete from ${table} where start < ${before}
          and start < (select min(start) from ${table}) + ${BATCH_SECONDS} returning 1`);
      const quarters = await deleteFirst(UNITS.quarter.table);
      return quarters.length + (await deleteFirst(sql.raw('channel_hours'))).length;
    }),

    async quartersFrom() {
      const [row] = await statement(sql`select quarters_from from ${PROGRESS.sums} where id = 1`);
      return Number(row?.[0] ?? 0);
    },

    async byTime(filter) {
      const rows = await statement(sql`
        select start, sum(succeeded), sum(failed), sum(spend) from (${used(filter)}) as used group by start order by start`);
      return rows.map((row) => {
        const [start = 0, succeeded = 0, failed = 0, spend = 0] = row.map(Number);
        return { start, succeeded, failed, spend };
      });
    },

    async byDimension(filter, dimension, limit) {
      const rows = await statement(sql`
        select ${GROUPS[dimension]}, sum(succeeded), sum(failed), sum(spend), count(*) over ()
        from (${used(filter)}) as used group by 1, 2, 3 order by 6 desc, 4 desc, 5 desc, 1, 2, 3 limit ${limit}`);
      return {
        total: Number(rows[0]?.[6] ?? 0),
        shares: rows.map(([id, pluginKey, model, succeeded, failed, spend]) => ({
          id: Number(id),
          pluginKey: String(pluginKey),
          model: String(model),
          succeeded: Number(succeeded),
          failed: Number(failed),
          spend: Number(spend),
        })),
      };
    },

    async names(kind, ids) {
      if (ids.length === 0) return new Map();
      const { users, apiKeys, channels } = tables;
      const found = await {
        user: () =>
          db
            .select({ id: users.id, name: users.username })
            .from(users)
            .where(inArray(users.id, [...ids])),
        key: () =>
          db
            .select({ id: apiKeys.id, name: apiKeys.name })
            .from(apiKeys)
            .where(inArray(apiKeys.id, [...ids])),
        channel: () =>
          db
            .select({ id: channels.id, name: channels.name })
            .from(channels)
            .where(inArray(channels.id, [...ids])),
      }[kind]();
      return new Map(found.map(({ id, name }) => [id, name]));
    },

    async channelHours(channelId, from) {
      const rows = await statement(sql`
        select start, kind, duration, sum(tasks) from (
          select start, kind, duration, tasks from channel_hours where channel_id = ${channelId} and start >= ${from}
          union all
          select ${toStart(HOUR)}, kind, ${durationClass}, ${endedTasks} from usage_logs
          where created_at >= ${ADDED_UNTIL} and created_at >= ${from} and +channel_id = ${channelId}
        ) as ended group by start, kind, duration`);
      return rows.map(([start, kind, duration, tasks]) => ({
        start: Number(start),
        kind: kind === 'settle' ? ('settle' as const) : ('refund' as const),
        duration: Number(duration),
        tasks: Number(tasks),
      }));
    },

    async channelFailures(channelId, from, limit) {
      const rows = await statement(sql`
        select detail, reason_sentence, created_at, task_id from usage_logs
        where channel_id = ${channelId} and kind = 'refund' and created_at >= ${from}
        order by created_at desc limit ${limit}`);
      const reasons = new Map<string, Omit<ChannelFailures, 'reason'>>();
      for (const [detail, sentence, at, taskId] of rows) {
        const reason = readReason(String(detail));
        const known = reasons.get(reason);
        if (known) known.tasks += 1;
        else {
          const last = { lastAt: Number(at), lastTask: String(taskId) };
          reasons.set(reason, { tasks: 1, ...last, reasonSentence: decodeSentence(sentence) });
        }
      }
      return [...reasons]
        .map(([reason, failures]) => ({ reason, ...failures }))
        .sort((a, b) => b.tasks - a.tasks || b.lastAt - a.lastAt);
    },

    async recordTest({ channelId, testedAt, failedStep, said }) {
      await statement(sql`
        insert into channel_tests (channel_id, tested_at, failed_step, message, message_sentence)
        values (${channelId}, ${testedAt}, ${failedStep}, ${said?.message ?? ''}, ${said ? encodeSentence(said) : null})
        on conflict (channel_id) do update set tested_at = excluded.tested_at, failed_step = excluded.failed_step,
          message = excluded.message, message_sentence = excluded.message_sentence`);
    },
  };
}

/**
 * Sums, and usage rows that are not among them yet, each with its unit's start. One statement reads
 * both, so that a row which is being added up counts once.
 */
function used(filter: UsageSumFilter): SQL {
  const { table, seconds } = UNITS[filter.unit];
  const { from, until, userId, apiKeyId, channelId, pluginKey, model } = filter;
  // The plus keeps SQLite from reading all rows of a user or key by index: what is not added up yet
  // is a few minutes' worth.
  const conditions = (plus: SQL, key: SQL): SQL => {
    const given: SQL[] = [];
    if (userId !== undefined) given.push(sql`and ${plus}user_id = ${userId}`);
    if (apiKeyId !== undefined) given.push(sql`and ${key} = ${apiKeyId}`);
    if (channelId !== undefined) given.push(sql`and ${plus}channel_id = ${channelId}`);
    if (pluginKey !== undefined) given.push(sql`and plugin_key = ${pluginKey}`);
    if (model !== undefined) given.push(sql`and model = ${model}`);
    return sql.join(given, sql` `);
  };
  return sql`
    select start, ${PARTS}, succeeded, failed, spend from ${table}
    where start >= ${from} and start < ${until} ${conditions(sql``, sql.raw('api_key_id'))}
    union all
    select ${toStart(seconds)}, ${PARTS_OF_ROW}, ${SUCCEEDED}, ${FAILED}, ${SPEND} from usage_logs
    where created_at >= ${ADDED_UNTIL} and created_at >= ${from} and created_at < ${until}
      ${conditions(sql.raw('+'), sql.raw('coalesce(api_key_id, 0)'))}`;
}

function readReason(detail: string): string {
  const { reason } = JSON.parse(detail) as { reason?: unknown };
  return typeof reason === 'string' ? reason : '';
}
