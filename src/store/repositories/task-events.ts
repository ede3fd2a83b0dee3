import { asc, eq, sql } from 'drizzle-orm';
import type { TaskEventKind, TaskStore } from '../ports/index.ts';
import { type Context, lazy } from './context.ts';

/** Rows that the timeline of one task keeps; what ends a task or moves its money is kept beyond. */
const MAX_EVENTS = 50;
const KEPT: ReadonlySet<TaskEventKind> = new Set(['settled', 'refunded', 'late_success']);

export function createTaskEvents({ db, tables, prepare }: Context): Pick<TaskStore, 'addEvent' | 'events'> {
  const { taskEvents: events } = tables;
  const at = sql.placeholder;
  const add = lazy(() =>
    prepare(sql`
      insert into task_events (task_id, at, kind, status, class, http_status, detail)
      select cast(${at('taskId')} as text), cast(${at('at')} as bigint), cast(${at('kind')} as text),
        cast(${at('status')} as text), cast(${at('class')} as text), cast(${at('httpStatus')} as integer),
        cast(${at('detail')} as text)
      where cast(${at('always')} as integer) = 1
        or (select count(*) from task_events where task_id = cast(${at('taskId')} as text)) < ${sql.raw(`${MAX_EVENTS}`)}`),
  );
  return {
    async addEvent({ taskId, at: time, kind, status, class: errorClass = '', httpStatus = 0, detail = '' }) {
      const ends = kind === 'transition' && (status === 'SUCCESS' || status === 'FAILURE');
      const always = ends || KEPT.has(kind) ? 1 : 0;
      await add()({ taskId, at: time, kind, status, class: errorClass, httpStatus, detail, always });
    },

    events: async (taskId) => db.select().from(events).where(eq(events.taskId, taskId)).orderBy(asc(events.id)),
  };
}
