import type { TextKey } from '../../i18n/texts.ts';
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
      (data) => [`retention.${data}_days`, 'day'] as const,
    ),
  ),
};

/** Quota amounts, shown and entered in dollars. */
export const moneyOptions: readonly string[] = [
  ...['QuotaForNewUser', 'QuotaForInviter', 'QuotaForInvitee'],
  ...['alerts.low_balance_default', 'billing.memory_hold_quota'],
];

/** What an empty field means among those numbers that have one; it is stored as 0. */
export const zeroTexts: Readonly<Record<string, TextKey>> = {
  ModelRequestRateLimitCount: 'limit.none',
  'queue.max_wait_seconds': 'number.noWait',
  'alerts.low_balance_default': 'number.turnedOff',
  'billing.memory_hold_quota': 'number.turnedOff',
  'results.previews_mb': 'number.turnedOff',
  ...Object.fromEntries(
    Object.entries(optionUnits).flatMap(([key, unit]) => (unit === 'day' ? [[key, 'number.forever']] : [])),
  ),
};
