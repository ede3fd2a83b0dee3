import { useTranslation } from 'react-i18next';
import type { AccountRow } from '../../api/types.ts';
import { roles } from '../../shell/navigation-sections.ts';
import { StatusMark } from '../../ui/display/status-label.tsx';

export function RoleName({ role }: { role: number }) {
  const { t } = useTranslation();
  return t(role >= roles.root ? 'role.root' : role >= roles.admin ? 'role.admin' : 'role.user');
}

export function AccountStatus({ account }: { account: Pick<AccountRow, 'status' | 'deleted_at'> }) {
  const { t } = useTranslation();
  if (account.deleted_at !== 0) return <StatusMark tone="quiet">{t('users.deleted')}</StatusMark>;
  return account.status === 1 ? (
    <StatusMark tone="good">{t('users.enabled')}</StatusMark>
  ) : (
    <StatusMark tone="bad">{t('users.disabled')}</StatusMark>
  );
}
