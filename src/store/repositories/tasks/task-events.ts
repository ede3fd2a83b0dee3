import { asc, eq, sql } from 'drizzle-orm';
import type { Fence, LeaseBinding } from '../../drivers/memory-leases.ts';
import type { NewTaskEvent, PolledTask, TaskEventKind, TaskStore } from '../../ports/index.ts';
import { atomic, type Context, lazy, plainText } from '../context.ts';
import { UNFINISHED } from './claim-tasks.ts';

/**
 * The most rows in the timeline of a task. Rows that end it or move its money are written beyond
 * that.
 */
const MAX_EVENTS = 50;
const ALWAYS_WRITTEN: ReadonlySet<TaskEventKind> = new Set(['settled', 'refunded', 'late_success']);

/** `addEvents` is `addEvent` for many events in one statement, at most one of each task. */
export function createTaskEvents({ db, tables, prepare, lists: { elements } }: Context) {
  const { taskEvents: events } = tables;
  const add = lazy(() =>
    prepare(sql`
      insert into task_events (task_id, at, kind, status, class, http_status, detail)
      select event.value ->> 'task_id', cast(event.value ->> 'at' as bigint), event.value ->> 'kind', event.value ->> 'status',
        event.value ->> 'class', cast(event.value ->> 'http_status' as integer), event.value ->> 'detail'
      from ${elements('events')} as event
      where event.value ->> 'always' = 'yes' or ${sql.raw(`${MAX_EVENTS}`)} >
        (select count(*) from task_events as kept where kept.task_id = event.value ->> 'task_id')`),
  );
  const at = sql.placeholder;
  const addOne = lazy(() =>
    prepare(sql`
      insert into task_events (task_id, at, kind, status, class, http_status, detail)
      select cast(${at('task_id')} as text), cast(${at('at')} as bigint), cast(${at('kind')} as text),
        cast(${at('status')} as text), cast(${at('class')} as text), cast(${at('http_status')} as integer),
        cast(${at('detail')} as text)
      where cast(${at('always')} as text) = 'yes' or ${sql.raw(`${MAX_EVENTS}`)} >
        (select count(*) from task_events as kept where kept.task_id = cast(${at('task_id')} as text))`),
  );
  const addEvents = async (added: readonly NewTaskEvent[]): Promise<void> => {
    if (added.length > 0) await add()({ events: JSON.stringify(added.map(encode)) });
  };
  const addEvent = async (event: NewTaskEvent): Promise<void> => void (await addOne()(encode(event)));
  const ofTask = lazy(() =>
    db
      .select()
      .from(events)
      .where(eq(events.taskId, sql.placeholder('taskId')))
      .orderBy(asc(events.id))
      .prepare(),
  );
  return {
    addEvents,
    addEvent,
    events: (taskId) => ofTask().execute({ taskId }),
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
    always: ends || ALWAYS_WRITTEN.has(kind) ? 'yes' : 'no',
  };
}

/**
 * Characters of the rows of one statement. Their data may be a MiB each, and the database holds it
 * several times while it parses it.
 */
const MAX_STATEMENT_LENGTH = 4 * 1024 * 1024;

/**
 * Writes the results of many polls in one statement: one commit and, on PostgreSQL, one round trip
 * instead of hundreds.
 */
export function createTaskAdvances(
  { nowMs, now, prepare, lists: { elements } }: Context,
  memory: LeaseBinding | undefined,
  addEvents: (events: readonly NewTaskEvent[]) => Promise<void>,
): Pick<TaskStore, 'advanceAll'> {
  const text = (name: string) => sql`coalesce(polled.value ->> '${sql.raw(name)}', tasks.${sql.raw(name)})`;
  const whole = (name: string) =>
    sql`coalesce(cast(polled.value ->> '${sql.raw(name)}' as bigint), tasks.${sql.raw(name)})`;
  const prepareAdvance = (changed: readonly string[]) =>
    prepare(sql`
      update tasks set ${sql.join(changed.map((name) => sql`${sql.raw(name)} = ${text(name)}, `))}
        poll_failures = ${whole('poll_failures')}, polls = ${whole('polls')}, start_time = ${whole('start_time')},
        lease_owner = null, lease_until = 0, lease_seq = cast(polled.value ->> 'seq' as bigint),
        updated_at = ${nowMs} / 1000, next_poll_at = ${nowMs} + cast(polled.value ->> 'wait' as bigint)
      from ${elements('polled')} as polled
      where tasks.task_id = polled.value ->> 'task_id' and tasks.status in ${UNFINISHED}
        and tasks.lease_owner is not distinct from (polled.value ->> 'held_by')
        and tasks.lease_seq = cast(polled.value ->> 'held_under' as bigint)
      returning tasks.task_id, tasks.lease_seq`);
  const fields = ['progress', 'data', 'state', 'billing'];
  const advanceSameStatus = lazy(() => prepareAdvance(fields));
  // The partial indexes have a condition on the status. A statement that sets the status, even to
  // the same value, rewrites all their entries.
  const advanceNewStatus = lazy(() => prepareAdvance(['status', ...fields]));
  return {
    advanceAll: atomic(async (polled) => {
      const written = new Set<string>();
      for (const advance of [advanceSameStatus, advanceNewStatus]) {
        const entries = polled.filter(
          ({ change }) => (change.status === undefined) === (advance === advanceSameStatus),
        );
        const rows = entries.flatMap((entry) => {
          const fence = memory ? memory.leases.fenceOf(entry.lease) : entry.lease;
          return fence ? [encodePoll(entry, fence)] : [];
        });
        for (const group of groupBySize(rows)) {
          const advanced = await advance()({ polled: `[${group.join()}]`, ...now() });
          for (const [taskId, seq] of advanced) written.add(claimOf(String(taskId), Number(seq)));
        }
      }
      const isWritten = ({ lease }: PolledTask) => written.has(claimOf(lease.taskId, lease.leaseSeq));
      const done = polled.filter(isWritten);
      await addEvents(done.flatMap(({ event, lease }) => (event ? [{ ...event, taskId: lease.taskId }] : [])));
      memory?.onCommit(() => {
        for (const { lease } of done) memory.leases.release(lease);
      });
      return polled.map(isWritten);
    }),
  };
}

const claimOf = (taskId: string, seq: number): string => `${taskId} ${seq}`;

/** Rows as JSON in groups of at most `MAX_STATEMENT_LENGTH`. A larger row is a group of its own. */
function groupBySize(rows: readonly string[]): string[][] {
  const groups: string[][] = [];
  let length = MAX_STATEMENT_LENGTH;
  for (const row of rows) {
    if (length + row.length > MAX_STATEMENT_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(row);
    length += row.length;
  }
  return groups;
}

/**
 * The row by column names. JSON columns are encoded as text, so that a stored `null` differs from
 * an absent member.
 */
function encodePoll({ lease, change, nextPollInMs }: PolledTask, fence: Fence): string {
  const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  return JSON.stringify({
    task_id: lease.taskId,
    seq: lease.leaseSeq,
    held_by: fence.leaseOwner ?? undefined,
    held_under: fence.leaseSeq,
    wait: Math.round(nextPollInMs),
    status: change.status,
    progress: change.progress === undefined ? undefined : plainText(change.progress),
    data: json(change.data),
    state: json(change.state),
    billing: json(change.billing),
    poll_failures: change.pollFailures,
    polls: change.polls,
    start_time: change.startTime,
  });
}
