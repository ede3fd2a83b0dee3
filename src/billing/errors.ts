import { type AppError, defineErrors, QUOTA_PER_USD, sentence } from '../kernel/index.ts';
import type { BudgetExceeded } from '../store/ports/index.ts';

export const billingErrors = defineErrors('billing', {
  insufficient_quota: ['out_of_quota', 'The account balance does not cover the estimated cost of this task.'],
  insufficient_key_quota: [
    'out_of_quota',
    'The budget of this API key does not cover the estimated cost of this task.',
  ],
  budget_exceeded: ['rate_limited', 'A budget does not cover the estimated cost of this request.'],
  model_price_error: ['invalid', 'This request cannot be priced.'],
  price_invalid: ['invalid', 'The price expression is not valid.'],
  price_not_found: ['not_found', 'There is no price for this plugin and model.'],
});

const REASONS = {
  key: 'billing.budget_key',
  user: 'billing.budget_user',
  group: 'billing.budget_group',
} as const;
const TOTAL_REASONS = {
  key: 'billing.budget_key_total',
  user: 'billing.budget_user_total',
  group: 'billing.budget_group_total',
} as const;

/** Says which budget it is and when its next period begins; until then a repeat is refused too. */
export function budgetExceeded({ owner, budget, spent, endsAt }: BudgetExceeded, cost: number, now: number): AppError {
  const { amount, period } = budget;
  const usd = (quota: number): string => String(quota / QUOTA_PER_USD);
  const resetsAt = endsAt === 0 ? null : new Date(endsAt * 1000).toISOString().replace('.000Z', 'Z');
  return billingErrors.budget_exceeded({
    message: sentence(period === 'total' ? TOTAL_REASONS[owner.scope] : REASONS[owner.scope], {
      ...{ amount: usd(amount), period, spent: usd(spent), cost: usd(cost) },
      resets_at: resetsAt ?? 'never',
    }),
    details: { budget: owner.scope, amount, period, spent, cost, resetsAt: endsAt === 0 ? null : endsAt },
    shouldRetry: false,
    ...(endsAt === 0 ? {} : { retryAfterSeconds: Math.max(1, endsAt - now) }),
  });
}
