import type { RetentionSettings } from '../../operations/index.ts';
import type { OptionValues } from '../../settings/index.ts';

/** What the options say about old rows. */
export const retentionSettings = (options: OptionValues): RetentionSettings => ({
  enabled: options.flag('retention.enabled'),
  promptDays: options.number('retention.prompt_days'),
  requestDays: options.number('retention.request_days'),
  answerDays: options.number('retention.answer_days'),
  taskDays: options.number('retention.task_days'),
  eventDays: options.number('retention.event_days'),
  usageDays: options.number('retention.usage_days'),
  ledgerDays: options.number('retention.ledger_days'),
  webhookDays: options.number('retention.webhook_days'),
});

/**
 * Whether an administrator has chosen what happens to old content. An update switches the retention
 * off where the gateway was in use, and leaves the days as they are for a new one.
 */
export const isRetentionDecided = ({ enabled, promptDays, requestDays, answerDays }: RetentionSettings): boolean =>
  enabled || (promptDays === 0 && requestDays === 0 && answerDays === 0);
