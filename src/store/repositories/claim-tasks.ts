import { type SQL, sql } from 'drizzle-orm';
import type { TaskRecord, TaskStore } from '../ports/index.ts';
import { type Context, lazy } from './context.ts';

/**
 * Literals and not parameters: only so do SQLite and PostgreSQL see that the partial indexes of unfinished tasks apply. The
 * indexes' own `where` is written in the same words.
 */
export const RUNNING = sql.raw(`('SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);
export const UNFINISHED = sql.raw(`('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS')`);

type Claims = Pick<TaskStore, 'claimDue' | 'claimInterrupted' | 'claimOverdue'>;

/**
 * The three ways to take a lease. Each is one statement: it finds the tasks, passing over rows that another node is claiming at
 * the moment, and makes them the owner's under the next fencing number.
 */
export function createTaskClaims({ db, tables, nowMs, now, notAmong, amongRows }: Context): Claims {
  const { tasks } = tables;
  const at = sql.placeholder;
  const leaseIsFree = sql`${tasks.leaseUntilMs} <= ${nowMs}`;

  const prepareClaim = (condition: SQL, order: SQL) => {
    const wanted = sql`select ${tasks.id} from ${tasks} where ${condition} and ${leaseIsFree} order by ${order} limit ${at('limit')}`;
    return db
      .update(tasks)
      .set({
        leaseOwner: sql`${at('owner')}`,
        leaseUntilMs: sql`${nowMs} + ${at('leaseForMs')}`,
        leaseSeq: sql`${tasks.leaseSeq} + 1`,
      })
      .where(amongRows(tasks.id, wanted))
      .returning()
      .prepare();
  };

  const isRunning = sql`${tasks.status} in ${RUNNING}`;
  const due = lazy(() =>
    prepareClaim(
      sql`${isRunning} and ${tasks.nextPollAtMs} <= ${nowMs} and ${notAmong(sql`${tasks.channelId}`, 'exceptChannels')}`,
      sql`${tasks.nextPollAtMs}`,
    ),
  );
  const interrupted = lazy(() => prepareClaim(sql`${tasks.status} = 'NOT_START'`, sql`${tasks.leaseUntilMs}`));
  const overdue = lazy(() =>
    prepareClaim(sql`${isRunning} and ${tasks.submitTime} <= ${at('submittedBefore')}`, sql`${tasks.submitTime}`),
  );

  // `returning` promises no order.
  const byLateness = (a: TaskRecord, b: TaskRecord) => a.nextPollAtMs - b.nextPollAtMs || a.id - b.id;

  return {
    async claimDue({ owner, limit, leaseForMs, exceptChannels }) {
      const values = { owner, limit, leaseForMs, exceptChannels: JSON.stringify(exceptChannels), ...now() };
      return (await due().execute(values)).sort(byLateness);
    },
    claimInterrupted: async (claim) => interrupted().execute({ ...claim, ...now() }),
    claimOverdue: async (claim) => overdue().execute({ ...claim, ...now() }),
  };
}
