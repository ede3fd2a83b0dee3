import { Select } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { AuditPage as AuditList } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, NoMatches } from '../../ui/display/empty-state.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FilterBar, FilterChips, SearchField } from '../../ui/form/filter-bar.tsx';
import { type Filters, useDebouncedFilter, useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { ExportMenu } from '../../ui/table/export-menu.tsx';
import classes from './audit.module.css';
import { AuditActionCell, AuditBrief, AuditChangesCell, AuditFromCell, AuditTimeCell } from './audit-cells.tsx';
import { useAuditTarget } from './audit-target.tsx';
import { actionTexts, areaTexts, signInNames } from './audit-texts.ts';

const filterNames = ['user', 'action', 'range', 'target'] as const;
type FilterName = (typeof filterNames)[number];
type Entry = AuditList['items'][number];

/** Length of each range in days. */
const ranges = { day: 1, week: 7, month: 30 } as const;

/** Administrative changes: who changed what, and from where. */
export function AuditPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const filters = useFilters(filterNames);
  const { user, action, range, target } = filters.values;
  // Computed once per choice, so that the query key stays the same between renders.
  const since = useMemo(() => {
    const days = range === 'day' || range === 'week' || range === 'month' ? ranges[range] : undefined;
    return days === undefined ? '' : Math.floor(Date.now() / 1000) - days * 86_400;
  }, [range]);
  const wanted = { user, action, target, since };
  const query = useApiQuery<AuditList>(withQuery('/api/audit', { page: filters.page, ...wanted }));
  const columns: readonly Column<Entry>[] = [
    { key: 'what', heading: t('audit.event'), render: (entry) => <AuditActionCell entry={entry} /> },
    { key: 'when', heading: t('audit.time'), render: (entry) => <AuditTimeCell entry={entry} /> },
    { key: 'from', heading: t('audit.from'), render: (entry) => <AuditFromCell entry={entry} /> },
    { key: 'changes', heading: t('audit.details'), wide: true, render: (entry) => <AuditChangesCell entry={entry} /> },
  ];
  return (
    <Page
      heading={t('nav.audit')}
      intro={t('audit.intro')}
      actions={<ExportMenu path="/api/audit/export" query={wanted} name="audit" />}
    >
      <div className={classes.list}>
        <AuditFilters filters={filters} />
        {target !== '' && <TargetChip target={target} onRemove={() => filters.set('target', '')} />}
        <DataTable
          label={t('audit.list')}
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          group={({ created_at: at }) => format.date(at)}
          onPage={filters.setPage}
          brief={(entry) => <AuditBrief entry={entry} />}
          empty={
            filters.isFiltered ? (
              <NoMatches text={t('audit.noneText')} onClear={filters.clear} />
            ) : (
              <EmptyState heading={t('audit.empty')} text={t('audit.emptyText')} />
            )
          }
        />
      </div>
    </Page>
  );
}

/** The one thing that the list is about. */
function TargetChip({ target, onRemove }: { target: string; onRemove(): void }) {
  const { t } = useTranslation();
  const { name } = useAuditTarget({ target, detail: {} });
  return <FilterChips chips={[{ key: 'target', label: t('audit.history'), value: name, onRemove }]} />;
}

/** Each action below its area, which can be chosen as a whole. */
function useEvents() {
  const { t } = useTranslation();
  const actions = Object.entries({ ...signInNames, ...actionTexts });
  return Object.entries(areaTexts).map(([area, text]) => ({
    group: t(text),
    items: [
      { value: `${area}.`, label: t('audit.allOf', { area: t(text) }) },
      ...actions
        .filter(([action]) => action.startsWith(`${area}.`))
        .map(([value, key]) => ({ value, label: capitalize(t(key)) })),
    ],
  }));
}

const capitalize = (text: string): string => text.charAt(0).toLocaleUpperCase() + text.slice(1);

function AuditFilters({ filters }: { filters: Filters<FilterName> }) {
  const { t } = useTranslation();
  const events = useEvents();
  const search = useDebouncedFilter(filters.values.user, (text) => filters.set('user', text));
  return (
    <FilterBar search={<SearchField label={t('audit.user')} placeholder={t('audit.userHelp')} {...search} />}>
      {/* The bar limits what is in it: the list is wider than the field. */}
      <div className={classes.event}>
        <Select
          label={t('audit.event')}
          placeholder={t('audit.anyEvent')}
          searchable
          clearable
          comboboxProps={{ withinPortal: false, width: 300, position: 'bottom-start' }}
          // The list itself scrolls, which the keys of the field move through.
          withScrollArea={false}
          styles={{ options: { maxHeight: 420, overflowY: 'auto' } }}
          nothingFoundMessage={t('palette.nothing')}
          data={events}
          value={filters.values.action || null}
          onChange={(value) => filters.set('action', value ?? '')}
        />
      </div>
      <Select
        label={t('rows.range')}
        allowDeselect={false}
        data={[
          { value: '', label: t('tasks.anyTime') },
          { value: 'day', label: t('rows.range.day') },
          { value: 'week', label: t('rows.range.week') },
          { value: 'month', label: t('rows.range.month') },
        ]}
        value={filters.values.range}
        onChange={(value) => filters.set('range', value ?? '')}
      />
    </FilterBar>
  );
}
