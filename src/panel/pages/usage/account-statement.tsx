import { Anchor, Button, Group, Select, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { LedgerPage, LedgerRow } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, NoMatches } from '../../ui/display/empty-state.tsx';
import { Figures } from '../../ui/display/figures.tsx';
import { ServerText, VendorWords } from '../../ui/display/server-text.tsx';
import { useFormat, withSign } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { type Column, DataTable, RowLink } from '../../ui/table/data-table.tsx';
import { ExportMenu } from '../../ui/table/export-menu.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import { taskPath } from '../tasks/use-task-columns.tsx';
import classes from './usage.module.css';

const kinds = ['task', 'topup', 'refund', 'correction', 'other', 'grant', 'storage', 'carried'] as const;
const filterNames = ['kind', 'month'] as const;
/** How many months back one may choose. */
const shownMonths = 12;
const allTime = 'all';

type Month = {
  /** Such as "2026-11". */
  name: string;
  /** Its first and last second, as the reader's calendar counts them. */
  since: number;
  until: number;
};

/** The month `ago` months before this one. */
function readMonth(ago: number): Month {
  const now = new Date();
  const [first, next] = [ago, ago - 1].map((back) => new Date(now.getFullYear(), now.getMonth() - back, 1));
  const start = first ?? now;
  return {
    name: `${start.getFullYear()}-${String(start.getMonth() + 1).padStart(2, '0')}`,
    since: start.getTime() / 1000,
    until: (next ?? now).getTime() / 1000 - 1,
  };
}

/** Every change of a balance, the newest first, one row a task. `path` is that of the ledger. */
export function AccountStatement({ path, showsActor }: { path: string; showsActor: boolean }) {
  const { t } = useTranslation();
  const format = useFormat();
  const filters = useFilters(filterNames);
  const { kind } = filters.values;
  const months = Array.from({ length: shownMonths }, (_, ago) => readMonth(ago));
  const month = filters.values.month === allTime ? undefined : findMonth(months, filters.values.month);
  // Without a beginning there would be no sums.
  const wanted = { kind, since: month?.since ?? 0, until: month?.until };
  const query = useApiQuery<LedgerPage>(withQuery(path, { page: filters.page, ...wanted }));
  const rows = query.data?.items ?? [];
  const money = format.moneyLike(rows.flatMap(({ amount, balance_after: after }) => [amount, after]));
  const signed = (amount: number): string => withSign(amount, money);
  const actorColumn: Column<LedgerRow> = {
    key: 'actor',
    heading: t('ledger.actor'),
    minor: true,
    render: ({ actor }) =>
      actor === null ? (
        '–'
      ) : (
        <Anchor component={Link} to={`/users/${actor.id}`} inherit>
          {actor.username}
        </Anchor>
      ),
  };
  const columns: readonly Column<LedgerRow>[] = [
    { key: 'what', heading: t('ledger.what'), wide: true, render: (row) => <RowText row={row} /> },
    { key: 'at', heading: t('ledger.at'), numeric: true, render: ({ created_at }) => format.clock(created_at) },
    ...(showsActor && rows.some(({ actor }) => actor !== null) ? [actorColumn] : []),
    {
      key: 'amount',
      heading: t('ledger.amount'),
      numeric: true,
      render: (row) => <Amount row={row} signed={signed} />,
    },
    {
      key: 'balance',
      heading: t('ledger.balance'),
      numeric: true,
      render: ({ balance_after: after }) => money(after),
    },
  ];
  return (
    <div className={classes.list}>
      <Group justify="space-between" mb={24}>
        <search className={classes.choices}>
          <Select
            aria-label={t('ledger.type')}
            allowDeselect={false}
            data={[
              { value: '', label: t('ledger.allChanges') },
              ...kinds.map((value) => ({ value, label: t(`ledger.kind.${value}`) })),
            ]}
            value={kind}
            onChange={(value) => filters.set('kind', value ?? '')}
          />
          <Select
            aria-label={t('rows.range')}
            allowDeselect={false}
            data={[
              ...months.map(({ name, since }) => ({ value: name, label: format.month(since) })),
              { value: allTime, label: t('ledger.allTime') },
            ]}
            value={month?.name ?? allTime}
            onChange={(value) => filters.set('month', value === months[0]?.name ? '' : (value ?? ''))}
          />
        </search>
        <ExportMenu path={`${path}/export`} query={wanted} name="statement" />
      </Group>
      {query.data?.sums && <Sums sums={query.data.sums} isCurrent={month === undefined || month === months[0]} />}
      <DataTable
        label={t('ledger.statement')}
        query={query}
        columns={columns}
        rowKey={({ id }) => id}
        onPage={filters.setPage}
        group={({ created_at: at }) => format.date(at)}
        isDense
        brief={(row) => (
          <RowBrief
            name={row.task?.prompt || row.task?.model || t(`ledger.kind.${row.kind}`)}
            {...(isTask(row.task_id) ? { to: taskPath({ id: row.task_id }) } : {})}
            figure={<Amount row={row} signed={signed} />}
            state={<BriefText>{format.clock(row.created_at)}</BriefText>}
            facts={[t('ledger.balanceAfter', { amount: money(row.balance_after) })]}
            detail={<RowDetail row={row} />}
          />
        )}
        empty={
          kind !== '' ? (
            <NoMatches text={t('ledger.noMatch')} onClear={() => filters.set('kind', '')} />
          ) : month ? (
            <EmptyState
              heading={t('ledger.noneInMonth', { month: format.month(month.since) })}
              text={t('ledger.noneText')}
              action={
                <Button variant="default" onClick={() => filters.set('month', allTime)}>
                  {t('ledger.allTime')}
                </Button>
              }
            />
          ) : (
            <EmptyState heading={t('ledger.none')} text={t('ledger.noneText')} />
          )
        }
      />
    </div>
  );
}

