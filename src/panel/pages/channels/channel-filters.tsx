import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { channelStatus } from '../../api/record-status.ts';
import { FilterBar } from '../../ui/form/filter-bar.tsx';
import { SearchField } from '../../ui/form/search-field.tsx';
import { useDebouncedFilter } from '../../ui/form/use-debounced-filter.ts';
import type { Filters } from '../../ui/form/use-filters.ts';

export const channelFilterNames = ['keyword', 'status'] as const;

/** Finds channels by what they are called, offer and serve. */
export function ChannelFilters({ filters }: { filters: Filters<(typeof channelFilterNames)[number]> }) {
  const { t } = useTranslation();
  const { values, set } = filters;
  const search = useDebouncedFilter(values.keyword, (text) => set('keyword', text));
  return (
    <FilterBar
      search={<SearchField label={t('app.search')} placeholder={t('channels.search')} maxLength={100} {...search} />}
    >
      <Select
        label={t('tasks.status')}
        allowDeselect={false}
        value={values.status}
        onChange={(status) => set('status', status ?? '')}
        data={[
          { value: '', label: t('app.all') },
          { value: String(channelStatus.enabled), label: t('channels.filter.on') },
          { value: String(channelStatus.disabled), label: t('channels.filter.off') },
        ]}
      />
    </FilterBar>
  );
}
