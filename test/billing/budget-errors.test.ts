import { expect, test } from 'bun:test';
import { budgetExceeded } from '../../src/billing/errors.ts';
import { errorResponse } from '../../src/http/responses/errors.ts';

const NOW = Date.parse('2026-11-28T22:00:00Z') / 1000;
const MIDNIGHT = NOW + 7200;

test.each([
  [{ scope: 'key', keyId: 7 }, 'This API key'],
  [{ scope: 'user', userId: 7 }, 'This account'],
  [{ scope: 'group', userId: 7, group: 'trial' }, 'Each user of this group'],
] as const)('an exceeded budget of %p is 429 on /v1, not to be repeated before its end', async (owner, named) => {
  const exceeded = { owner, budget: { amount: 2_500_000, period: 'day' }, spent: 2_450_000, endsAt: MIDNIGHT } as const;
  const response = errorResponse(budgetExceeded(exceeded, 100_000, NOW), 'openai', 'r');
  expect(response.status).toBe(429);
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(response.headers.get('retry-after')).toBe('7200');
  expect(await response.json()).toEqual({
    error: {
      message: `${named} can spend 5 USD per day. 4.9 USD has been spent or reserved, and this request may cost 0.2 USD. The next day begins at 2026-11-29T00:00:00Z.`,
      type: 'rate_limit_error',
      code: 'budget_exceeded',
      param: null,
    },
  });
});

test('one in all never resets, and the panel gets its figures', async () => {
  const exceeded = {
    owner: { scope: 'key', keyId: 7 },
    budget: { amount: 5, period: 'total' },
    spent: 5,
    endsAt: 0,
  } as const;
  const response = errorResponse(budgetExceeded(exceeded, 1, NOW), 'panel', 'r');
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBeNull();
  expect(await response.json()).toMatchObject({
    code: 'BILLING_BUDGET_EXCEEDED',
    reason: 'billing.budget_key_total',
    details: { budget: 'key', amount: 5, period: 'total', spent: 5, cost: 1, resets_at: null },
  });
});
