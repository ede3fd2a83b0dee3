import { asc, eq, sql } from 'drizzle-orm';
import type { TaskStore } from '../ports/index.ts';
import type { Context } from './context.ts';

/** Rows that the timeline of one task keeps, from design section 5; what ends a task or moves its money is kept beyond. */
const MAX_EVENTS = 50;

export function createTaskEvents({ db, tables, statement }: Context): Pick<TaskStore, 'addEvent' | 'events'> {
  const { taskEvents: events } = tables;
  return {
    async addEvent({ taskId, at, kind, status, class: errorClass = '', httpStatus = 0, detail = '' }) {
      const ends = kind === 'transition' && (status === 'SUCCESS' || status === 'FAILURE');
      const always = ends || kind === 'settled' || kind === 'refunded';
      const room = sql`(select count(*) from task_events where task_id = cast(${taskId} as text)) < ${sql.raw(`${MAX_EVENTS}`)}`;
      await statement(sql`
        insert into task_events (task_id, at, kind, status, class, http_status, detail)
        select cast(${taskId} as text), cast(${at} as bigint), cast(${kind} as text), cast(${status} as text),
          cast(${errorClass} as text), cast(${httpStatus} as integer), cast(${detail} as text)
        where ${always ? sql.raw('1 = 1') : room}`);
    },

    events: async (taskId) => db.select().from(events).where(eq(events.taskId, taskId)).orderBy(asc(events.id)),
  };
}
