import { sql } from 'drizzle-orm';
import type { NewTaskEvent, PolledTask, TaskStore } from '../ports/index.ts';
import { UNFINISHED } from './claim-tasks.ts';
import { type Context, lazy, plainText } from './context.ts';

/** Characters of one statement's rows: their data may be a MiB each, and the database holds them several times while it reads them. */
const MAX_STATEMENT_LENGTH = 4 * 1024 * 1024;

/**
 * Columns that the conditions of partial indexes name. A statement that sets one has every such index written anew, even where the value
 * stays the same, which makes it twice as dear: they stand only in the statements for those tasks that change them.
 */
const INDEXED = ['status', 'data'] as const;
type IndexedField = (typeof INDEXED)[number];

/** What all polls of a moment come to, in one statement: one commit and, on PostgreSQL, one round trip instead of hundreds. */
export function createTaskAdvances(
  { nowMs, now, elements, prepare }: Context,
  addEvents: (events: readonly NewTaskEvent[]) => Promise<void>,
): Pick<TaskStore, 'advanceAll'> {
  const text = (name: string) => sql`coalesce(polled.value ->> '${sql.raw(name)}', tasks.${sql.raw(name)})`;
  const whole = (name: string) =>
    sql`coalesce(cast(polled.value ->> '${sql.raw(name)}' as bigint), tasks.${sql.raw(name)})`;
  const prepareAdvance = (indexed: readonly IndexedField[]) =>
    prepare(sql`
      update tasks set
        ${sql.join(indexed.map((name) => sql`${sql.raw(name)} = ${text(name)}, `))}
        progress = ${text('progress')}, state = ${text('state')}, billing = ${text('billing')},
        poll_failures = ${whole('poll_failures')}, polls = ${whole('polls')}, start_time = ${whole('start_time')},
        lease_owner = null, lease_until = 0, updated_at = ${nowMs} / 1000,
        next_poll_at = ${nowMs} + cast(polled.value ->> 'wait' as bigint)
      from ${elements('polled')} as polled
      where tasks.task_id = polled.value ->> 'task_id' and tasks.lease_owner = polled.value ->> 'owner'
        and tasks.lease_seq = cast(polled.value ->> 'seq' as bigint) and tasks.status in ${UNFINISHED}
      returning tasks.task_id, tasks.lease_seq`);
  const shapes: readonly IndexedField[][] = [[], ['status'], ['data'], [...INDEXED]];
  const advances = shapes.map((fields) => ({ fields, advance: lazy(() => prepareAdvance(fields)) }));
  return {
    async advanceAll(polled) {
      const written = new Set<string>();
      for (const { fields, advance } of advances) {
        const alike = polled.filter(({ change }) =>
          INDEXED.every((name) => (change[name] !== undefined) === fields.includes(name)),
        );
        for (const group of groupBySize(alike.map(encode))) {
          const rows = await advance()({ polled: `[${group.join()}]`, ...now() });
          for (const [taskId, seq] of rows) written.add(claimOf(String(taskId), Number(seq)));
        }
      }
      const isWritten = ({ lease }: PolledTask) => written.has(claimOf(lease.taskId, lease.leaseSeq));
      await addEvents(
        polled.flatMap((entry) =>
          entry.event && isWritten(entry) ? [{ ...entry.event, taskId: entry.lease.taskId }] : [],
        ),
      );
      return polled.map(isWritten);
    },
  };
}

const claimOf = (taskId: string, seq: number): string => `${taskId} ${seq}`;

/** Rows as JSON, in groups of at most `MAX_STATEMENT_LENGTH`, or of one that is larger. */
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

/** The row under the names of its columns; JSON columns as their text, so that a stored `null` differs from an absent member. */
function encode({ lease, change, nextPollInMs }: PolledTask): string {
  const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  return JSON.stringify({
    task_id: lease.taskId,
    owner: lease.leaseOwner,
    seq: lease.leaseSeq,
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
