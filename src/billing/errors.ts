import { defineErrors } from '../kernel/index.ts';

export const billingErrors = defineErrors('billing', {
  insufficient_quota: ['out_of_quota', 'The account balance does not cover the estimated cost of this task.'],
  insufficient_key_quota: [
    'out_of_quota',
    'The budget of this API key does not cover the estimated cost of this task.',
  ],
  model_price_error: ['invalid', 'This model cannot be priced.'],
  price_invalid: ['invalid', 'The price expression cannot be accepted.'],
  price_not_found: ['not_found', 'There is no price for this plugin and model.'],
});
