import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { LedgerEntry, LedgerPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { type Column, DataTable } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { BriefText, RowBrief } from '../../ui/display/row-brief.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { taskPath } from '../tasks/use-task-columns.tsx';

/** Every change of one user's balance, the newest first. */
export function UserLedger({ userId }: { userId: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<LedgerPage>(withQuery(`/api/user/${userId}/ledger`, { page }));
  const money = format.moneyLike(query.data?.items.map(({ amount }) => amount) ?? []);
  const signed = (amount: number): string => `${amount > 0 ? '+' : ''}${money(amount)}`;
  const columns: readonly Column<LedgerEntry>[] = [
    { key: 'at', heading: t('users.ledger.at'), render: ({ created_at }) => format.time(created_at) },
    {
      key: 'kind',
      heading: t('users.ledger.kind'),
      render: ({ kind, note }) => (
        <div>
          {t(`users.ledger.kind.${kind}`)}
          {note !== '' && (
            <Text size="xs" c="dimmed">
              <ServerText text={note} />
            </Text>
          )}
        </div>
      ),
    },
    {
      key: 'task',
      heading: t('users.ledger.task'),
      wide: true,
      render: ({ task_id: id }) =>
        id === null ? (
          '–'
        ) : (
          <Anchor component={Link} to={taskPath({ id })} inherit>
            {id}
          </Anchor>
        ),
    },
    {
      key: 'amount',
      heading: t('users.ledger.amount'),
      numeric: true,
      render: ({ amount }) => signed(amount),
    },
  ];
  return (
    <DataTable
      label={t('users.tab.balance')}
      query={query}
      columns={columns}
      rowKey={({ id }) => id}
      onPage={setPage}
      brief={({ kind, note, task_id: id, amount, created_at: at }) => (
        <RowBrief
          name={t(`users.ledger.kind.${kind}`)}
          {...(id === null ? {} : { to: taskPath({ id }) })}
          figure={signed(amount)}
          state={<BriefText>{note === '' ? id : <ServerText text={note} />}</BriefText>}
          facts={[format.time(at)]}
        />
      )}
      empty={<EmptyState heading={t('users.ledger.none')} text={t('users.ledger.noneText')} />}
    />
  );
}
