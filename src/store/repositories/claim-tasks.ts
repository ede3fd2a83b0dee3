import { and, type SQL, sql } from 'drizzle-orm';
import type { TaskClaims } from '../drivers/memory-leases.ts';
import type { TaskRecord, TaskStore } from '../ports/index.ts';
import { type Context, createRowReader, lazy } from './context.ts';

/**
 * Literals and not parameters: only so do SQLite and PostgreSQL see that the partial indexes of
 * unfinished tasks apply. The indexes' own `where` is written in the same words.
 */
export const RUNNING = sql.raw(`('SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);
export const UNFINISHED = sql.raw(`('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);

type Claims = Pick<TaskStore, 'claimDue' | 'claimInterrupted' | 'claimOverdue'>;

type Claim = { owner: string; limit: number; leaseForMs: number };

/**
 * The three ways to take a lease. Each task is taken by one statement: it finds the tasks, passing
 * over rows that another node is claiming at the moment, and makes them the owner's under the next
 * fencing number. Where one process has the database, leases of running tasks are `held` in memory,
 * and the statement only finds them.
 */
export function createTaskClaims(context: Context, held: TaskClaims | undefined): Claims {
  const { db, tables, nowMs, now, prepare, amongRows, notAmong } = context;
  const { tasks } = tables;
  const at = sql.placeholder;
  const readTask = createRowReader<TaskRecord>(tasks);
  const leaseIsFree = sql`${tasks.leaseUntilMs} <= ${nowMs}`;

  const prepareWrittenClaim = (condition: SQL, order: SQL) => {
    const wanted = sql`select ${tasks.id} from ${tasks} where ${condition} and ${leaseIsFree} order by ${order} limit ${at('limit')}`;
    const claim = db
      .update(tasks)
      .set({
        leaseOwner: sql`${at('owner')}`,
        leaseUntilMs: sql`${nowMs} + ${at('leaseForMs')}`,
        leaseSeq: sql`${tasks.leaseSeq} + 1`,
      })
      .where(amongRows(tasks.id, wanted))
      .returning()
      .prepare();
    return async (values: Claim): Promise<TaskRecord[]> => claim.execute({ ...values, ...now() });
  };

  const prepareHeldClaim = ({ book }: TaskClaims, condition: SQL, order: SQL) => {
    const find = db
      .select()
      .from(tasks)
      .where(and(condition, leaseIsFree, notAmong(sql`${tasks.id}`, 'held')))
      .orderBy(order)
      .limit(at('limit'));
    const run = prepare(find.getSQL());
    return async (values: Claim & { channelId?: number }): Promise<TaskRecord[]> => {
      const held = JSON.stringify(book.held(values.channelId));
      const found = await run({ ...values, held, ...now() });
      return book.take(found.map(readTask), values.owner, values.leaseForMs);
    };
  };
  const prepareClaim = (condition: SQL, order: SQL) =>
    held ? prepareHeldClaim(held, condition, order) : prepareWrittenClaim(condition, order);

  const isRunning = sql`${tasks.status} in ${RUNNING}`;
  const isDue = sql`${tasks.channelId} = ${at('channelId')} and ${isRunning} and ${tasks.nextPollAtMs} <= ${nowMs}`;
  const due = lazy(() => prepareClaim(isDue, sql`${tasks.nextPollAtMs}`));
  const interrupted = lazy(() => prepareWrittenClaim(sql`${tasks.status} = 'NOT_START'`, sql`${tasks.leaseUntilMs}`));
  const overdue = lazy(() =>
    prepareClaim(sql`${isRunning} and ${tasks.submitTime} <= ${at('submittedBefore')}`, sql`${tasks.submitTime}`),
  );

  // Steps from channel to channel in the index, so that it costs the same whatever is due. One
  // whose tasks are all claimed is not among them: it would take the place of another.
  const findDueChannels = lazy(() => {
    const notHeld = held ? sql`and ${notAmong(sql`tasks.id`, 'held')}` : sql``;
    const running = (condition: SQL) =>
      sql`(select channel_id from tasks where status in ${RUNNING} ${condition} order by channel_id limit 1)`;
    const oldest = sql`(select next_poll_at from tasks where channel_id = channels.id and status in ${RUNNING}
      and next_poll_at <= ${nowMs} and lease_until <= ${nowMs} ${notHeld} order by next_poll_at limit 1)`;
    return prepare(sql`
      with recursive channels(id) as (
        select ${running(sql``)}
        union all select ${running(sql`and channel_id > channels.id`)} from channels where channels.id is not null
      )
      select id, due_at from (select id, ${oldest} as due_at from channels where id is not null) as found
      where due_at is not null order by due_at`);
  });

  // `returning` promises no order.
  const byLateness = (a: TaskRecord, b: TaskRecord) => a.nextPollAtMs - b.nextPollAtMs || a.id - b.id;

  return {
    async claimDue({ owner, limit, leaseForMs, exceptChannels }) {
      const found = (await findDueChannels()({ held: JSON.stringify(held?.book.held()), ...now() })).map(([id]) =>
        Number(id),
      );
      let channels = found.filter((id) => !exceptChannels.includes(id));
      const claimed: TaskRecord[] = [];
      while (channels.length > 0 && claimed.length < limit) {
        const left = limit - claimed.length;
        const share = Math.max(1, Math.floor(left / channels.length));
        const claims = await Promise.allSettled(
          channels.slice(0, left).map(async (channelId) => {
            return { channelId, taken: await due()({ owner, limit: share, leaseForMs, channelId }) };
          }),
        );
        const made = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
        for (const { taken } of made) claimed.push(...taken);
        const failed = claims.find(({ status }) => status === 'rejected');
        // What was claimed is handed over all the same: else it would wait until its leases run
        // out.
        if (failed?.status === 'rejected' && claimed.length === 0) throw failed.reason;
        // What some had no use for goes to those that have more.
        const open = made.filter(({ taken }) => taken.length === share).map(({ channelId }) => channelId);
        channels = failed ? [] : open;
      }
      return claimed.sort(byLateness);
    },
    claimInterrupted: (claim) => interrupted()(claim),
    claimOverdue: (claim) => overdue()(claim),
  };
}
