import type { TFunction } from 'i18next';
import type { BalanceAlert, BalanceAlertFields } from '../../api/types.ts';
import { dollarsOf, quotaOf } from '../../ui/form/decimal.ts';

export type AlertValues = {
  isOn: boolean;
  /** US dollars. */
  threshold: string;
  mail: boolean;
  webhook_url: string;
};

/** Proposed to who turns the warning on where the operator has no default. */
const proposedUsd = '5';

export function toAlertValues(alert: BalanceAlert): AlertValues {
  const applied = alert.threshold ?? alert.default_threshold;
  const shown = applied || alert.default_threshold;
  return {
    isOn: applied > 0,
    threshold: shown > 0 ? dollarsOf(shown) : proposedUsd,
    mail: alert.mail,
    webhook_url: alert.webhook_url ?? '',
  };
}

/** Only what was changed: the operator's default stays one until another amount is chosen. */
export function toAlertFields(values: AlertValues, before: AlertValues): BalanceAlertFields {
  const isAmountNew = values.isOn !== before.isOn || values.threshold !== before.threshold;
  return {
    ...(isAmountNew ? { threshold: values.isOn ? (quotaOf(values.threshold) ?? 0) : 0 } : {}),
    ...(values.mail === before.mail ? {} : { mail: values.mail }),
    ...(values.webhook_url === before.webhook_url ? {} : { webhook_url: values.webhook_url.trim() || null }),
  };
}

export const validateAlert = ({ isOn, threshold, webhook_url: url }: AlertValues, t: TFunction) => ({
  threshold: isOn && !quotaOf(threshold) ? t('notifications.thresholdMissing') : null,
  webhook_url: url.trim() === '' || /^https?:\/\/[^/]/i.test(url.trim()) ? null : t('keys.webhookInvalid'),
});
