import { and, eq, getTableColumns, gt, type SQL, sql } from 'drizzle-orm';
import {
  LONGEST_RETURN_MS,
  LONGEST_WAIT_MS,
  type NewWaiting,
  STATUS,
  type TakenWaiting,
  type TaskRecord,
  TURN_COST,
  type WaitingStore,
} from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, isOverIn, lazy, type RecordColumns, separate } from '../context.ts';
import { createParkedTasks, toNumber } from './parked-tasks.ts';
import { createRaising, nextDue } from './raise-waiting.ts';
import { createWaitingTurns, type Entry, queueName } from './waiting-turns.ts';

const SENDING = {
  task_id: 'text',
  channel_id: 'bigint',
  credential_id: 'bigint',
  upstream_model: 'text',
  slots: 'bigint',
} as const satisfies RecordColumns;

export function createWaitingStore(context: Context): WaitingStore {
  const { db, dialect, tables, nowMs, now, prepare, lists } = context;
  const { tasks, waiting, waitingClasses: classes, waitingTurns: turns, users, apiKeys, credentials } = tables;
  const at = sql.placeholder;
  const skipLocked = dialect === 'sqlite' ? sql`` : sql`for update skip locked`;

  const readNow = async (): Promise<number> => {
    const [row] = await prepare(sql`select ${nowMs}`)(now());
    return Number(row?.[0]);
  };

  const toEntry = ({ class: of, forMs, ...task }: NewWaiting, atMs: number, notBeforeMs: number): Entry => {
    const times = { sinceMs: atMs, deadlineMs: atMs + Math.min(forMs, LONGEST_WAIT_MS), raised: 0 };
    const entry = { fallsBack: false, ...task, class: of, notBeforeMs, returns: notBeforeMs > 0 ? 1 : 0, ...times };
    // What an own limit holds back is not moved up for that.
    return { ...entry, dueAtMs: task.parked ? times.deadlineMs : nextDue(times) };
  };

  type Price = Pick<TaskRecord, 'quota' | 'billing' | 'properties' | 'action' | 'slots'>;
  /** Moves a task that is being sent to `waiting`. */
  const stopSending = async (task: TaskRecord, waitingSince: number, price?: Price): Promise<boolean> => {
    const moved = await db
      .update(tasks)
      .set({
        phase: 'waiting',
        channelId: 0,
        credentialId: null,
        leaseOwner: null,
        leaseUntilMs: 0,
        dispatchedAtMs: 0,
        waitingSince,
        ...price,
      })
      .where(
        and(
          eq(tasks.taskId, task.taskId),
          eq(tasks.leaseOwner, task.leaseOwner ?? ''),
          eq(tasks.leaseSeq, task.leaseSeq),
          sql`${tasks.status} = 'NOT_START' and ${tasks.phase} = 'sending'`,
          eq(tasks.cancelRequested, false),
        ),
      )
      .returning({ id: tasks.id });
    return moved.length === 1;
  };

  const given = lists.records('given', SENDING);
  const startSending = lazy(() =>
    prepare(sql`update tasks set phase = 'sending', lease_owner = ${at('owner')}, lease_until = ${nowMs} + ${at('leaseForMs')},
        lease_seq = tasks.lease_seq + 1,
        channel_id = coalesce(given.channel_id, tasks.channel_id),
        credential_id = coalesce(given.credential_id, tasks.credential_id),
        upstream_model = coalesce(given.upstream_model, tasks.upstream_model),
        slots = coalesce(given.slots, tasks.slots),
        dispatched_at = case when given.channel_id is null then 0 else ${nowMs} end
      from ${given}
      where tasks.task_id = given.task_id and tasks.status = 'NOT_START' and tasks.phase = 'waiting'
      returning tasks.task_id`),
  );

  const listHeads = lazy(() =>
    prepare(sql`select task_id, user_id, api_key_id, turn, since,
        (select max_running from users where users.id = waiting.user_id),
        (select max_running from api_keys where api_keys.id = waiting.api_key_id),
        coalesce((select slots from tasks where tasks.task_id = waiting.task_id), 1)
      from waiting
      where class = ${at('class')} and node = ${at('node')} and priority = ${at('priority')}
        and not_before = 0 and parked = ''
      order by turn, task_id limit ${at('limit')} ${skipLocked}`),
  );

  // Steps from user to user and from key to key in the indexes: however many tasks wait, only those
  // who have some are looked at.
  const each = (name: string, column: string): SQL =>
    sql.raw(`${name}(id) as (select min(${column}) from waiting
      union all select (select min(${column}) from waiting where ${column} > ${name}.id) from ${name} where ${name}.id is not null)`);
  const enabled = sql.raw(String(STATUS.enabled));
  const findLost = lazy(() =>
    prepare(sql`with recursive ${each('payers', 'user_id')}, ${each('used_keys', 'api_key_id')},
      lost_users as (select id from payers where id is not null and not exists (
        select 1 from ${users} where ${users.id} = payers.id and ${users.deletedAt} = 0 and ${users.status} = ${enabled})),
      lost_keys as (select id from used_keys where id is not null and not exists (
        select 1 from ${apiKeys} where ${apiKeys.id} = used_keys.id and ${apiKeys.status} = ${enabled})),
      lost_classes as (select distinct class from waiting_classes where channel_id > 0 and waiting > 0 and not exists (
        select 1 from ${credentials} where ${credentials.channelId} = waiting_classes.channel_id
          and waiting_classes.credential_id in (0, ${credentials.id}) and ${credentials.removedAt} = 0))
      select task_id, 'caller' from lost_users cross join waiting where user_id = lost_users.id
      union select task_id, 'caller' from lost_keys cross join waiting where api_key_id = lost_keys.id
      union select task_id, 'channel' from lost_classes cross join waiting
        where waiting.class = lost_classes.class and not_before = 0 and parked = ''
      limit ${at('limit')}`),
  );

  const findFallingBack = lazy(() =>
    db
      .select()
      .from(waiting)
      .where(
        sql`${eq(waiting.class, at('class'))} and ${sql.raw(dialect === 'sqlite' ? 'falls_back = 1' : 'falls_back')} and ${waiting.notBeforeMs} = 0 and ${waiting.parked} = ''
          and ${lists.amongTexts(waiting.node, 'nodes')} and ${waiting.sinceMs} <= ${nowMs} - cast(${at('waitedMs')} as bigint)`,
      )
      .orderBy(waiting.sinceMs)
      .limit(at('limit'))
      .offset(at('skip'))
      .prepare(),
  );
  const takeRows = lazy(() => db.delete(waiting).where(lists.amongTexts(waiting.taskId, 'ids')).returning().prepare());
  const readTasks = lazy(() =>
    db.select(getTableColumns(tasks)).from(tasks).where(lists.amongTexts(tasks.taskId, 'ids')).prepare(),
  );
  const readClasses = lazy(() => db.select().from(classes).where(gt(classes.waiting, 0)).prepare());

  const queues = createWaitingTurns(context);
  const parkedTasks = createParkedTasks(context, queues.count);

  return {
    ...parkedTasks.store,

    put: atomic(async (added) => {
      if (added.length === 0) return;
      const atMs = await readNow();
      await queues.enter(added.map((task) => toEntry(task, atMs, 0)));
    }),

    heads: separate(async ({ nodes, limit, ...of }) => {
      const found = [];
      for (const node of nodes) found.push(...(await listHeads()({ ...of, node, limit })));
      return found
        .map(([taskId, userId, apiKeyId, turn, sinceMs, user, key, slots]) => ({
          taskId: String(taskId),
          userId: Number(userId),
          apiKeyId: toNumber(apiKeyId),
          turn: Number(turn),
          sinceMs: Number(sinceMs),
          slots: Number(slots),
          most: { key: toNumber(key), user: toNumber(user) },
        }))
        .sort((a, b) => a.turn - b.turn || (a.taskId < b.taskId ? -1 : 1))
        .slice(0, limit);
    }),

    take: atomic(async (dequeuings, { owner, leaseForMs }) => {
      if (dequeuings.length === 0) return [];
      const ids = dequeuings.map(({ taskId }) => taskId);
      const removed = await takeRows().execute({ ids: encodeTexts(ids) });
      const byId = new Map(removed.map((entry) => [entry.taskId, entry]));
      const rows = dequeuings
        .filter(({ taskId }) => byId.has(taskId))
        .map(({ taskId, sending }) => ({
          task_id: taskId,
          ...(sending
            ? {
                channel_id: sending.channelId,
                credential_id: sending.credentialId,
                upstream_model: sending.upstreamModel,
                slots: sending.slots,
              }
            : {}),
        }));
      if (rows.length === 0) return [];
      const moved = (await startSending()({ given: JSON.stringify(rows), owner, leaseForMs, ...now() })).map(([id]) =>
        String(id),
      );
      const stored = await readTasks().execute({ ids: encodeTexts(moved) });
      const taskById = new Map(stored.map((task) => [task.taskId, task]));
      return ids.flatMap((taskId): TakenWaiting[] => {
        const [task, entry] = [taskById.get(taskId), byId.get(taskId)];
        return task && entry ? [{ task, entry }] : [];
      });
    }),

    count: atomic(async (taken, { isSent, parks = [] }) => {
      await parkedTasks.park(parks);
      const leaving = [...taken.map(({ entry }) => entry), ...parks];
      const changes = [...Map.groupBy(leaving, queueName).values()].map(([first]) => {
        const group = taken.filter(({ entry }) => first && queueName(entry) === queueName(first));
        const parking = parks.filter((entry) => first && queueName(entry) === queueName(first));
        // Tasks that came back, or were moved to the front, do not show how far the others are.
        const counted = isSent ? group.filter(({ entry }) => entry.returns === 0).map(({ entry }) => entry.turn) : [];
        return {
          class: first?.class ?? '',
          priority: first?.priority ?? 0,
          tasks: group.length,
          bytes: group.reduce((sum, { entry }) => sum + entry.bytes, 0),
          parked: parking.length - group.filter(({ entry }) => entry.parked !== '').length,
          turn: Math.max(0, ...counted),
        };
      });
      await queues.count(changes);
    }),

    fallingBack: separate(({ class: name, nodes, ...of }) =>
      findFallingBack().execute({ ...now(), ...of, class: name, nodes: encodeTexts(nodes) }),
    ),

    async keepModel(taskId) {
      await db.update(waiting).set({ fallsBack: false }).where(eq(waiting.taskId, taskId));
    },

    putBack: atomic(async ({ task, entry: former }, { waitMs, counts, into }) => {
      const { quota, billing, properties, action, slots } = task;
      const price = { quota, billing, properties, action, slots };
      if (!(await stopSending(task, Math.floor(former.sinceMs / 1000), price))) return false;
      const notBeforeMs = waitMs > 0 ? (await readNow()) + Math.min(waitMs, LONGEST_RETURN_MS) : 0;
      const entry = into
        ? { ...former, class: into, turn: undefined, cost: TURN_COST * task.slots, notBeforeMs }
        : { ...former, class: await queues.findClass(former.class), cost: 0, notBeforeMs };
      await queues.enter([{ ...entry, returns: former.returns + (counts ? 1 : 0) }]);
      return true;
    }),

    putSent: atomic(async (task, added, waitMs) => {
      const atMs = await readNow();
      if (!(await stopSending(task, Math.floor(atMs / 1000)))) return false;
      await queues.enter([toEntry(added, atMs, atMs + Math.max(1, Math.min(waitMs, LONGEST_RETURN_MS)))]);
      return true;
    }),

    async wake() {
      const woken = await db
        .update(waiting)
        .set({ notBeforeMs: 0 })
        .where(sql`${waiting.notBeforeMs} > 0 and ${isOverIn(waiting.notBeforeMs, nowMs, LONGEST_RETURN_MS)}`)
        .returning({ taskId: waiting.taskId })
        .prepare()
        .execute(now());
      return woken.length;
    },

    async untilDue() {
      const [row] = await prepare(sql`select min(due) - ${nowMs} from (
        select (select min(due_at) from waiting) as due
        union all select (select min(not_before) from waiting where not_before > 0)) as next where due is not null`)(
        now(),
      );
      return row?.[0] === null || row?.[0] === undefined ? undefined : Number(row[0]);
    },

    age: atomic(createRaising(context, { queues, readNow })),

    ofDeadNodes: async (liveNodes, limit) =>
      (
        await prepare(sql`select task_id from waiting where attached <> '' and not ${lists.amongTexts(sql.raw('attached'), 'live')}
          limit ${at('limit')}`)({ live: encodeTexts(liveNodes), limit })
      ).map(([taskId]) => String(taskId)),

    findLost: async (limit) =>
      (await findLost()({ limit })).map(([taskId, lost]) => ({
        taskId: String(taskId),
        lost: lost as 'caller' | 'channel',
      })),

    classes: () => readClasses().execute(),

    async countByUser(userIds) {
      const rows =
        await prepare(sql`select user_id, count(*) from waiting where ${lists.amongIds(sql.raw('user_id'), 'ids')}
        group by user_id`)({ ids: JSON.stringify(userIds) });
      return new Map(rows.map(([userId, count]) => [Number(userId), Number(count)]));
    },

    async requestCancel(taskId) {
      const noted = await db
        .update(tasks)
        .set({ cancelRequested: true })
        .where(and(eq(tasks.taskId, taskId), sql`${tasks.status} = 'NOT_START' and ${tasks.phase} = 'sending'`))
        .returning({ id: tasks.id });
      return noted.length === 1;
    },

    sweep: separate(async (limit) => {
      const passed = sql`select ${turns.class}, ${turns.priority}, ${turns.userId} from ${turns}
        left join ${classes} on ${classes.class} = ${turns.class} and ${classes.priority} = ${turns.priority}
        where ${classes.class} is null or ${turns.turn} <= ${classes.turn} limit ${limit}`;
      const removed = await db
        .delete(turns)
        .where(sql`(${turns.class}, ${turns.priority}, ${turns.userId}) in (${passed})`)
        .returning({ userId: turns.userId });
      await db
        .delete(classes)
        .where(
          and(
            eq(classes.waiting, 0),
            sql`not exists (select 1 from ${turns} where ${turns.class} = ${classes.class} and ${turns.priority} = ${classes.priority})`,
          ),
        );
      return removed.length;
    }),
  };
}
