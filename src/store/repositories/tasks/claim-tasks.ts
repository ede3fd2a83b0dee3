import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { LeaseBinding } from '../../drivers/memory-leases.ts';
import { LONGEST_LEASE_MS, type TaskRecord, type TaskStore } from '../../ports/index.ts';
import { type Context, encodeTexts, isOverIn, lazy, separate } from '../context.ts';

/**
 * Literals and not parameters: only then do SQLite and PostgreSQL use the partial indexes of
 * unfinished tasks. The `where` of the indexes has the same text.
 */
export const RUNNING = sql.raw(`('SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);
export const UNFINISHED = sql.raw(`('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);
/**
 * Unfinished tasks by the indexes `tasks_running` and `tasks_open`. Their `where` names the time of
 * the end: an index whose `where` names the status is written at each change of it.
 */
export const IS_OPEN = sql`tasks.finish_time = 0 and tasks.status in ${UNFINISHED}`;
export const IS_SENDING = sql`${IS_OPEN} and tasks.phase = 'sending'`;
/** With both phases named, the tasks of a channel stand together in `tasks_running`. */
export const IS_OPEN_AT_CHANNEL = sql`${IS_OPEN} and tasks.phase in ('sending', 'waiting') and tasks.channel_id`;

type Claims = Pick<TaskStore, 'claimDue' | 'untilDue' | 'claimInterrupted' | 'claimOverdue' | 'makeDue'>;

type Claim = { owner: string; limit: number; leaseForMs: number };
/** A claim of rows in the database. `held` is the JSON of ids, or of texts. */
type WrittenClaim = Claim & { held: string };

/**
 * The three ways to claim tasks. One statement finds the tasks, skips rows that another node is
 * claiming at that moment, and gives them the owner and the next fencing number. If one process
 * owns the database, leases of running tasks are held in `memory`, and the statement only finds the
 * tasks.
 */
export function createTaskClaims(context: Context, memory: LeaseBinding | undefined): Claims {
  const {
    db,
    tables,
    nowMs,
    now,
    prepare,
    lists: { amongRows, amongTexts, notAmong },
  } = context;
  const { tasks } = tables;
  const at = sql.placeholder;
  const leaseIsFree = isOverIn(tasks.leaseUntilMs, nowMs, LONGEST_LEASE_MS);

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
    return async (values: WrittenClaim): Promise<TaskRecord[]> => claim.execute({ ...values, ...now() });
  };

  const prepareMemoryClaim = ({ leases }: LeaseBinding, condition: SQL, order: SQL) => {
    const find = db
      .select()
      .from(tasks)
      .where(and(condition, leaseIsFree, notAmong(sql`${tasks.id}`, 'held')))
      .orderBy(order)
      .limit(at('limit'))
      .prepare();
    return async (values: WrittenClaim & { channelId?: number }): Promise<TaskRecord[]> => {
      const held = JSON.stringify([...leases.claimedIds(values.channelId), ...JSON.parse(values.held)]);
      const found = await find.execute({ ...values, held, ...now() });
      return leases.claim(found, values.owner, values.leaseForMs);
    };
  };
  const prepareClaim = (condition: SQL, order: SQL) =>
    memory
      ? prepareMemoryClaim(memory, condition, order)
      : prepareWrittenClaim(sql`${condition} and ${notAmong(sql`${tasks.id}`, 'held')}`, order);

  const isRunning = sql`${tasks.status} in ${RUNNING}`;
  const isDue = sql`${tasks.channelId} = ${at('channelId')} and ${isRunning} and ${tasks.nextPollAtMs} <= ${nowMs}`;
  const due = lazy(() => prepareClaim(isDue, sql`${tasks.nextPollAtMs}`));
  // A lease that was ended, and has not merely run out, is held by nobody. What waits has none.
  const isLeft = sql`${tasks.status} = 'NOT_START' and ${tasks.phase} = 'sending' and (${tasks.leaseUntilMs} = 0 or not ${amongTexts(tasks.taskId, 'held')})`;
  const interrupted = lazy(() => prepareWrittenClaim(isLeft, sql`${tasks.leaseUntilMs}`));
  const overdue = lazy(() =>
    prepareClaim(sql`${isRunning} and ${tasks.submitTime} <= ${at('submittedBefore')}`, sql`${tasks.submitTime}`),
  );

  // Steps from channel to channel in the index, so that it costs the same however many tasks are
  // due. A channel whose tasks are all claimed is left out: it would take a share from the others.
  const firstOfChannels = (condition: SQL, result: SQL) => {
    const notHeld = memory ? sql`and ${notAmong(sql`tasks.id`, 'held')}` : sql``;
    const running = (following: SQL) =>
      sql`(select channel_id from tasks where status in ${RUNNING} ${following} order by channel_id limit 1)`;
    const oldest = sql`(select next_poll_at from tasks where channel_id = channels.id and status in ${RUNNING}
      ${condition} and ${isOverIn(sql`lease_until`, nowMs, LONGEST_LEASE_MS)} ${notHeld} order by next_poll_at limit 1)`;
    return prepare(sql`
      with recursive channels(id) as (
        select ${running(sql``)}
        union all select ${running(sql`and channel_id > channels.id`)} from channels where channels.id is not null
      )
      select ${result} from (select id, ${oldest} as due_at from channels where id is not null) as found
      where due_at is not null order by due_at`);
  };
  const findDueChannels = lazy(() => firstOfChannels(sql`and next_poll_at <= ${nowMs}`, sql`id`));
  const findNextDue = lazy(() => firstOfChannels(sql``, sql`due_at - ${nowMs}`));
  const heldIds = () => JSON.stringify(memory?.leases.claimedIds());

  // `returning` guarantees no order.
  const byLateness = (a: TaskRecord, b: TaskRecord) => a.nextPollAtMs - b.nextPollAtMs || a.id - b.id;

  return {
    async makeDue(taskId) {
      const updated = await db
        .update(tasks)
        .set({ nextPollAtMs: nowMs })
        .where(
          and(
            eq(tasks.taskId, at('taskId')),
            sql`${tasks.status} in ${RUNNING}`,
            sql`${tasks.nextPollAtMs} > ${nowMs}`,
          ),
        )
        .returning({ id: tasks.id })
        .prepare()
        .execute({ taskId, ...now() });
      return updated.length === 1;
    },

    claimDue: separate(async ({ owner, limit, leaseForMs, exceptChannels, held = [] }) => {
      const found = (await findDueChannels()({ held: heldIds(), ...now() })).map(([id]) => Number(id));
      let channels = found.filter((id) => !exceptChannels.includes(id));
      const claimed: TaskRecord[] = [];
      while (channels.length > 0 && claimed.length < limit) {
        const left = limit - claimed.length;
        const share = Math.max(1, Math.floor(left / channels.length));
        const claims = await Promise.allSettled(
          channels.slice(0, left).map(async (channelId) => {
            const claim = { owner, limit: share, leaseForMs, channelId, held: JSON.stringify(held) };
            return { channelId, taken: await due()(claim) };
          }),
        );
        const succeeded = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
        for (const { taken } of succeeded) claimed.push(...taken);
        const failed = claims.find(({ status }) => status === 'rejected');
        // Tasks that were claimed are returned all the same: otherwise they would wait until their
        // leases expire.
        if (failed?.status === 'rejected' && claimed.length === 0) throw failed.reason;
        // The unused share of some channels goes to those that have more.
        const remaining = succeeded.filter(({ taken }) => taken.length === share).map(({ channelId }) => channelId);
        channels = failed ? [] : remaining;
      }
      return claimed.sort(byLateness);
    }),
    async untilDue() {
      const [first] = await findNextDue()({ held: heldIds(), ...now() });
      return first && Number(first[0]);
    },
    claimInterrupted: ({ held = [], ...claim }) => interrupted()({ ...claim, held: encodeTexts(held) }),
    claimOverdue: ({ held = [], ...claim }) => overdue()({ ...claim, held: JSON.stringify(held) }),
  };
}
