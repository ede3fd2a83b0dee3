import type { QuantityUnit } from '../../ui/form/quantity.ts';

/** What the integers among the options count. */
export const optionUnits: Readonly<Record<string, QuantityUnit>> = {
  ModelRequestRateLimitDurationMinutes: 'minute',
  ModelRequestRateLimitCount: 'count',
  ModelRequestRateLimitSuccessCount: 'count',
  'queue.max_wait_seconds': 'second',
  'queue.max_waiting': 'count',
  'queue.max_waiting_per_user': 'count',
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
