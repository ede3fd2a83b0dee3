import type { QuantityUnit } from '../../ui/form/quantity.ts';

/** What those integers among the options count that are given in a unit. */
export const optionUnits: Readonly<Record<string, QuantityUnit>> = {
  ModelRequestRateLimitDurationMinutes: 'minute',
  'queue.max_wait_seconds': 'second',
  'queue.max_waiting_bytes': 'byte',
  'maintenance.retry_after_seconds': 'second',
  'results.previews_mb': 'megabyte',
  'retention.hours': 'hour',
  ...Object.fromEntries(
    ['prompt', 'request', 'answer', 'event', 'task', 'usage', 'ledger', 'webhook', 'audit'].map(
      (data) => [`retention.${data}_days`, 'retention'] as const,
    ),
  ),
};

/** Quota amounts, shown and entered in dollars. */
export const moneyOptions: readonly string[] = [
  ...['QuotaForNewUser', 'QuotaForInviter', 'QuotaForInvitee'],
  ...['alerts.low_balance_default', 'billing.memory_hold_quota'],
];
