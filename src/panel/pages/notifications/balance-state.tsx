import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { BalanceAlert } from '../../api/types.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { attemptError } from '../tasks/attempt-error.ts';

/** The balance, whether it is low, and what became of the last warning. */
export function BalanceState({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { balance, is_low: isLow, warned_at: warnedAt, last_delivery: delivery } = alert;
  return (
    <Stack gap={6}>
      <Text size="sm" component="div">
        {t('notifications.available', { amount: format.money(balance) })}
      </Text>
      {isLow && (
        <StatusLabel tone="waiting">
          {warnedAt === 0 ? t('notifications.low') : t('notifications.lowWarned', { time: format.ago(warnedAt) })}
        </StatusLabel>
      )}
      {delivery !== null && delivery.status === 'delivered' && (
        <StatusLabel tone="good">{t('notifications.delivered', { time: format.ago(delivery.at) })}</StatusLabel>
      )}
      {delivery !== null && delivery.status !== 'delivered' && (
        <StatusLabel tone="bad">
          {t('notifications.undelivered', {
            time: format.ago(delivery.at),
            answer: delivery.http_status === 0 ? attemptError(delivery.error, t) : String(delivery.http_status),
          })}
        </StatusLabel>
      )}
    </Stack>
  );
}
