import { type SQL, sql } from 'drizzle-orm';
import type { ParkedBy, Parking, WaitingStore } from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, lazy, type RecordColumns } from '../context.ts';
import { IS_SENDING } from './claim-tasks.ts';
import { NEXT_DUE } from './raise-waiting.ts';
import { type QueueChange, queueName } from './waiting-turns.ts';

const PARKING = { task_id: 'text', parked: 'text' } as const satisfies RecordColumns;

export const toNumber = (value: unknown): number | null => (value === null ? null : Number(value));

/** Counts the running tasks of users, and parks those that their own limits hold back. */
export function createParkedTasks(
  { tables: { waiting }, prepare, lists, lockRows }: Context,
  count: (changes: readonly QueueChange[]) => Promise<void>,
) {
  const at = sql.placeholder;
  const ofUsers = lists.amongIds(sql.raw('user_id'), 'ids');
  const countRunning = lazy(() =>
    prepare(sql`select user_id, api_key_id, "group", count(*) from tasks
      where ${IS_SENDING} and ${ofUsers} group by user_id, api_key_id, "group"`),
  );
  const lockUsers = lazy(() =>
    prepare(sql`select id from users where ${lists.amongIds(sql.raw('id'), 'ids')} order by id ${lockRows}`),
  );
  const listParked = (where: SQL) =>
    lazy(() =>
      prepare(sql`select user_id, api_key_id, class, parked,
          (select max_running from users where users.id = held.user_id),
          (select max_running from api_keys where api_keys.id = held.api_key_id)
        from (select distinct user_id, api_key_id, class, parked from waiting
          where parked <> '' and ${where}) as held`),
    );
  const listAllParked = listParked(sql`true`);
  const listParkedByUser = listParked(ofUsers);
  const countUnparked = lazy(() =>
    prepare(sql`select user_id, api_key_id, class, count(*) from waiting
      where parked = '' and ${ofUsers} group by user_id, api_key_id, class`),
  );
  const parkedHeads = lazy(() =>
    prepare(sql`select task_id, api_key_id, class from waiting
      where parked <> '' and user_id = ${at('userId')}
        and ${lists.amongIds(sql`coalesce(api_key_id, 0)`, 'keys')} and ${lists.amongTexts(waiting.class, 'classes')}
      order by task_id limit ${at('limit')}`),
  );
  const park = lazy(() =>
    prepare(sql`update waiting set parked = parking.parked, due_at = deadline
      from ${lists.records('parking', PARKING)} where waiting.task_id = parking.task_id`),
  );
  const unpark = lazy(() =>
    prepare(sql`update waiting set parked = '', due_at = ${NEXT_DUE}
      where parked <> '' and ${lists.amongTexts(waiting.taskId, 'ids')}
      returning class, priority`),
  );

  const store: Pick<WaitingStore, 'running' | 'parked' | 'unparked' | 'parkedHeads' | 'release'> = {
    async running(userIds, { locks }) {
      const ids = JSON.stringify(userIds);
      if (locks) await lockUsers()({ ids });
      return (await countRunning()({ ids })).map(([userId, apiKeyId, group, running]) => ({
        userId: Number(userId),
        apiKeyId: toNumber(apiKeyId),
        group: String(group),
        running: Number(running),
      }));
    },

    async parked(userIds) {
      const rows = userIds ? await listParkedByUser()({ ids: JSON.stringify(userIds) }) : await listAllParked()({});
      return rows.map(([userId, apiKeyId, name, parked, user, key]) => ({
        userId: Number(userId),
        apiKeyId: toNumber(apiKeyId),
        class: String(name),
        parked: parked as ParkedBy,
        most: { key: toNumber(key), user: toNumber(user) },
      }));
    },

    async unparked(userIds) {
      return (await countUnparked()({ ids: JSON.stringify(userIds) })).map(([userId, apiKeyId, name, tasks]) => ({
        userId: Number(userId),
        apiKeyId: toNumber(apiKeyId),
        class: String(name),
        tasks: Number(tasks),
      }));
    },

    async parkedHeads({ keys, classes: names, ...of }) {
      const wanted = { keys: JSON.stringify(keys), classes: encodeTexts(names) };
      return (await parkedHeads()({ ...of, ...wanted })).map(([taskId, apiKeyId, name]) => ({
        taskId: String(taskId),
        apiKeyId: toNumber(apiKeyId),
        class: String(name),
      }));
    },

    release: atomic(async (taskIds) => {
      if (taskIds.length === 0) return 0;
      const released = await unpark()({ ids: encodeTexts(taskIds) });
      const queues = released.map(([name, priority]) => ({ class: String(name), priority: Number(priority) }));
      const changes = [...Map.groupBy(queues, queueName).values()].flatMap((group) => {
        const [queue] = group;
        return queue ? [{ ...queue, tasks: 0, bytes: 0, turn: 0, parked: -group.length }] : [];
      });
      await count(changes);
      return released.length;
    }),
  };

  async function parkTasks(parks: readonly Parking[]): Promise<void> {
    if (parks.length === 0) return;
    const rows = parks.map(({ taskId, parked }) => ({ task_id: taskId, parked }));
    await park()({ parking: JSON.stringify(rows) });
  }

  return { store, park: parkTasks };
}
