import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { useFormat } from '../../ui/display/use-format.ts';

export const balanceAlertPath = '/api/user/self/balance-alert';

/** Beside the user's own balance: that it is below the amount of their alert. */
export function LowBalanceNote() {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<BalanceAlert>(balanceAlertPath);
  if (data?.is_low !== true) return null;
  return (
    <Anchor component={Link} to="/notifications" size="sm">
      {t('home.balanceLow', { amount: format.money(data.threshold ?? data.default_threshold) })}
    </Anchor>
  );
}
