import { t } from 'elysia';
import { MAX_OWNER_LIMIT } from '../../../auth/index.ts';
import { BUDGET_PERIODS } from '../../../kernel/index.ts';
import { integerSchema, strictObject } from '../../pipeline/route-kit.ts';

/** What a key or an account may do at once and in a minute. */
export const ownerLimitFields = {
  requests_per_minute: limitSchema('Requests for tasks and relayed requests within a minute; null: no such limit.'),
  max_running: limitSchema('Tasks that run at once; further ones wait. null: no such limit.'),
};

/** What a key or an account may spend in each period. */
export const budgetSchema = (description: string) =>
  t.Optional(
    t.Union(
      [
        strictObject({
          amount: integerSchema({ minimum: 1, description: 'Quota; 500,000 = 1 USD.' }),
          period: t.String({
            maxLength: 20,
            description: `${BUDGET_PERIODS.join(', ')}; days, weeks (from Monday) and months are those of billing.timezone.`,
          }),
        }),
        t.Null(),
      ],
      { description },
    ),
  );

function limitSchema(description: string) {
  return t.Optional(t.Union([integerSchema({ minimum: 1, maximum: MAX_OWNER_LIMIT }), t.Null()], { description }));
}
