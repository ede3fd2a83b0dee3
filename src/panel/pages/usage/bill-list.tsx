import { Anchor, Button, Select, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiKey, ApiKeyPage, UsagePage, UsageRow, UsageStats } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { type Column, DataTable } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useDebouncedFilter } from '../../ui/form/use-debounced-filter.ts';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';
import { BillDrawer } from './bill-drawer.tsx';
import classes from './bill-list.module.css';

const billFilterNames = ['key', 'model', 'from', 'to'] as const;
type BillFilters = Filters<(typeof billFilterNames)[number]>;

/** One bill per finished task. */
export function BillList() {
  const { t } = useTranslation();
  const filters = useFilters(billFilterNames);
  const [opened, setOpened] = useState<UsageRow | null>(null);
  const { values, isFiltered } = filters;
  const keys = useKeyNames(values.key);
  const query = useApiQuery<UsagePage>(
    withQuery('/api/log', {
      scope: 'own',
      api_key: values.key,
      model: values.model,
      since: values.from === '' ? null : secondsOf(`${values.from}T00:00:00`),
      until: values.to === '' ? null : secondsOf(`${values.to}T23:59:59`),
      page: filters.page,
    }),
  );
  return (
    <section aria-labelledby="bills">
      <Title order={2} fz={18} id="bills" mb={14}>
        {t('usage.bills')}
      </Title>
      <BillFilterBar filters={filters} keys={keys} />
      <DataTable
        label={t('usage.bills')}
        query={query}
        columns={useColumns(keys, setOpened)}
        rowKey={({ id }) => id}
        onPage={filters.setPage}
        empty={
          <EmptyState
            heading={t(isFiltered ? 'usage.none.heading' : 'usage.bills.empty')}
            text={t(isFiltered ? 'usage.none.text' : 'usage.bills.emptyText')}
          />
        }
      />
      <BillDrawer row={opened} keyName={keyNameOf(keys, opened)} onClose={() => setOpened(null)} />
    </section>
  );
}

/** Unix seconds of a local time; null if it is invalid. */
function secondsOf(text: string): number | null {
  const at = new Date(text).getTime();
  return Number.isFinite(at) && at >= 0 ? Math.floor(at / 1000) : null;
}

type KeyNames = ReadonlyMap<number, string>;

/** Names of the first hundred keys and of the selected one. */
function useKeyNames(chosen: string): KeyNames {
  const { data } = useApiQuery<ApiKeyPage>('/api/token?page_size=100');
  const isBeyondFirstPage =
    data !== undefined && /^\d+$/.test(chosen) && !data.items.some(({ id }) => id === Number(chosen));
  const selected = useApiQuery<ApiKey>(`/api/token/${chosen}`, { enabled: isBeyondFirstPage, keepPrevious: false });
  const names = new Map(data?.items.map(({ id, name }) => [id, name]));
  return isBeyondFirstPage ? names.set(Number(chosen), selected.data?.name ?? `#${chosen}`) : names;
}

const keyNameOf = (keys: KeyNames, row: UsageRow | null): string | null =>
  row?.api_key_id == null ? null : (keys.get(row.api_key_id) ?? `#${row.api_key_id}`);

function useColumns(keys: KeyNames, open: (row: UsageRow) => void): readonly Column<UsageRow>[] {
  const { t } = useTranslation();
  const format = useFormat();
  return [
    { key: 'at', heading: t('usage.at'), render: ({ created_at }) => format.time(created_at) },
    { key: 'model', heading: t('usage.model'), render: ({ model }) => model },
    { key: 'key', heading: t('usage.key'), render: (row) => keyNameOf(keys, row) ?? t('usage.noKey') },
    {
      key: 'result',
      heading: t('usage.result'),
      render: ({ kind }) =>
        kind === 'refund' ? (
          <StatusLabel tone="bad">{t('usage.givenBack')}</StatusLabel>
        ) : (
          <StatusLabel tone="good">{t('task.status.SUCCESS')}</StatusLabel>
        ),
    },
    {
      key: 'cost',
      heading: t('usage.cost'),
      numeric: true,
      render: (row) => (
        <Anchor
          component="button"
          type="button"
          inherit
          aria-label={t('usage.explain', {
            cost: format.money(row.kind === 'refund' ? 0 : row.quota),
            model: row.model,
          })}
          onClick={() => open(row)}
        >
          {format.money(row.kind === 'refund' ? 0 : row.quota)}
        </Anchor>
      ),
    },
  ];
}

type BarProps = { filters: BillFilters; keys: KeyNames };

function BillFilterBar({ filters: { values, set, isFiltered, clear }, keys }: BarProps) {
  const { t } = useTranslation();
  const stats = useApiQuery<UsageStats>('/api/stats?days=90');
  const from = useDebouncedFilter(values.from, (day) => set('from', day));
  const to = useDebouncedFilter(values.to, (day) => set('to', day));
  const models = [...new Set([...(stats.data?.models.map(({ model }) => model) ?? []), ...optional(values.model)])];
  return (
    <search className={classes.bar}>
      <Select
        className={classes.choice}
        aria-label={t('usage.key')}
        placeholder={t('usage.anyKey')}
        clearable
        searchable
        value={values.key || null}
        onChange={(key) => set('key', key ?? '')}
        data={[...keys].map(([id, name]) => ({ value: String(id), label: name }))}
      />
      <Select
        className={classes.choice}
        aria-label={t('usage.model')}
        placeholder={t('usage.anyModel')}
        clearable
        searchable
        value={values.model || null}
        onChange={(model) => set('model', model ?? '')}
        data={models}
      />
      <TextInput type="date" max={lastDay} aria-label={t('usage.from')} title={t('usage.from')} {...from} />
      <TextInput type="date" max={lastDay} aria-label={t('usage.to')} title={t('usage.to')} {...to} />
      {isFiltered && (
        <Button variant="subtle" onClick={clear}>
          {t('usage.clear')}
        </Button>
      )}
    </search>
  );
}

/** Without it, browsers accept years with six digits. */
const lastDay = '9999-12-31';

const optional = (text: string): string[] => (text === '' ? [] : [text]);
