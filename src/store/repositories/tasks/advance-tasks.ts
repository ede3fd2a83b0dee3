import { type SQL, sql } from 'drizzle-orm';
import type { Fence, LeaseBinding } from '../../drivers/memory-leases.ts';
import type { TaskAdvance, TaskStore } from '../../ports/index.ts';
import { atomic, type Context, lazy, type RecordColumns, toJsonSafeText } from '../context.ts';
import { UNFINISHED } from './claim-tasks.ts';

/** What a poll of a running task changes. */
const POLLED = {
  progress: 'text',
  data: 'text',
  state: 'text',
  billing: 'text',
  poll_failures: 'bigint',
  polls: 'bigint',
  start_time: 'bigint',
} as const satisfies RecordColumns;

/** What a submission changes that the vendor has accepted, and a poll that says it has begun. */
const ACCEPTED = {
  ...POLLED,
  status: 'text',
  upstream_task_id: 'text',
  submit_time: 'bigint',
} as const satisfies RecordColumns;

/**
 * What else a change may set. The partial indexes have a condition on the status: a statement that
 * sets it, even to the same value, rewrites all their entries.
 */
const MOVED = {
  ...ACCEPTED,
  fail_reason: 'text',
  fail_reason_sentence: 'text',
  action: 'text',
  finish_time: 'bigint',
  quota: 'bigint',
  slot_until: 'bigint',
  execution: 'text',
} as const satisfies RecordColumns;

/** How the claim must stand, and what follows it. */
const CLAIM = {
  task_id: 'text',
  seq: 'bigint',
  held_by: 'text',
  held_under: 'bigint',
  reserved: 'bigint',
  wait: 'bigint',
} as const satisfies RecordColumns;

type Row = { [Name in keyof typeof CLAIM | keyof typeof MOVED]: string | number | undefined };

type Parts = {
  memory: LeaseBinding | undefined;
  advance: TaskStore['advance'];
  addEvents: TaskStore['addEvents'];
};

/**
 * Writes changes of many tasks in one statement: one commit and, on PostgreSQL, one round trip
 * instead of hundreds.
 */
export function createTaskAdvances(
  { nowMs, now, lists: { prepareRecords } }: Context,
  { memory, advance, addEvents }: Parts,
): Pick<TaskStore, 'advanceAll'> {
  const kept = (name: string): SQL => sql.raw(`"${name}" = coalesce(given."${name}", tasks."${name}")`);
  const prepareAdvance = (changed: RecordColumns) =>
    prepareRecords(
      { name: 'given', columns: { ...CLAIM, ...changed } },
      (records) => sql`
      update tasks set ${sql.join(Object.keys(changed).map(kept), sql`, `)},
        lease_owner = null, lease_until = 0, lease_seq = given.seq, updated_at = ${nowMs} / 1000,
        next_poll_at = coalesce(${nowMs} + given.wait, tasks.next_poll_at)
      from ${records}
      where tasks.task_id = given.task_id and tasks.status in ${UNFINISHED}
        and tasks.lease_owner is not distinct from given.held_by and tasks.lease_seq = given.held_under
        and (given.reserved is null or tasks.quota = given.reserved)
      returning tasks.task_id, tasks.lease_seq`,
    );
  const advancePolled = lazy(() => prepareAdvance(POLLED));
  const advanceAccepted = lazy(() => prepareAdvance(ACCEPTED));
  const advanceMoved = lazy(() => prepareAdvance(MOVED));
  const sets = (row: Row, columns: RecordColumns): boolean => {
    for (const name in row)
      if (row[name as keyof Row] !== undefined && !(name in columns || name in CLAIM)) return false;
    return true;
  };
  const choose = (row: Row) =>
    sets(row, POLLED) ? advancePolled : sets(row, ACCEPTED) ? advanceAccepted : advanceMoved;

  return {
    advanceAll: atomic(async (advances) => {
      const written = new Set<TaskAdvance>();
      const sent = new Map<string, TaskAdvance>();
      const rows: Row[] = [];
      for (const each of advances) {
        const { lease } = each;
        // Rare, and its condition is another one: the lease is not the caller's own.
        if (lease.runOut) {
          if (await advance(lease, each.change, each.nextPollInMs)) written.add(each);
          continue;
        }
        const fence = memory ? memory.leases.findFence(lease) : lease;
        // A lease ends with the first change under it, so a second one comes too late.
        if (!fence || sent.has(nameClaim(lease.taskId, lease.leaseSeq))) continue;
        sent.set(nameClaim(lease.taskId, lease.leaseSeq), each);
        rows.push(encodeAdvance(each, fence));
      }
      const chosen = rows.map(choose);
      for (const query of new Set(chosen)) {
        const those = rows.filter((_, index) => chosen[index] === query);
        for (const [taskId, seq] of await query()(those, now())) {
          const found = sent.get(nameClaim(String(taskId), Number(seq)));
          if (found) written.add(found);
        }
      }
      const done = advances.filter((each) => written.has(each));
      await addEvents(
        done.flatMap(({ events = [], lease: { taskId } }) => events.map((event) => ({ ...event, taskId }))),
      );
      memory?.onCommit(() => {
        for (const { lease } of done) memory.leases.release(lease);
      });
      return advances.map((each) => written.has(each));
    }),
  };
}

const nameClaim = (taskId: string, seq: number): string => `${taskId} ${seq}`;

/**
 * The row by column names. JSON columns are encoded as text, so that a stored `null` differs from
 * an absent member.
 */
function encodeAdvance({ lease, change, nextPollInMs }: TaskAdvance, fence: Fence): Row {
  const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
  const text = (value: string | undefined) => (value === undefined ? undefined : toJsonSafeText(value));
  return {
    task_id: lease.taskId,
    seq: lease.leaseSeq,
    held_by: fence.leaseOwner ?? undefined,
    held_under: fence.leaseSeq,
    reserved: lease.reserved,
    wait: nextPollInMs === null ? undefined : Math.round(nextPollInMs),
    status: change.status,
    progress: text(change.progress),
    fail_reason: text(change.failReason),
    fail_reason_sentence: json(change.failReasonSentence),
    action: text(change.action),
    data: json(change.data),
    state: json(change.state),
    upstream_task_id: text(change.upstreamTaskId),
    poll_failures: change.pollFailures,
    polls: change.polls,
    submit_time: change.submitTime,
    start_time: change.startTime,
    finish_time: change.finishTime,
    quota: change.quota,
    slot_until: change.slotUntil,
    execution: json(change.execution),
    billing: json(change.billing),
  };
}
