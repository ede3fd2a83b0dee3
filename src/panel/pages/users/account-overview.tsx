import { Button } from '@mantine/core';
import { IconCoin } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Account } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { DescriptionList } from '../../ui/display/figures.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { Rights } from './account-rules.tsx';
import { AccountStatus, RoleName } from './account-rules.tsx';
import { BalanceDialog } from './balance-dialog.tsx';
import classes from './users.module.css';

/** Balance, role, status and usage of an account. */
export function AccountOverview({ account, rights }: { account: Account; rights: Rights }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isChanging, setChanging] = useState(false);
  const facts: readonly [string, ReactNode][] = [
    [t('users.status'), <AccountStatus key="status" account={account} />],
    [t('users.role'), <RoleName key="role" role={account.role} />],
    [t('users.used'), format.money(account.used_quota)],
    [t('users.requests'), format.number(account.request_count)],
    [t('users.keys'), format.number(account.api_keys)],
    [t('users.invited'), format.number(account.invited)],
    [t('users.since'), format.date(account.created_at)],
    [t('users.lastLogin'), account.last_login_at === 0 ? t('users.never') : format.ago(account.last_login_at)],
  ];
  return (
    <Section
      heading={t('users.balance')}
      actions={
        rights.balance && (
          <Button
            variant="default"
            leftSection={<IconCoin size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => setChanging(true)}
          >
            {t('users.changeBalance')}
          </Button>
        )
      }
    >
      <div className={classes.figure}>{format.money(account.quota)}</div>
      <DescriptionList entries={facts} />
      <BalanceDialog account={account} isOpen={isChanging} onClose={() => setChanging(false)} />
    </Section>
  );
}

/** Revokes all links to an account's results. */
export function AccountLinks({ account }: { account: Account }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `/api/user/${account.id}/links/revoke` }),
    invalidates: ['/api/task'],
    onSuccess: () => notifySuccess(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const title = t('users.linksAsk', { name: account.username });
    if (await confirm({ title, text: t('links.revokeText'), action: t('links.revoke') })) revoke.mutate();
  };
  return (
    <Section
      heading={t('users.links')}
      intro={t('users.linksHelp')}
      actions={
        <Button variant="default" size="xs" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      }
    >
      {revoke.isError && <ErrorNotice error={revoke.error} />}
    </Section>
  );
}
