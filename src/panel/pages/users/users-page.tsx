import { Anchor, Button, Select, Text } from '@mantine/core';
import { IconUserPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type AccountPage, type AccountRow, accountStatus } from '../../api/types.ts';
import { roles, roleTextKey } from '../../session/roles.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { NoMatches } from '../../ui/display/empty-state.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FilterBar, SearchField } from '../../ui/form/filter-bar.tsx';
import { type Filters, useDebouncedFilter, useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { type Column, DataTable, RowLink } from '../../ui/table/data-table.tsx';
import { ExportMenu } from '../../ui/table/export-menu.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import { AccountStatus, RoleName } from './account-rules.tsx';
import { NewUserDialog } from './new-user-dialog.tsx';
import classes from './users.module.css';

const filterNames = ['keyword', 'role', 'status', 'group', 'sort'] as const;
/** The API's value of the `status` filter for deleted accounts. */
const deletedFilter = '-1';
type FilterName = (typeof filterNames)[number];

/** The last month that is over in UTC, such as `2026-10`. */
const lastMonth = (now: Date): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);

/** All accounts. */
export function UsersPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const [isAdding, setAdding] = useState(false);
  const filters = useFilters(filterNames);
  const { keyword, role, status, group, sort } = filters.values;
  const [sortBy, order] = sort.split('.');
  const wanted = { keyword, role, status, group, sort_by: sortBy || 'id', sort_order: order || 'desc' };
  const query = useApiQuery<AccountPage>(withQuery('/api/user', { page: filters.page, ...wanted }));
  const isSearch = keyword !== '' && role + status + group === '';
  const noneText = isSearch ? t('users.noneNamed', { keyword }) : t('users.noneText');
  const total = query.data?.total;
  const isAlone = total === 1 && !filters.isFiltered;
  const month = lastMonth(new Date());
  const columns = useColumns(query.data?.items ?? []);
  return (
    <Page
      heading={t('nav.users')}
      mark={
        total !== undefined && (
          <Text span c="dimmed">
            {t('users.count', { count: total, number: format.number(total) })}
          </Text>
        )
      }
      intro={t('users.intro')}
      actions={
        <>
          <ExportMenu
            path="/api/user/export"
            query={wanted}
            name="users"
            other={{
              label: t('export.statements', { month }),
              path: '/api/user/statement/export',
              query: { ...wanted, month },
              name: `statements-${month}`,
            }}
          />
          <Button
            leftSection={<IconUserPlus size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => setAdding(true)}
          >
            {t('users.add')}
          </Button>
        </>
      }
    >
      <div>
        <UserFilters filters={filters} />
        <DataTable
          label={t('nav.users')}
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          onPage={filters.setPage}
          brief={(account) => <AccountBrief account={account} />}
          empty={<NoMatches text={noneText} onClear={filters.clear} />}
        />
        {isAlone && (
          <Text size="sm" c="dimmed" mt="md">
            {t('users.onlyYou')}{' '}
            <Anchor component={Link} to="/settings/sign_in" inherit underline="always">
              {t('users.signUpSettings')}
            </Anchor>
          </Text>
        )}
      </div>
      <NewUserDialog isOpen={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function UserFilters({ filters }: { filters: Filters<FilterName> }) {
  const { t } = useTranslation();
  const search = useDebouncedFilter(filters.values.keyword, (text) => filters.set('keyword', text));
  const pick = (name: FilterName) => ({
    value: filters.values[name],
    onChange: (value: string | null) => filters.set(name, value ?? ''),
    allowDeselect: false,
  });
  return (
    <FilterBar search={<SearchField label={t('app.search')} placeholder={t('users.searchHelp')} {...search} />}>
      <Select
        label={t('users.role')}
        data={[
          { value: '', label: t('users.any') },
          { value: String(roles.user), label: t('role.user') },
          { value: String(roles.admin), label: t('role.admin') },
          { value: String(roles.root), label: t('role.root') },
        ]}
        {...pick('role')}
      />
      <Select
        label={t('users.status')}
        data={[
          { value: '', label: t('users.any') },
          { value: String(accountStatus.enabled), label: t('users.enabled') },
          { value: String(accountStatus.disabled), label: t('users.disabled') },
          { value: deletedFilter, label: t('users.deleted') },
        ]}
        {...pick('status')}
      />
      <Select
        label={t('users.sort')}
        data={[
          { value: '', label: t('users.sort.newest') },
          { value: 'username.asc', label: t('users.sort.name') },
          { value: 'quota.desc', label: t('users.sort.balance') },
          { value: 'last_login_at.desc', label: t('users.sort.login') },
        ]}
        {...pick('sort')}
      />
    </FilterBar>
  );
}

function useColumns(accounts: readonly AccountRow[]): readonly Column<AccountRow>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const balance = format.moneyLike(accounts.map(({ quota }) => quota));
  const spent = format.moneyLike(accounts.map(({ used_quota: used }) => used));
  return [
    { key: 'name', heading: t('users.user'), render: (account) => <AccountName account={account} /> },
    {
      key: 'role',
      heading: t('users.roleAndGroup'),
      render: ({ role, group }) => (
        <>
          <RoleName role={role} />
          <Text size="xs" c="dimmed">
            {group}
          </Text>
        </>
      ),
    },
    {
      key: 'balance',
      heading: t('users.balance'),
      numeric: true,
      render: ({ quota }) => balance(quota),
    },
    { key: 'used', heading: t('users.used'), numeric: true, render: ({ used_quota: used }) => spent(used) },
    {
      key: 'login',
      heading: t('users.lastLogin'),
      numeric: true,
      render: ({ last_login_at: at }) => (at === 0 ? t('users.never') : format.ago(at)),
    },
  ];
}

/** Most accounts are: only the others show their status. */
const isActive = ({ status, deleted_at: at }: AccountRow): boolean => at === 0 && status === accountStatus.enabled;

const hasDisplayName = ({ display_name: name, username }: AccountRow): boolean => name !== '' && name !== username;

function AccountBrief({ account }: { account: AccountRow }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { id, display_name: name, username, email, role, group, quota, last_login_at: at } = account;
  const who = [
    email ?? (hasDisplayName(account) ? username : ''),
    role === roles.user ? '' : t(roleTextKey(role)),
    group === 'default' ? '' : group,
  ].filter((text) => text !== '');
  return (
    <RowBrief
      name={hasDisplayName(account) ? name : username}
      wrapsName
      to={`/users/${id}`}
      figure={format.money(quota)}
      state={
        isActive(account) ? (
          <BriefText>{who.join(' · ') || t(roleTextKey(role))}</BriefText>
        ) : (
          <AccountStatus account={account} />
        )
      }
      facts={[at === 0 ? t('users.signedInNever') : t('users.signedIn', { ago: format.ago(at) })]}
    />
  );
}

function AccountName({ account }: { account: AccountRow }) {
  const hasOwnName = hasDisplayName(account);
  const second = [hasOwnName ? account.username : '', account.email ?? ''].filter((text) => text !== '').join(' · ');
  return (
    <div className={classes.name}>
      <RowLink to={`/users/${account.id}`} className={classes.link ?? ''}>
        {hasOwnName ? account.display_name : account.username}
      </RowLink>
      {second !== '' && (
        <Text size="xs" c="dimmed">
          {second}
        </Text>
      )}
      {!isActive(account) && <AccountStatus account={account} />}
    </div>
  );
}
