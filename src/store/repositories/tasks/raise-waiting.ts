import { inArray, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import { TURN_COST, type WaitingClass, type WaitingRecord, type WaitingStore } from '../../ports/index.ts';
import { type Context, isFromFuture } from '../context.ts';
import { addUp, type createWaitingTurns, type Entry, queueName } from './waiting-turns.ts';

/** How often a task is moved up at most: after each quarter of its wait but the last. */
const QUARTERS = 4;

/** When a task that waits is looked at next: to be moved up, or to end. */
export const nextDue = ({
  sinceMs,
  deadlineMs,
  raised,
}: Pick<WaitingRecord, 'sinceMs' | 'deadlineMs' | 'raised'>): number =>
  raised >= QUARTERS - 1 ? deadlineMs : sinceMs + Math.ceil(((deadlineMs - sinceMs) * (raised + 1)) / QUARTERS);

/** The same, of a row that is there. */
export const NEXT_DUE = sql.raw(`case when raised >= ${QUARTERS - 1} then deadline
  else since + ((deadline - since) * (raised + 1) + ${QUARTERS - 1}) / ${QUARTERS} end`);

/** Moves tasks up that have waited long, and returns those whose wait is over. */
export function createRaising(
  { db, tables: { waiting }, nowMs, now }: Pick<Context, 'db' | 'tables' | 'nowMs' | 'now'>,
  { queues, readNow }: { queues: ReturnType<typeof createWaitingTurns>; readNow: () => Promise<number> },
): WaitingStore['age'] {
  return async (limit, { looksAtAll } = { looksAtAll: false }) => {
    // One range of its index: with a second one, SQLite would walk all that waits in its order.
    const isDue = sql`${waiting.dueAtMs} <= ${nowMs}`;
    const due = await db
      .select()
      .from(waiting)
      .where(looksAtAll ? sql`(${isDue} or ${isFromFuture(waiting.sinceMs, nowMs)})` : isDue)
      .orderBy(waiting.dueAtMs)
      .limit(limit)
      .prepare()
      .execute(now());
    const atMs = due.length > 0 ? await readNow() : 0;
    const isOver = ({ sinceMs, deadlineMs }: WaitingRecord) =>
      deadlineMs <= atMs || sinceMs > atMs + CLOCK_LEEWAY_SECONDS * 1000;
    const risen = due.filter((entry) => !isOver(entry));
    if (risen.length > 0) await raise(risen);
    return due.filter(isOver);
  };

  /** Moves tasks up by one priority, to its end; those at the front stay there. */
  async function raise(risen: readonly WaitingRecord[]): Promise<void> {
    const removed = await db
      .delete(waiting)
      .where(
        inArray(
          waiting.taskId,
          risen.map(({ taskId }) => taskId),
        ),
      )
      .returning();
    const byClass = new Map<string, WaitingClass>();
    for (const { class: name } of removed) if (!byClass.has(name)) byClass.set(name, await queues.findClass(name));
    const moved = removed.flatMap((entry): Entry[] => {
      const of = byClass.get(entry.class);
      if (!of) return [];
      const raised = entry.raised + 1;
      const { turn, ...rest } = entry;
      const next = { ...rest, class: of, cost: TURN_COST, raised, priority: entry.priority + 1 };
      return [{ ...next, dueAtMs: nextDue({ ...entry, raised }), ...(turn === 0 ? { turn } : {}) }];
    });
    await queues.count(
      [...Map.groupBy(removed, queueName).values()].flatMap((group) => {
        const [first] = group;
        return first ? [{ ...first, ...addUp(group), tasks: group.length, parked: 0, turn: 0 }] : [];
      }),
    );
    await queues.enter(moved);
  }
}
