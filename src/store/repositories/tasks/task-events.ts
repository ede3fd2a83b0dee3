import { and, asc, eq, sql } from 'drizzle-orm';
import { hasEnded, type NewTaskEvent, type TaskEventKind, type TaskStore } from '../../ports/index.ts';
import { atomic, type Context, encodeSentence, lazy, type RecordColumns, toJsonSafeText } from '../context.ts';

/**
 * The most rows in the timeline of a task. Rows that end it or move its money are written beyond
 * that.
 */
const MAX_EVENTS = 50;
/** The latest channels that did not take a task. */
const MAX_PASSED_OVER = 10;
const BETWEEN = ', ';
const ALWAYS_WRITTEN: ReadonlySet<TaskEventKind> = new Set(['settled', 'refunded', 'late_success']);

/** The columns of an event. `always`: it is written into a timeline that is full. */
const COLUMNS = {
  task_id: 'text',
  at: 'bigint',
  kind: 'text',
  status: 'text',
  class: 'text',
  http_status: 'integer',
  detail: 'text',
  detail_sentence: 'text',
  always: 'text',
} as const satisfies RecordColumns;

export function createTaskEvents({ db, tables, lists: { prepareRecords } }: Context) {
  const { taskEvents: events } = tables;
  const add = lazy(() =>
    prepareRecords(
      { name: 'event', columns: COLUMNS },
      (records) => sql`
        insert into task_events (task_id, at, kind, status, class, http_status, detail, detail_sentence)
        select task_id, at, kind, status, class, http_status, detail, detail_sentence from ${records}
        where event.always = 'yes' or ${sql.raw(`${MAX_EVENTS}`)} >
          (select count(*) from task_events as kept where kept.task_id = event.task_id)`,
    ),
  );
  const addEvents = async (added: readonly NewTaskEvent[]): Promise<void> => {
    if (added.length > 0) await add()(added.map(encode));
  };
  const addEvent = (event: NewTaskEvent): Promise<void> => addEvents([event]);
  const passedOver = lazy(() =>
    db
      .select({ id: events.id, detail: events.detail })
      .from(events)
      .where(and(eq(events.taskId, sql.placeholder('taskId')), eq(events.kind, 'passed_over')))
      .limit(1)
      .prepare(),
  );
  const ofTask = lazy(() =>
    db
      .select()
      .from(events)
      .where(eq(events.taskId, sql.placeholder('taskId')))
      .orderBy(asc(events.id))
      .prepare(),
  );
  return {
    addEvents: atomic(addEvents),
    addEvent,
    notePassedOver: atomic(async (taskId, { at, channels }) => {
      const [row] = await passedOver().execute({ taskId });
      const known = row ? row.detail.split(BETWEEN) : [];
      const detail = toJsonSafeText([...known, ...channels].slice(-MAX_PASSED_OVER).join(BETWEEN));
      if (row) await db.update(events).set({ at, detail }).where(eq(events.id, row.id));
      else await addEvent({ taskId, at, kind: 'passed_over', status: 'NOT_START', detail });
    }),
    events: (taskId) => ofTask().execute({ taskId }),
  } satisfies Pick<TaskStore, 'addEvent' | 'addEvents' | 'notePassedOver' | 'events'>;
}

function encode({ taskId, at, kind, status, class: errorClass = '', httpStatus = 0, detail = '' }: NewTaskEvent) {
  const ends = kind === 'transition' && hasEnded({ status });
  return {
    task_id: taskId,
    at,
    kind,
    status,
    class: errorClass,
    http_status: httpStatus,
    detail: toJsonSafeText(typeof detail === 'string' ? detail : detail.message),
    detail_sentence: typeof detail === 'string' ? null : encodeSentence(detail),
    always: ends || ALWAYS_WRITTEN.has(kind) ? 'yes' : 'no',
  };
}
