import type { BillingSettings } from '../../billing/index.ts';
import type { OptionValues } from '../../settings/index.ts';

/** The settings of the billing room that follow from the options. */
export const billingSettings = (options: OptionValues): BillingSettings => ({
  // The catalogue has checked the ratios.
  groupRatios: options.json('groups') as Record<string, number>,
  unpriced: options.choice('billing.unpriced'),
});
