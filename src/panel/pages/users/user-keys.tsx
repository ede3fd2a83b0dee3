import { useTranslation } from 'react-i18next';
import type { ApiKey, ApiKeyPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { type Column, DataTable } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { RowBrief } from '../../ui/display/row-brief.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { NameLink } from '../../ui/page/name-link.tsx';
import { KeyStatus } from '../keys/key-status.tsx';

/** The API keys of one user; only their owner can change them. */
export function UserKeys({ userId }: { userId: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<ApiKeyPage>(withQuery(`/api/user/${userId}/keys`, { page }));
  const keys = query.data?.items ?? [];
  const left = format.moneyLike(keys.flatMap((key) => (key.unlimited_quota ? [] : key.quota)));
  const spent = format.moneyLike(keys.map((key) => key.used_quota));
  const usagePath = ({ id }: ApiKey): string => `/usage?user=${userId}&key=${id}`;
  const columns: readonly Column<ApiKey>[] = [
    { key: 'name', heading: t('keys.name'), render: ({ name, prefix }) => `${name} · ${prefix}…` },
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
      render: (key) => (key.last_used_at === 0 ? t('keys.notUsed') : format.ago(key.last_used_at)),
    },
    {
      key: 'usage',
      heading: t('nav.usage'),
      render: (key) => <NameLink to={usagePath(key)}>{t('users.keys.usage')}</NameLink>,
    },
  ];
  return (
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
          figure={key.unlimited_quota ? t('keys.unlimited') : left(key.quota)}
          state={<KeyStatus status={key.status} />}
          facts={[`${key.prefix}…`, key.last_used_at === 0 ? '' : format.ago(key.last_used_at)]}
        />
      )}
      empty={<EmptyState heading={t('users.keys.none')} text={t('users.keys.noneText')} />}
    />
  );
}
