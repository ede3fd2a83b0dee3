import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { type AccountRow, accountStatus } from '../../api/types.ts';
import { roles, roleTextKey } from '../../session/roles.ts';
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

/** What the operator may do to an account. The API refuses everything else. */
export type Rights = {
  /** Fields and sign-in methods. */
  edit: boolean;
  balance: boolean;
  switch: boolean;
  delete: boolean;
  promote: boolean;
  demote: boolean;
  sessions: boolean;
};

type Person = { id: number; role: number };

const noRights: Rights = {
  edit: false,
  balance: false,
  switch: false,
  delete: false,
  promote: false,
  demote: false,
  sessions: false,
};

/**
 * Administrators manage users only, never other administrators; root manages everybody else. People
 * change their own account in their own settings. Root's balance is the exception, since nobody is
 * above root.
 */
export function rightsOver(operator: Person, target: Person & { deleted_at: number }): Rights {
  if (target.deleted_at !== 0) return noRights;
  const isRoot = operator.role >= roles.root;
  if (operator.id === target.id) return { ...noRights, balance: isRoot };
  if (!isRoot && target.role >= operator.role) return noRights;
  const isBelow = target.role < roles.root;
  return {
    edit: true,
    balance: true,
    switch: isBelow,
    delete: isBelow,
    promote: isRoot && target.role < roles.admin,
    demote: isRoot && target.role >= roles.admin && isBelow,
    sessions: isRoot,
  };
}

/** The server's rules for names and passwords, checked before sending. */
export const usernameError = (t: TFunction, name: string): string | null =>
  /^[A-Za-z0-9._-]{1,32}$/.test(name) ? null : t('users.nameInvalid');

export function passwordError(t: TFunction, secret: string): string | null {
  const { length } = [...secret];
  if (length < 8) return t('setup.passwordTooShort');
  return length > 128 ? t('setup.passwordTooLong') : null;
}
