import type { BillingSettings } from '../../billing/index.ts';
import type { OptionValues } from '../../settings/index.ts';

/** The options of the billing room as they stand now. */
export const billingSettings = (options: OptionValues): BillingSettings => ({
  // The catalogue has checked that it holds ratios.
  groupRatios: options.json('groups') as Record<string, number>,
  unpriced: options.choice('billing.unpriced'),
});
