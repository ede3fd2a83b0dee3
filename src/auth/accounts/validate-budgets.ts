import {
  BUDGET_PERIODS,
  type Budget,
  type BudgetOwner,
  type BudgetPeriod,
  type Clock,
  findBudgetSum,
  MAX_QUOTA,
  sentence,
} from '../../kernel/index.ts';
import type { OwnerLimits, Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { invalidField } from '../errors.ts';

/** The own limits of a user or an API key; null: no such limit. */
export type OwnerLimitsView = { requests_per_minute: number | null; max_running: number | null };

/** Far above what one owner can use. */
export const MAX_OWNER_LIMIT = 1_000_000;

/**
 * The given limits as the store takes them.
 * @throws `auth.validation_failed`
 */
export function validateOwnerLimits(fields: Partial<OwnerLimitsView>): Partial<OwnerLimits> {
  const { requests_per_minute: requestsPerMinute, max_running: maxRunning } = fields;
  return {
    ...(requestsPerMinute === undefined
      ? {}
      : { requestsPerMinute: validateLimit('requests_per_minute', requestsPerMinute) }),
    ...(maxRunning === undefined ? {} : { maxRunning: validateLimit('max_running', maxRunning) }),
  };
}

function validateLimit(field: keyof OwnerLimitsView, limit: number | null): number | null {
  if (limit !== null && (!Number.isInteger(limit) || limit < 1 || limit > MAX_OWNER_LIMIT)) {
    throw invalidField(field, sentence('auth.own_limit', { max: MAX_OWNER_LIMIT }));
  }
  return limit;
}

export const describeOwnerLimits = ({ requestsPerMinute, maxRunning }: OwnerLimits): OwnerLimitsView => ({
  requests_per_minute: requestsPerMinute,
  max_running: maxRunning,
});

export type BudgetFields = { amount: number; period: string };

/** A budget, and what is reserved and charged in its present period. */
export type BudgetView = Budget & {
  spent: number;
  /** Unix seconds at which the next period begins; null: never. */
  resets_at: number | null;
};

/** @throws `auth.validation_failed` */
export function validateBudget(fields: BudgetFields | null): Budget | null {
  if (fields === null) return null;
  const { amount } = fields;
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > MAX_QUOTA) {
    throw invalidField('budget.amount', sentence('auth.budget_amount', { max: MAX_QUOTA }));
  }
  const period = fields.period as BudgetPeriod;
  if (!BUDGET_PERIODS.includes(period)) {
    throw invalidField('budget.period', sentence('auth.budget_period', { periods: BUDGET_PERIODS.join(', ') }));
  }
  return { amount, period };
}

type Deps = { store: Pick<Store, 'ledger'>; clock: Clock; settings: () => Pick<AuthSettings, 'timezone'> };

/** Budgets as people see them, in the order of their owners; null for those that have none. */
export async function describeBudgets(
  { store, clock, settings }: Deps,
  owned: readonly (BudgetOwner & { budget: Budget | null })[],
): Promise<(BudgetView | null)[]> {
  const period = { zone: settings().timezone, at: clock.unix() };
  const sums = owned.map((owner) => owner.budget && findBudgetSum(owner, owner.budget, period));
  const ids = sums.flatMap((sum) => sum?.id ?? []);
  const spent = ids.length === 0 ? new Map<string, number>() : await store.ledger.budgetsSpent(ids);
  return owned.map(({ budget }, index) => {
    const sum = sums[index];
    if (!budget || !sum) return null;
    return { ...budget, spent: spent.get(sum.id) ?? 0, resets_at: sum.endsAt === 0 ? null : sum.endsAt };
  });
}
