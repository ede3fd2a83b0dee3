import { useTranslation } from 'react-i18next';
import { accountStatus } from '../../api/record-status.ts';
import type { AccountRow } from '../../api/types.ts';
import { roleTextKey } from '../../session/roles.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';

export function RoleName({ role }: { role: number }) {
  const { t } = useTranslation();
  return t(roleTextKey(role));
}

export function AccountStatus({ account }: { account: Pick<AccountRow, 'status' | 'deleted_at'> }) {
  const { t } = useTranslation();
  if (account.deleted_at !== 0) return <StatusLabel tone="quiet">{t('users.deleted')}</StatusLabel>;
  return account.status === accountStatus.enabled ? (
    <StatusLabel tone="good">{t('users.enabled')}</StatusLabel>
  ) : (
    <StatusLabel tone="bad">{t('users.disabled')}</StatusLabel>
  );
}
