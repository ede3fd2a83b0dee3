import { type SQL, sql } from 'drizzle-orm';
import { nextTurn } from '../../../kernel/index.ts';
import type { LedgerStore } from '../../ports/index.ts';
import type { Context } from '../context.ts';
import { FOLDED_UNTIL } from './fold-ledger.ts';

/**
 * Rows per statement. SQLite blocks the process during a statement; each of these takes a few
 * milliseconds.
 */
const LINES_AT_ONCE = 5000;
const WALLETS_AT_ONCE = 1000;
const TASKS_AT_ONCE = 500;

const LINES = sql.raw('ledger_entries');
const BILLS = [
  { table: sql.raw('tasks'), taskId: sql.raw('task_id'), hasEnded: sql.raw(`status in ('SUCCESS', 'FAILURE')`) },
  { table: sql.raw('relay_requests'), taskId: sql.raw('relay_id'), hasEnded: sql.raw(`status <> 'OPEN'`) },
];

const FOLDED = sql.raw(`(select coalesce(max(position), -1) from retention_progress where name = '${FOLDED_UNTIL}')`);

/** A balance or quota, and the sum of its ledger lines. */
type Imbalance = { quota: number; ledger: number };

/** Finds balances, quotas and tasks that their ledger lines do not add up to. */
export function createImbalanceFinder({
  dialect,
  statement,
}: Context): Pick<LedgerStore, 'imbalances' | 'budgetImbalances'> {
  const lastId = async (table: SQL): Promise<number> =>
    Number((await statement(sql`select coalesce(max(id), 0) from ${table}`))[0]?.[0]);

  /** Conditions that cover `size` ids each, up to `last`. Yields to the event loop before each. */
  async function* slices(last: number, size: number): AsyncGenerator<SQL> {
    for (let from = 0; from < last; from += size) {
      await nextTurn();
      yield sql`id > ${from} and id <= ${Math.min(from + size, last)}`;
    }
  }

  /**
   * SQLite has one writer, so the lines up to the last id are complete and never change: they are
   * summed slice by slice. Each slice of wallets then adds the few later lines in the same
   * statement that reads the balances.
   */
  async function walletsInSlices(limit: number): Promise<unknown[][]> {
    const settled = await lastId(LINES);
    const sums = new Map<number, number>();
    for await (const slice of slices(settled, LINES_AT_ONCE)) {
      const rows = await statement(sql`select wallet_id, sum(amount) from ${LINES} where ${slice} group by wallet_id`);
      for (const row of rows) {
        const [walletId = 0, sum = 0] = row.map(Number);
        sums.set(walletId, (sums.get(walletId) ?? 0) + sum);
      }
    }
    const found: unknown[][] = [];
    const ownerless = new Set(sums.keys());
    for await (const slice of slices(await lastId(sql.raw('wallets')), WALLETS_AT_ONCE)) {
      const rows = await statement(sql`
        with late as (select wallet_id, sum(amount) as total from ${LINES} where id > ${settled} group by +wallet_id)
        select id, quota, coalesce(late.total, 0) from wallets left join late on late.wallet_id = id where ${slice} order by id`);
      for (const row of rows) {
        const [id = 0, quota = 0, late = 0] = row.map(Number);
        ownerless.delete(id);
        if (quota === (sums.get(id) ?? 0) + late) continue;
        // Lines may have been folded into others between the slices, so it is asked once more.
        const imbalance = await findImbalance(id);
        if (imbalance) found.push(imbalance);
      }
      if (found.length >= limit) return found.slice(0, limit);
    }
    for (const id of ownerless) found.push([id, 0, sums.get(id), null]);
    return found.slice(0, limit);
  }

  async function findImbalance(walletId: number): Promise<unknown[] | undefined> {
    const [row] = await statement(sql`
      select id, quota, (select coalesce(sum(amount), 0) from ${LINES} where wallet_id = wallets.id), user_id
      from wallets where id = ${walletId}`);
    return row && Number(row[1]) !== Number(row[2]) ? row : undefined;
  }

  /**
   * PostgreSQL does not block the node, and lines become visible in another order than that of
   * their ids: one statement reads a consistent state of all.
   */
  const walletsAtOnce = (limit: number): Promise<unknown[][]> =>
    statement(sql`
      with lines as (select wallet_id, sum(amount) as total from ${LINES} group by wallet_id)
      select coalesce(w.id, l.wallet_id) as wallet, coalesce(w.quota, 0), coalesce(l.total, 0), w.user_id
      from wallets w full join lines l on l.wallet_id = w.id
      where w.id is null or w.quota <> coalesce(l.total, 0) order by wallet limit ${limit}`);

  /**
   * Lines of ended tasks never change, so each task is checked by itself; those whose lines may
   * have been folded are not.
   */
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
            from ${table} where ${slice} and ${hasEnded} and created_at > ${FOLDED}
          ) as bills where quota + total <> 0 order by id limit ${wanted}`);
        found.push(...rows);
      }
    }
    return found;
  }

  /** Lines count in the sums of their task's latest reservation. */
  const COUNTED = sql.raw(`select lines.amount, (select made.budgets from ledger_entries made
    where made.task_id = lines.task_id and made.kind = 'reserve' order by made.attempt desc limit 1) as budgets
    from ledger_entries lines`);

  /** What a sum is, and what it should be, by one statement. */
  async function compareBudget(id: string): Promise<{ spent: number; ledger: number } | undefined> {
    const find = sql.raw(dialect === 'sqlite' ? 'instr' : 'strpos');
    const name = JSON.stringify(id);
    const [row] = await statement(sql`
      select spent, (select coalesce(-sum(amount), 0) from (${COUNTED} where lines.task_id in
        (select task_id from ledger_entries where kind = 'reserve' and ${find}(budgets, ${name}) > 0)) as counted
        where ${find}(budgets, ${name}) > 0)
      from budget_sums where id = ${id}`);
    return row && { spent: Number(row[0]), ledger: Number(row[1]) };
  }

  async function budgetImbalances(limit: number): Promise<{ id: string; spent: number; ledger: number }[]> {
    const stored = await statement(sql`select id, spent from budget_sums order by id`);
    const sums = new Map(stored.map(([id]) => [String(id), 0]));
    if (sums.size === 0) return [];
    for await (const slice of slices(await lastId(LINES), LINES_AT_ONCE)) {
      const rows = await statement(sql`
        select budgets, sum(amount) from (${COUNTED} where ${slice} and task_id is not null) as counted
        where budgets <> '' group by budgets`);
      for (const [budgets, amount] of rows)
        for (const id of JSON.parse(String(budgets)) as string[]) sums.set(id, (sums.get(id) ?? 0) - Number(amount));
    }
    const folded = Number((await statement(sql`select ${FOLDED}`))[0]?.[0]);
    const found: { id: string; spent: number; ledger: number }[] = [];
    for (const [id, spent] of stored.map(([id, spent]) => [String(id), Number(spent)] as const)) {
      const start = Number(id.slice(id.lastIndexOf(':') + 1));
      if (spent === sums.get(id) || start <= folded) continue;
      // Lines may have been written between the slices, so it is asked once more.
      const compared = await compareBudget(id);
      if (compared && compared.spent !== compared.ledger) found.push({ id, ...compared });
      if (found.length === limit) break;
    }
    return found;
  }

  return {
    budgetImbalances,

    async imbalances(limit) {
      const wallets = dialect === 'sqlite' ? await walletsInSlices(limit) : await walletsAtOnce(limit);
      const tasks = await bills(limit);
      const numbers = ([, quota, ledger]: unknown[]): Imbalance => ({ quota: Number(quota), ledger: Number(ledger) });
      return {
        wallets: wallets.map((row) => ({
          walletId: Number(row[0]),
          userId: row[3] === null ? null : Number(row[3]),
          ...numbers(row),
        })),
        tasks: tasks.map((row) => ({ taskId: String(row[0]), ...numbers(row) })),
      };
    },
  };
}
