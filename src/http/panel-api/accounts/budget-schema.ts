import { t } from 'elysia';
import { BUDGET_PERIODS } from '../../../kernel/index.ts';
import { integerSchema, strictObject } from '../../pipeline/route-kit.ts';

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
