import { SegmentedControl, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { channelStatus } from '../../api/record-status.ts';
import { useDebouncedFilter } from '../../ui/form/use-debounced-filter.ts';
import type { Filters } from '../../ui/form/use-filters.ts';
import classes from './channels.module.css';

export const channelFilterNames = ['keyword', 'status'] as const;

/** Finds channels by what they are called, offer and serve. */
export function ChannelFilters({ filters }: { filters: Filters<(typeof channelFilterNames)[number]> }) {
  const { t } = useTranslation();
  const { values, set } = filters;
  const search = useDebouncedFilter(values.keyword, (text) => set('keyword', text));
  return (
    <search className={classes.filters}>
      <TextInput
        type="search"
        className={classes.search}
        aria-label={t('app.search')}
        placeholder={t('channels.search')}
        leftSection={<IconSearch size={17} stroke={1.6} aria-hidden="true" />}
        maxLength={100}
        {...search}
      />
      <SegmentedControl
        aria-label={t('tasks.status')}
        value={values.status}
        onChange={(status) => set('status', status)}
        data={[
          { value: '', label: t('app.all') },
          { value: String(channelStatus.enabled), label: t('channels.filter.on') },
          { value: String(channelStatus.disabled), label: t('channels.filter.off') },
        ]}
      />
    </search>
  );
}
