import { sql } from 'drizzle-orm';
import { type Budget, type BudgetOwner, type BudgetSum, findBudgetSum } from '../../../kernel/index.ts';
import type { BudgetExceeded, BudgetRules, HeldAmounts } from '../../ports/index.ts';
import { type Context, encodeTexts, lazy, type RecordColumns } from '../context.ts';

/** A budget that a reservation counts in, and the sum that it is held to. */
export type CountedBudget = BudgetSum & { owner: BudgetOwner; budget: Budget };

/** A sum and the amount by which it changes. */
export type SumChange = BudgetSum & { amount: number };
const SUM = { id: 'text', ends_at: 'bigint', amount: 'bigint' } as const satisfies RecordColumns;

type Payer = { userId: number; key: { id: number; budget: Budget | null } | undefined; userBudget: Budget | null };

/**
 * The budgets that hold for a reservation at `at` (Unix seconds), in the order in which they are
 * locked.
 */
export function findBudgets({ userId, key, userBudget }: Payer, rules: BudgetRules, at: number): CountedBudget[] {
  const { zone, group } = rules;
  const owned: [BudgetOwner, Budget | null | undefined][] = [
    [{ scope: 'key', keyId: key?.id ?? 0 }, key?.budget],
    [{ scope: 'user', userId }, userBudget],
    [{ scope: 'group', userId, group: group?.name ?? '' }, group?.budget],
  ];
  return owned.flatMap(([owner, budget]) =>
    budget ? [{ owner, budget, ...findBudgetSum(owner, budget, { zone, at }) }] : [],
  );
}

/**
 * The first budget that `amount` would exceed; one that is used up has nothing left. `spent`: by
 * the id of the sum. `held`: in memory, beside it.
 */
export function findExceeded(
  budgets: readonly CountedBudget[],
  { spent, held }: { spent: ReadonlyMap<string, number>; held: HeldAmounts },
  amount: number,
): BudgetExceeded | undefined {
  for (const { id, owner, budget, endsAt } of budgets) {
    const before = (spent.get(id) ?? 0) + held[owner.scope];
    if (before + Math.max(amount, 1) > budget.amount) return { owner, budget, spent: before, endsAt };
  }
  return undefined;
}

/** The sums of budgets. The rows of key and wallet are locked before them. */
export function createBudgetSums({ prepare, lockRows, lists: { amongTexts, prepareRecords } }: Context) {
  const among = amongTexts(sql.raw('id'), 'ids');
  const read = lazy(() => prepare(sql`select id, spent from budget_sums where ${among} order by id`));
  const lock = lazy(() => prepare(sql`select id, spent from budget_sums where ${among} order by id ${lockRows}`));
  const add = lazy(() =>
    prepareRecords(
      { name: 'sum', columns: SUM },
      (records) => sql`insert into budget_sums (id, ends_at, spent)
        select id, ends_at, amount from ${records} where true
        on conflict (id) do update set spent = budget_sums.spent + excluded.spent`,
    ),
  );
  const change = lazy(() =>
    prepareRecords(
      { name: 'sum', columns: SUM },
      (records) => sql`update budget_sums set spent = spent + sum.amount from ${records} where budget_sums.id = sum.id`,
    ),
  );
  const readSpent = async (query: typeof read, ids: readonly string[]): Promise<Map<string, number>> =>
    ids.length === 0
      ? new Map()
      : new Map((await query()({ ids: encodeTexts(ids) })).map(([id, spent]) => [String(id), Number(spent)]));

  const write = async (query: typeof add, sums: readonly SumChange[]): Promise<void> => {
    if (sums.length === 0) return;
    await query()(sums.map(({ id, endsAt, amount }) => ({ id, ends_at: endsAt, amount })));
  };

  return {
    spent: (ids: readonly string[]) => readSpent(read, ids),
    lock: (ids: readonly string[]) => readSpent(lock, ids),
    /** Adds to sums, which begin with it. */
    add: (sums: readonly SumChange[]) => write(add, sums),
    /** Changes sums that exist. */
    change: (sums: readonly SumChange[]) => write(change, sums),
  };
}
