import { Alert, Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import type { Account, ApiKey, ApiKeyPage, TaskPage } from '../../api/types.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { type Column, DataTable, RowLink } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { KeyMenu } from '../keys/key-menu.tsx';
import { KeyLastUse, KeyStatus, useLastUseFacts } from '../keys/key-status.tsx';
import { useKeyChanges } from '../keys/use-key-changes.ts';
import { TaskBrief, useTaskColumns } from '../tasks/use-task-columns.tsx';
import { AccountStatement } from '../usage/account-statement.tsx';
import { UsageFilterBar } from '../usage/usage-filter-bar.tsx';
import { UsageReport } from '../usage/usage-report.tsx';
import { useUsageFilters } from '../usage/use-usage-filters.ts';
import { AccountActions } from './account-actions.tsx';
import { AccountFactors } from './account-factors.tsx';
import { AccountFields } from './account-fields.tsx';
import { AccountBalance, AccountLinks, AccountOverview } from './account-overview.tsx';
import { rightsOver } from './account-rules.tsx';
import { AccountSessions } from './account-sessions.tsx';
import classes from './users.module.css';

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
          { name: 'keys', text: t('users.tab.keys'), panel: <UserKeys userId={account.id} mayEdit={rights.edit} /> },
          {
            name: 'balance',
            text: t('ledger.statement'),
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
    <Stack gap="lg">
      {operator.id === account.id && (
        <Alert color="gray" variant="light">
          {t('users.yourself')}
        </Alert>
      )}
      <div className={classes.columns}>
        <div className={classes.side}>
          <AccountBalance account={account} rights={rights} />
          <AccountOverview account={account} />
          {rights.edit && <AccountFactors account={account} />}
        </div>
        <div className={classes.main}>
          {rights.edit && <AccountFields account={account} />}
          {rights.sessions && <AccountSessions account={account} />}
          {rights.edit && <AccountLinks account={account} />}
        </div>
      </div>
    </Stack>
  );
}

/** What one user spent in a period. */
function UserSpend({ userId }: { userId: number }) {
  const filters = useUsageFilters(String(userId));
  return (
    <Stack gap={28}>
      <UsageFilterBar filters={filters} ofOneUser />
      <UsageReport filters={filters} />
    </Stack>
  );
}

/** The tasks of one user, the newest first. */
function UserTasks({ userId }: { userId: number }) {
  const { t } = useTranslation();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<TaskPage>(withQuery('/api/task', { scope: 'all', user_id: userId, page }));
  const columns = useTaskColumns({ all: true, without: 'user', tasks: query.data?.items });
  return (
    <div>
      {query.data !== undefined && query.data.total > 0 && (
        <Text size="sm" ta="end" mb={10}>
          <Anchor component={Link} to={`/tasks?scope=all&user=${userId}`} inherit>
            {t('users.tasks.open')}
          </Anchor>
        </Text>
      )}
      <DataTable
        label={t('users.tab.tasks')}
        query={query}
        columns={columns}
        rowKey={({ id }) => id}
        onPage={setPage}
        isDense
        brief={(task) => <TaskBrief task={task} all={false} tasks={query.data?.items} />}
        empty={<EmptyState heading={t('users.tasks.none')} text={t('users.tasks.noneText')} />}
      />
    </div>
  );
}

/** The API keys of one user, which an operator can stop. */
function UserKeys({ userId, mayEdit }: { userId: number; mayEdit: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const lastUseFacts = useLastUseFacts();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<ApiKeyPage>(withQuery(`/api/user/${userId}/keys`, { page }));
  const keys = query.data?.items ?? [];
  const changes = useKeyChanges({ userId });
  const left = format.moneyLike(keys.flatMap((key) => (key.unlimited_quota ? [] : key.quota)));
  const spent = format.moneyLike(keys.map((key) => key.used_quota));
  const usagePath = ({ id }: ApiKey): string => `/usage?user=${userId}&key=${id}`;
  const columns: readonly Column<ApiKey>[] = [
    {
      key: 'name',
      heading: t('keys.name'),
      render: (key) => (
        <>
          <RowLink to={usagePath(key)} className={classes.link ?? ''}>
            {key.name}
          </RowLink>
          <Text size="xs" c="dimmed" ff="monospace">
            {key.prefix}…
          </Text>
        </>
      ),
    },
    { key: 'status', heading: t('keys.status'), render: ({ status }) => <KeyStatus status={status} /> },
    {
      key: 'left',
      heading: t('keys.left'),
      numeric: true,
      render: (key) => (key.unlimited_quota ? t('keys.unlimited') : left(key.quota)),
    },
    { key: 'spent', heading: t('keys.spent'), numeric: true, render: (key) => spent(key.used_quota) },
    {
      key: 'used',
      heading: t('keys.lastUsed'),
      numeric: true,
      render: (key) => <KeyLastUse apiKey={key} />,
    },
    ...(mayEdit
      ? [
          {
            key: 'actions',
            heading: t('app.more'),
            actions: true,
            render: (key: ApiKey) => <KeyMenu apiKey={key} changes={changes} />,
          },
        ]
      : []),
  ];
  return (
    <>
      {changes.error !== null && <ErrorNotice error={changes.error} />}
      <DataTable
        label={t('users.tab.keys')}
        query={query}
        columns={columns}
        rowKey={({ id }) => id}
        onPage={setPage}
        brief={(key) => (
          <RowBrief
            name={key.name}
            to={usagePath(key)}
            figure={t('keys.spentSoFar', { money: spent(key.used_quota) })}
            state={<KeyStatus status={key.status} />}
            facts={[key.unlimited_quota ? t('keys.unlimited') : t('keys.leftOf', { money: left(key.quota) })]}
            detail={[`${key.prefix}…`, ...lastUseFacts(key).slice(0, 1)]}
            {...(mayEdit ? { actions: <KeyMenu apiKey={key} changes={changes} /> } : {})}
          />
        )}
        empty={<EmptyState heading={t('users.keys.none')} text={t('users.keys.noneText')} />}
      />
    </>
  );
}