/** This month unless another one is meant. */
const findMonth = (months: readonly Month[], name: string): Month | undefined =>
  months.find((month) => month.name === name) ?? months[0];

type AmountProps = { row: LedgerRow; signed(amount: number): string };

/** What a task that runs has reserved is not charged yet. */
const Amount = ({ row: { amount, task }, signed }: AmountProps) =>
  task?.charged === null ? (
    <Text span inherit c="dimmed">
      {signed(amount)}
    </Text>
  ) : (
    signed(amount)
  );

type SumsProps = { sums: NonNullable<LedgerPage['sums']>; isCurrent: boolean };

/** What became of the balance in a month: the first three figures and their notes make the last. */
function Sums({ sums, isCurrent }: SumsProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { opening, added, adjusted, tasks, reserved, storage, closing } = sums;
  const charged = tasks + storage - reserved;
  const money = format.moneyLike([opening, added + adjusted, charged, reserved, closing, adjusted]);
  return (
    <div className={classes.sums}>
      <Figures
        label={t('ledger.sums')}
        figures={[
          { label: t('ledger.opening'), value: money(opening) },
          {
            label: t('ledger.added'),
            value: withSign(added + adjusted, money),
            note: adjusted !== 0 && t('ledger.corrected', { amount: withSign(adjusted, money) }),
          },
          {
            label: t('ledger.charged'),
            value: withSign(charged, money),
            note: reserved !== 0 && t('ledger.reserved', { reserved: money(0 - reserved) }),
          },
          { label: t(isCurrent ? 'ledger.balanceNow' : 'ledger.closing'), value: money(closing) },
        ]}
      />
    </div>
  );
}

/** Relayed requests have no page of their own. */
const isTask = (id: string | null): id is string => id?.startsWith('task_') === true;

function RowText({ row }: { row: LedgerRow }) {
  const { t } = useTranslation();
  const { kind, task, task_id: id } = row;
  const model = task?.model ?? '';
  const prompt = task?.prompt ?? '';
  const kindName = t(`ledger.kind.${kind}`);
  const name = <span className={classes.title}>{prompt || (model === '' ? kindName : `${kindName} · ${model}`)}</span>;
  return (
    <div>
      {isTask(id) ? (
        <RowLink to={taskPath({ id })} className={classes.link ?? ''}>
          {name}
        </RowLink>
      ) : (
        name
      )}
      <Text size="xs" c="dimmed">
        {prompt !== '' && model}{' '}
        <span className={prompt === '' ? undefined : classes.after}>
          <RowDetail row={row} />
        </span>
      </Text>
    </div>
  );
}

/** What became of a task's reservation, or what is noted beside another change. */
function RowDetail({ row: { kind, note, note_sentence: said, task } }: { row: LedgerRow }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  if (task === null) return kind === 'carried' || note === '' ? note : <ServerText text={note} sentence={said} />;
  const { charged, refund_reason: reason, refund_reason_sentence: sentence } = task;
  const reserved = format.exactMoney(task.reserved);
  if (charged === null) return t('ledger.running', { reserved });
  if (charged !== 0 || task.reserved === 0) {
    // The amount of the row says it.
    if (charged === task.reserved) return null;
    return t('ledger.reservedCharged', { reserved, charged: format.exactMoney(charged) });
  }
  if (reason === '') return t('ledger.refunded', { reserved });
  return (
    <>
      {t('ledger.refundedFor', { reserved })} <VendorWords text={reason} sentence={sentence} />
    </>
  );
}
