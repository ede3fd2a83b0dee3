import { type SQL, sql } from 'drizzle-orm';
import type { LedgerStore } from '../ports/index.ts';
import type { Context } from './context.ts';

/**
 * SQLite does nothing else while it runs a statement: of so many rows each takes a few
 * milliseconds.
 */
const LINES_AT_ONCE = 5000;
const USERS_AT_ONCE = 1000;
const TASKS_AT_ONCE = 500;

const LINES = sql.raw('ledger_entries');
const BILLS = [
  { table: sql.raw('tasks'), taskId: sql.raw('task_id'), hasEnded: sql.raw(`status in ('SUCCESS', 'FAILURE')`) },
  { table: sql.raw('relay_requests'), taskId: sql.raw('relay_id'), hasEnded: sql.raw(`status <> 'OPEN'`) },
];

/** A balance or quota, and what its lines say. */
type Imbalance = { quota: number; ledger: number };

export function createImbalanceFinder({ dialect, statement }: Context): Pick<LedgerStore, 'imbalances'> {
  const lastId = async (table: SQL): Promise<number> =>
    Number((await statement(sql`select coalesce(max(id), 0) from ${table}`))[0]?.[0]);

  /** Conditions that take in `size` ids each, up to `last`; others get their turn before each. */
  async function* slices(last: number, size: number): AsyncGenerator<SQL> {
    for (let from = 0; from < last; from += size) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      yield sql`id > ${from} and id <= ${Math.min(from + size, last)}`;
    }
  }

  /**
   * SQLite has one writer, so that the lines up to the last id are all there and stay as they are:
   * they are summed slice by slice, and each slice of the users adds the few that came since, in
   * the statement that reads their balances.
   */
  async function usersInSlices(limit: number): Promise<unknown[][]> {
    const settled = await lastId(LINES);
    const sums = new Map<number, number>();
    for await (const slice of slices(settled, LINES_AT_ONCE)) {
      const rows = await statement(sql`select user_id, sum(amount) from ${LINES} where ${slice} group by user_id`);
      for (const row of rows) {
        const [userId = 0, sum = 0] = row.map(Number);
        sums.set(userId, (sums.get(userId) ?? 0) + sum);
      }
    }
    const found: unknown[][] = [];
    for await (const slice of slices(await lastId(sql.raw('users')), USERS_AT_ONCE)) {
      const rows = await statement(sql`
        with late as (select user_id, sum(amount) as total from ${LINES} where id > ${settled} group by +user_id)
        select id, quota, coalesce(late.total, 0) from users left join late on late.user_id = id where ${slice} order by id`);
      for (const row of rows) {
        const [id = 0, quota = 0, late = 0] = row.map(Number);
        const ledger = (sums.get(id) ?? 0) + late;
        if (quota !== ledger) found.push([id, quota, ledger]);
      }
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  /**
   * PostgreSQL works beside the node, and shows lines in another order than that of their ids: one
   * statement sees all of them as they are.
   */
  const usersAtOnce = (limit: number): Promise<unknown[][]> =>
    statement(sql`
      with lines as (select user_id, sum(amount) as total from ${LINES} group by user_id)
      select u.id, u.quota, coalesce(l.total, 0)
      from users u left join lines l on l.user_id = u.id
      where u.quota <> coalesce(l.total, 0) order by u.id limit ${limit}`);

  /** The lines of what has ended stay as they are: each is judged by itself. */
  async function bills(limit: number): Promise<unknown[][]> {
    const found: unknown[][] = [];
    for (const { table, taskId, hasEnded } of BILLS) {
      for await (const slice of slices(await lastId(table), TASKS_AT_ONCE)) {
        const wanted = limit - found.length;
        if (wanted <= 0) return found;
        const rows = await statement(sql`
          select task_id, quota, total from (
            select id, ${taskId} as task_id, quota,
              (select coalesce(sum(amount), 0) from ${LINES} l where l.task_id = ${table}.${taskId}) as total
            from ${table} where ${slice} and ${hasEnded}
          ) as bills where quota + total <> 0 order by id limit ${wanted}`);
        found.push(...rows);
      }
    }
    return found;
  }

  return {
    async imbalances(limit) {
      const users = dialect === 'sqlite' ? await usersInSlices(limit) : await usersAtOnce(limit);
      const tasks = await bills(limit);
      const numbers = ([, quota, ledger]: unknown[]): Imbalance => ({ quota: Number(quota), ledger: Number(ledger) });
      return {
        users: users.map((row) => ({ userId: Number(row[0]), ...numbers(row) })),
        tasks: tasks.map((row) => ({ taskId: String(row[0]), ...numbers(row) })),
      };
    },
  };
}
