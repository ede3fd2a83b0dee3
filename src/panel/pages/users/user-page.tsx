import { Alert, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import type { Account } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { ResourceNotFound } from '../../ui/page/resource-not-found.tsx';
import { Section } from '../../ui/page/section.tsx';
import { AccountStatement } from '../usage/account-statement.tsx';
import { AccountActions } from './account-actions.tsx';
import { AccountFactors } from './account-factors.tsx';
import { AccountFields } from './account-fields.tsx';
import { AccountStatus } from './account-labels.tsx';
import { AccountLinks } from './account-links.tsx';
import { AccountOverview } from './account-overview.tsx';
import { rightsOver } from './account-rules.ts';
import { AccountSessions } from './account-sessions.tsx';
import { UserKeys } from './user-keys.tsx';
import { UserSpend } from './user-spend.tsx';
import { UserTasks } from './user-tasks.tsx';

/** One account, and what the operator may do to it. */
export function UserPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const account = useApiQuery<Account>(`/api/user/${encodeURIComponent(id)}`, { keepPrevious: false });
  if (account.data !== undefined) return <AccountPage key={account.data.id} account={account.data} />;
  return (
    <Page heading={t('users.one')} back={<BackToUsers />} narrow>
      <QueryResult
        query={account}
        notFound={
          <ResourceNotFound
            heading={t('users.missing')}
            text={t('users.missingText')}
            list={{ to: '/users', name: 'users.all' }}
          />
        }
        codeTexts={{ AUTH_INSUFFICIENT_PRIVILEGE: 'users.notYours' }}
      >
        {() => null}
      </QueryResult>
    </Page>
  );
}

function BackToUsers() {
  const { t } = useTranslation();
  return <BackLink to="/users">{t('nav.users')}</BackLink>;
}

function AccountPage({ account }: { account: Account }) {
  const { t } = useTranslation();
  const { bundle } = useSessionSnapshot();
  const operator = bundle?.user ?? { id: 0, role: 0 };
  const rights = rightsOver(operator, account);
  return (
    <Page
      heading={account.display_name || account.username}
      intro={t('users.accountOf', { name: account.username, id: account.id })}
      back={<BackToUsers />}
      actions={<AccountActions account={account} rights={rights} />}
    >
      <PageTabs
        first="account"
        tabs={[
          { name: 'account', text: t('users.tab.account'), panel: <AccountTab account={account} />, keep: true },
          { name: 'spend', text: t('users.tab.spend'), panel: <UserSpend userId={account.id} /> },
          { name: 'tasks', text: t('users.tab.tasks'), panel: <UserTasks userId={account.id} /> },
          { name: 'keys', text: t('users.tab.keys'), panel: <UserKeys userId={account.id} /> },
          {
            name: 'balance',
            text: t('users.tab.balance'),
            panel: <AccountStatement path={`/api/user/${account.id}/ledger`} showsActor />,
          },
        ]}
      />
    </Page>
  );
}

function AccountTab({ account }: { account: Account }) {
  const { t } = useTranslation();
  const { bundle } = useSessionSnapshot();
  const operator = bundle?.user ?? { id: 0, role: 0 };
  const rights = rightsOver(operator, account);
  return (
    <Stack gap="lg" maw={720}>
      {operator.id === account.id && (
        <Alert color="gray" variant="light">
          {t('users.yourself')}
        </Alert>
      )}
      <AccountOverview account={account} rights={rights} />
      {rights.edit ? (
        <>
          <AccountFields account={account} />
          <AccountFactors account={account} />
          <AccountLinks account={account} />
        </>
      ) : (
        <Section heading={t('users.status')}>
          <AccountStatus account={account} />
        </Section>
      )}
      {rights.sessions && <AccountSessions account={account} />}
    </Stack>
  );
}
