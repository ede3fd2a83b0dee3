import { eq, type SQL, sql } from 'drizzle-orm';
import type { WaitingClass, WaitingRecord } from '../../ports/index.ts';
import { type Context, lazy } from '../context.ts';

/** A class and a priority name a queue, whose tasks are served in the order of their turns. */
type QueueKey = { class: string; priority: number };

/** Tasks that leave a queue. Its number of parked tasks grows by `parked`. */
export type QueueChange = QueueKey & { tasks: number; bytes: number; parked: number; turn: number };

/** A task that enters a queue. Without `turn` it gets its user's next one. */
export type Entry = Omit<WaitingRecord, 'class' | 'turn'> & {
  class: WaitingClass;
  turn?: number | undefined;
  cost: number;
};

export const queueName = ({ class: name, priority }: QueueKey): string => `${name} ${priority}`;

export const addUp = (entries: readonly Pick<WaitingRecord, 'bytes' | 'parked'>[]) => ({
  bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
  parked: entries.filter(({ parked }) => parked !== '').length,
});

const inOrder = (a: { class: string; priority: number }, b: { class: string; priority: number }): number =>
  a.class === b.class ? a.priority - b.priority : a.class < b.class ? -1 : 1;

/**
 * Gives the tasks that enter a queue their turns, and keeps the counters of its row. Queues are
 * changed in one order, so that two transactions never wait for each other. What has waited long
 * moves up in `raise-waiting.ts`; `tasks/dispatch/choose-next-tasks.ts` decides
 * between queues.
 */
export function createWaitingTurns({ db, dialect, tables: { waiting, waitingClasses: classes }, prepare }: Context) {
  const at = sql.placeholder;
  const larger: SQL = dialect === 'sqlite' ? sql.raw('max') : sql.raw('greatest');

  const addToClass = lazy(() =>
    prepare(sql`insert into waiting_classes (class, priority, plugin, model, "group", channel_id, credential_id, waiting, bytes, parked)
      values (${at('class')}, ${at('priority')}, ${at('plugin')}, ${at('model')}, ${at('group')}, ${at('channelId')},
        ${at('credentialId')}, ${at('tasks')}, ${at('bytes')}, ${at('parked')})
      on conflict (class, priority) do update set waiting = waiting_classes.waiting + excluded.waiting,
        bytes = waiting_classes.bytes + excluded.bytes, parked = waiting_classes.parked + excluded.parked
      returning turn`),
  );
  /** One statement: two nodes never give a user the same turn. */
  const advanceTurn = lazy(() =>
    prepare(sql`insert into waiting_turns (class, priority, user_id, turn)
      values (${at('class')}, ${at('priority')}, ${at('userId')}, ${at('next')})
      on conflict (class, priority, user_id) do update
        set turn = ${larger}(waiting_turns.turn + cast(${at('cost')} as bigint), excluded.turn)
      returning turn`),
  );
  const takeFromClass = lazy(() =>
    prepare(sql`update waiting_classes set waiting = ${larger}(0, waiting - cast(${at('tasks')} as bigint)),
        bytes = ${larger}(0, bytes - cast(${at('bytes')} as bigint)),
        parked = ${larger}(0, parked + cast(${at('parked')} as bigint)), turn = ${larger}(turn, cast(${at('turn')} as bigint))
      where class = ${at('class')} and priority = ${at('priority')}`),
  );

  /** Counts entries in their classes, gives them turns, and writes their rows. */
  async function enter(entries: readonly Entry[]): Promise<void> {
    const groups = [...Map.groupBy(entries, (entry) => `${entry.class.class} ${entry.priority}`).values()];
    const sorted = groups
      .flatMap((group) => group.slice(0, 1).map((first) => ({ group, first })))
      .map(({ group, first }) => ({ group, first, class: first.class.class, priority: first.priority }))
      .sort(inOrder);
    for (const { group, first, ...queue } of sorted) {
      const counted = { tasks: group.length, ...addUp(group) };
      const [row] = await addToClass()({ ...first.class, ...queue, ...counted });
      const sent = Number(row?.[0] ?? 0);
      const rows: WaitingRecord[] = group
        .filter(({ turn }) => turn !== undefined)
        .map((entry) => toRow(entry, entry.turn ?? 0));
      const withoutTurn = group.filter(({ turn }) => turn === undefined);
      const byUser = [...Map.groupBy(withoutTurn, ({ userId }) => userId)].sort(([a], [b]) => a - b);
      for (const [userId, own] of byUser) {
        const cost = own.reduce((sum, entry) => sum + entry.cost, 0);
        const [last] = await advanceTurn()({ ...queue, userId, cost, next: sent + cost });
        let turn = Number(last?.[0]) - cost;
        for (const entry of own) {
          turn += entry.cost;
          rows.push(toRow(entry, turn));
        }
      }
      await db.insert(waiting).values(rows);
    }
  }

  const toRow = ({ cost: _, class: of, ...entry }: Entry, turn: number): WaitingRecord => ({
    ...entry,
    class: of.class,
    turn,
  });

  async function count(changes: readonly QueueChange[]): Promise<void> {
    for (const { class: name, priority, tasks, bytes, parked, turn } of [...changes].sort(inOrder))
      await takeFromClass()({ class: name, priority, tasks, bytes, parked, turn });
  }

  async function findClass(name: string): Promise<WaitingClass> {
    const [found] = await db
      .select({
        class: classes.class,
        plugin: classes.plugin,
        model: classes.model,
        group: classes.group,
        channelId: classes.channelId,
        credentialId: classes.credentialId,
      })
      .from(classes)
      .where(eq(classes.class, name))
      .limit(1);
    if (!found) throw new Error('a task waits in a class that does not exist');
    return found;
  }

  return { enter, count, findClass };
}
