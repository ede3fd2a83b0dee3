import { asc, eq, sql } from 'drizzle-orm';
import type { NewTaskEvent, TaskEventKind, TaskStore } from '../ports/index.ts';
import { type Context, lazy, plainText } from './context.ts';

/** Rows that the timeline of one task keeps; what ends a task or moves its money is kept beyond. */
const MAX_EVENTS = 50;
const KEPT: ReadonlySet<TaskEventKind> = new Set(['settled', 'refunded', 'late_success']);

/** `addEvents`: each of them `addEvent`, in one statement; of one task at most one. */
export function createTaskEvents({ db, tables, elements, prepare }: Context) {
  const { taskEvents: events } = tables;
  const add = lazy(() =>
    prepare(sql`
      insert into task_events (task_id, at, kind, status, class, http_status, detail)
      select told.value ->> 'task_id', cast(told.value ->> 'at' as bigint), told.value ->> 'kind', told.value ->> 'status',
        told.value ->> 'class', cast(told.value ->> 'http_status' as integer), told.value ->> 'detail'
      from ${elements('events')} as told
      where told.value ->> 'always' = 'yes' or ${sql.raw(`${MAX_EVENTS}`)} >
        (select count(*) from task_events as kept where kept.task_id = told.value ->> 'task_id')`),
  );
  const addEvents = async (added: readonly NewTaskEvent[]): Promise<void> => {
    if (added.length > 0) await add()({ events: JSON.stringify(added.map(encode)) });
  };
  return {
    addEvents,
    addEvent: (event) => addEvents([event]),
    events: async (taskId) => db.select().from(events).where(eq(events.taskId, taskId)).orderBy(asc(events.id)),
  } satisfies Pick<TaskStore, 'addEvent' | 'events'> & Record<'addEvents', unknown>;
}

function encode({ taskId, at, kind, status, class: errorClass = '', httpStatus = 0, detail = '' }: NewTaskEvent) {
  const ends = kind === 'transition' && (status === 'SUCCESS' || status === 'FAILURE');
  return {
    task_id: taskId,
    at,
    kind,
    status,
    class: errorClass,
    http_status: httpStatus,
    detail: plainText(detail),
    always: ends || KEPT.has(kind) ? 'yes' : 'no',
  };
}
