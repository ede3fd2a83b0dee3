import { Anchor, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsagePage, UsageReport, UsageRow } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { DescriptionList } from '../../ui/display/figures.tsx';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, DataTable, RowButton } from '../../ui/table/data-table.tsx';
import { ExportMenu } from '../../ui/table/export-menu.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { TaskBill, toCalculation, usePriceFactors } from '../tasks/task/task-bill.tsx';
import { CopiedId } from '../tasks/task/task-facts.tsx';
import classes from './usage.module.css';
import { localZone } from './usage-period.ts';
import type { Scope, UsageFilters } from './use-usage-filters.ts';

type BillListProps = { report: UsageReport; filters: UsageFilters };

/** One bill per finished task of the period. */
export function BillList({ report, filters }: BillListProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { from, until, zone } = report;
  const sums = addUpDays(report, format.date);
  const [opened, setOpened] = useState<UsageRow | null>(null);
  const { values, scope, userId } = filters;
  const wanted = {
    scope: scope === 'own' ? 'own' : null,
    user: userId,
    // Tasks without a key have no filter of their own here.
    api_key: values.key === '0' ? null : values.key,
    plugin: values.plugin,
    model: values.model,
    channel: values.channel,
    since: from,
    until: until - 1,
  };
  const query = useApiQuery<UsagePage>(withQuery('/api/log', { ...wanted, page: filters.page }));
  return (
    <section className={classes.list} aria-labelledby="bills">
      <Group justify="space-between" mb={14}>
        <div>
          <Title order={2} fz={18} id="bills">
            {t('usage.bills')}
          </Title>
          {zone !== localZone() && (
            <Text size="sm" c="dimmed">
              {t('home.zone', { zone: localZone().replaceAll('_', ' ') })}
            </Text>
          )}
        </div>
        <ExportMenu path="/api/log/export" query={wanted} name="usage" size="xs" />
      </Group>
      <DataTable
        label={t('usage.bills')}
        query={query}
        columns={useColumns({ scope, rows: query.data?.items ?? [], open: setOpened })}
        rowKey={({ id }) => id}
        onPage={filters.setPage}
        group={({ created_at: at }) => format.date(at)}
        groupFigure={({ created_at: at }) => <DaySum sum={sums.get(format.date(at))} />}
        isDense
        brief={(row) => <BillBrief row={row} scope={scope} onPress={() => setOpened(row)} />}
        empty={<EmptyState heading={t('usage.bills.empty')} text={t('usage.bills.emptyText')} />}
      />
      <BillDrawer row={opened} scope={scope} onClose={() => setOpened(null)} />
    </section>
  );
}

/** The spend of each day that the report knows as one of the reader's. */
function addUpDays(report: UsageReport, toDate: (at: number) => string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  if (report.zone !== localZone() || report.days_per_point > 1) return sums;
  for (const { at, spend } of report.points) sums.set(toDate(at), (sums.get(toDate(at)) ?? 0) + spend);
  return sums;
}

/** Above the costs of its rows. */
function DaySum({ sum }: { sum: number | undefined }) {
  const format = useFormat();
  return sum !== undefined && <span className={classes.sum}>{format.money(sum)}</span>;
}

const readKeyName = ({ api_key_id: id, api_key_name: name }: UsageRow): string | null =>
  id === null ? null : (name ?? `#${id}`);

/** What a charge is for: the prompt if it is stored, otherwise the model. */
const readTitle = ({ prompt, model }: UsageRow): string => prompt || model;

const toBilledTask = ({ kind, bill, plugin_key: platform, model }: UsageRow) => ({
  ...{ status: kind === 'refund' ? ('FAILURE' as const) : ('SUCCESS' as const), bill, platform, model },
  ledger: [],
});

/** The line below the title: the model unless it is the title, and how its cost was calculated. */
function useSource(row: UsageRow): string {
  const price = usePriceFactors(toCalculation(toBilledTask(row)));
  const factors = readCost(row) > 0 ? (price?.factors ?? '') : '';
  return [row.prompt === '' ? '' : row.model, factors].filter(Boolean).join(' · ');
}

const readCost = ({ kind, quota }: UsageRow): number => (kind === 'refund' ? 0 : quota);

