import { and, asc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import type { AliveNode, ClockStore, NodeStore } from '../../ports/index.ts';
import { STORED_PENDING } from '../../schema/dialect-columns.ts';
import { atomic, type Context } from '../context.ts';
import { IS_OPEN, RUNNING } from '../tasks/claim-tasks.ts';

export function createNodeStore({ db, tables: { nodes }, nowMs, now, lockName }: Context): NodeStore {
  const nowSeconds = sql<number>`cast(${nowMs} / 1000 as bigint)`;

  async function alive(seconds: number): Promise<AliveNode[]> {
    const silentSeconds = sql<number>`${nowSeconds} - ${nodes.heartbeatAt}`.mapWith(Number);
    return db
      .select({ ...getTableColumns(nodes), silentSeconds })
      .from(nodes)
      .where(sql`${silentSeconds} between ${-CLOCK_LEEWAY_SECONDS} and ${seconds}`)
      .orderBy(asc(nodes.startedAt), sql`${nodes.id}`)
      .prepare()
      .execute(now());
  }

  return {
    async heartbeat(node) {
      const row = { ...node, heartbeatAt: nowSeconds };
      await db.insert(nodes).values(row).onConflictDoUpdate({ target: nodes.id, set: row }).prepare().execute(now());
    },

    alive,

    async remove(id) {
      await db.delete(nodes).where(eq(nodes.id, id));
    },

    // Neither a second node nor the last is taken out of service. The lock lets one of two commands
    // decide after the other.
    drain: atomic(async (id, aliveSeconds) => {
      await lockName('drained node');
      const known = await alive(aliveSeconds);
      if (!known.some((node) => node.id === id)) return 'unknown';
      const others = known.filter((node) => node.id !== id);
      if (others.length === 0) return 'alone';
      if (others.some(({ drained }) => drained)) return 'busy';
      await db.update(nodes).set({ drained: true }).where(eq(nodes.id, id));
      return 'drained';
    }),

    async resume(id) {
      const resumed = await db
        .update(nodes)
        .set({ drained: false })
        .where(and(eq(nodes.id, id), eq(nodes.drained, true)))
        .returning({ id: nodes.id });
      return resumed.length === 1;
    },
  };
}

type Measured = { table: SQL; column: SQL; rows: SQL; unitMs: 1 | 1000 };

const inMs = (table: string, column: string, rows: SQL): Measured => ({
  table: sql.raw(table),
  column: sql.raw(column),
  rows,
  unitMs: 1,
});
const inSeconds = (table: string, column: string, rows = sql.raw(`${column} > 0`)): Measured => ({
  ...inMs(table, column, rows),
  unitMs: 1000,
});

const PENDING = sql.raw(`status = 'pending'`);
const IS_PENDING = sql.raw(`state = '${STORED_PENDING}'`);

/** Pauses and leases: an end that comes early is harmless. */
const PAUSES = [
  inMs('tasks', 'next_poll_at', sql`status in ${RUNNING} and next_poll_at > 0`),
  inMs('tasks', 'lease_until', sql`${IS_OPEN} and lease_until > 0`),
  inMs('webhook_outbox', 'next_attempt_at', PENDING),
  inMs('webhook_outbox', 'lease_until', sql`${PENDING} and lease_until > 0`),
  inMs('kept_results', 'next_attempt_at', IS_PENDING),
  inMs('kept_results', 'lease_until', sql`${IS_PENDING} and lease_until > 0`),
  inMs('relay_requests', 'lease_until', sql.raw(`status = 'OPEN' and lease_until > 0`)),
  inMs('backup_runs', 'lease_until', sql.raw(`status = 'running'`)),
  inMs('batches', 'due_at', sql.raw('ended_at = 0')),
  inMs('waiting', 'not_before', sql.raw('not_before > 0')),
  inSeconds('capacity', 'changed_at', sql.raw('resting_until > 0')),
  inMs('capacity', 'resting_until', sql.raw('resting_until > 0')),
];

/** At their end something is given up, or somebody is let in or kept out. */
const ENDS = [
  inMs('webhook_outbox', 'give_up_at', PENDING),
  inMs('kept_results', 'give_up_at', IS_PENDING),
  inMs('waiting', 'deadline', sql.raw('true')),
  inMs('waiting', 'due_at', sql.raw('true')),
  inMs('waiting', 'since', sql.raw('true')),
  inSeconds('two_factor', 'locked_until'),
  inSeconds('user_sessions', 'previous_valid_until'),
];

/** Declared rates count the starts of the last minute. */
const STARTS_MS = 120_000;

export function createClockStore({ statement, prepare, nowMs, now }: Context): ClockStore {
  // Until all have moved, it is still the time before the clock was set.
  const holdsSlot = sql`slot_until > 0 and slot_until > ${nowMs} / 1000`;
  /** Each has the time from which it was counted, to tell whether it is from the future. */
  const slots = [inSeconds('tasks', 'updated_at', holdsSlot), inSeconds('tasks', 'slot_until', holdsSlot)];
  const isStart = sql`dispatched_at > 0 and dispatched_at > ${nowMs} - ${sql.raw(String(STARTS_MS))}`;
  const ends = [...ENDS, inMs('tasks', 'dispatched_at', isStart)];

  return {
    async nowMs() {
      const [row] = await prepare(sql`select ${nowMs}`)(now());
      return Number(row?.[0]);
    },

    async latestWriteAt() {
      const latest = (table: string) =>
        sql.raw(
          `coalesce((select max(created_at) from (select created_at from ${table} order by id desc limit 100) as latest), 0)`,
        );
      const [row] = await statement(sql`select ${latest('tasks')}, ${latest('usage_logs')}`);
      return Math.max(...(row ?? [0]).map(Number));
    },

    moveDeadlines: atomic(async (byMs) => {
      for (const { table, column, rows, unitMs } of byMs < 0 ? [...PAUSES, ...slots, ...ends] : ends) {
        const moved = sql`${column} + ${Math.round(byMs / unitMs)}`;
        await prepare(sql`update ${table} set ${column} = ${moved} where ${rows}`)(now());
      }
    }),
  };
}