/** A charge below zero gives back a part of an earlier one, or all of it. */
function BillResult({ row: { kind, quota } }: { row: UsageRow }) {
  const { t } = useTranslation();
  if (kind === 'refund') return <StatusLabel tone="bad">{t('usage.givenBack')}</StatusLabel>;
  if (quota < 0) return <StatusLabel tone="quiet">{t('task.ledger.refund')}</StatusLabel>;
  return <StatusLabel tone="good">{t('task.status.SUCCESS')}</StatusLabel>;
}

function BillBrief({ row, scope, onPress }: { row: UsageRow; scope: Scope; onPress(): void }) {
  const format = useFormat();
  const source = useSource(row);
  return (
    <RowBrief
      name={readTitle(row)}
      onPress={onPress}
      figure={format.money(readCost(row))}
      state={<BillResult row={row} />}
      facts={[scope === 'all' ? (row.username ?? `#${row.user_id}`) : '', format.clock(row.created_at)]}
      detail={source || undefined}
    />
  );
}

function BillTitle({ row, onPress }: { row: UsageRow; onPress(): void }) {
  return (
    <>
      <RowButton className={classes.title ?? ''} onPress={onPress}>
        {readTitle(row)}
      </RowButton>
      <span className={classes.source}>{useSource(row)}</span>
    </>
  );
}

type ColumnsOf = { scope: Scope; rows: readonly UsageRow[]; open(row: UsageRow): void };

function useColumns({ scope, rows, open }: ColumnsOf): readonly Column<UsageRow>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const money = format.moneyLike(rows.map(readCost));
  const userColumn: Column<UsageRow> = {
    key: 'user',
    heading: t('usage.user'),
    render: ({ user_id: id, username }) => (
      <Anchor component={Link} to={`/users/${id}`} inherit>
        {username ?? `#${id}`}
      </Anchor>
    ),
  };
  return [
    {
      key: 'task',
      heading: t('usage.task'),
      wide: true,
      render: (row) => <BillTitle row={row} onPress={() => open(row)} />,
    },
    { key: 'result', heading: t('usage.result'), render: (row) => <BillResult row={row} /> },
    ...(scope === 'all' ? [userColumn] : []),
    { key: 'key', heading: t('usage.key'), minor: true, render: (row) => readKeyName(row) ?? t('usage.noKey') },
    { key: 'at', heading: t('usage.at'), numeric: true, render: ({ created_at }) => format.clock(created_at) },
    {
      key: 'cost',
      heading: t('usage.cost'),
      numeric: true,
      render: (row) => <span className={classes.opens}>{money(readCost(row))}</span>,
    },
  ];
}

type BillDrawerProps = { row: UsageRow | null; scope: Scope; onClose(): void };

/** Explains one bill. */
function BillDrawer({ row, scope, onClose }: BillDrawerProps) {
  const { t } = useTranslation();
  return (
    <Drawer
      opened={row !== null}
      onClose={onClose}
      position="right"
      size={520}
      title={t('usage.bill')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {row !== null && <BillDetails row={row} scope={scope} />}
    </Drawer>
  );
}

function BillDetails({ row, scope }: { row: UsageRow; scope: Scope }) {
  const { t } = useTranslation();
  const format = useFormat();
  const user = row.username ?? `#${row.user_id}`;
  return (
    <Stack gap="lg" className={classes.details ?? ''}>
      <div className={classes.bill}>
        <DescriptionList
          entries={[
            [t('usage.model'), row.model],
            [t('usage.result'), <BillResult key="result" row={row} />],
            ...(scope === 'own' ? [] : [[t('usage.user'), user] as const]),
            [t('usage.key'), readKeyName(row) ?? t('usage.noKey')],
            [t('usage.at'), format.time(row.created_at)],
            [
              t('usage.task'),
              <Fragment key="task">
                <Anchor component={Link} to={`/tasks/${row.task_id}`} inherit>
                  {row.prompt || t('usage.openTask')}
                </Anchor>
                <span className={classes.id}>
                  <CopiedId id={row.task_id} />
                </span>
              </Fragment>,
            ],
          ]}
        />
      </div>
      {row.bill.reason !== undefined && (
        <Text size="sm">
          <VendorWords text={row.bill.reason} sentence={row.bill.reason_sentence} />
        </Text>
      )}
      <TaskBill task={toBilledTask(row)} isExplained />
    </Stack>
  );
}
