import { Button, SegmentedControl, Select, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useDebouncedFilter } from '../../ui/form/use-debounced-filter.ts';
import type { Filters } from '../../ui/form/use-filters.ts';
import classes from './task-filters.module.css';
import { useChannelNames, usePluginNames } from './use-display-names.ts';

export const taskFilterNames = ['q', 'status', 'platform', 'channel', 'scope'] as const;

const statuses = {
  QUEUED: 'task.status.QUEUED',
  SUBMITTED: 'task.status.SUBMITTED',
  IN_PROGRESS: 'task.status.IN_PROGRESS',
  SUCCESS: 'task.status.SUCCESS',
  FAILURE: 'task.status.FAILURE',
  NOT_START: 'task.status.NOT_START',
} as const satisfies Record<string, TextKey>;

/** The filters of the task list. They are stored in the URL. */
export function TaskFilters({ filters }: { filters: Filters<(typeof taskFilterNames)[number]> }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const plugins = usePluginNames();
  const channels = useChannelNames();
  const { values, set } = filters;
  const search = useDebouncedFilter(values.q, (text) => set('q', text));
  const options = (names: ReadonlyMap<string, string>, chosen: string) => {
    const known = [...names].map(([value, label]) => ({ value, label }));
    return chosen === '' || names.has(chosen) ? known : [...known, { value: chosen, label: chosen }];
  };
  return (
    <search className={classes.bar}>
      {isAdmin && (
        <SegmentedControl
          aria-label={t('tasks.scope')}
          value={values.scope === 'all' ? 'all' : 'own'}
          onChange={(scope) => set('scope', scope === 'all' ? 'all' : '')}
          data={[
            { value: 'own', label: t('tasks.scope.own') },
            { value: 'all', label: t('tasks.scope.all') },
          ]}
        />
      )}
      <TextInput
        className={classes.search}
        type="search"
        aria-label={t('app.search')}
        placeholder={t('tasks.search')}
        leftSection={<IconSearch size={17} stroke={1.6} aria-hidden="true" />}
        maxLength={200}
        {...search}
      />
      <Select
        className={classes.choice}
        aria-label={t('tasks.status')}
        placeholder={t('tasks.anyStatus')}
        clearable
        value={values.status || null}
        onChange={(status) => set('status', status ?? '')}
        data={Object.entries(statuses).map(([value, text]) => ({ value, label: t(text) }))}
      />
      <Select
        className={classes.choice}
        aria-label={t('tasks.plugin')}
        placeholder={t('tasks.anyPlugin')}
        clearable
        value={values.platform || null}
        onChange={(platform) => set('platform', platform ?? '')}
        data={options(plugins, values.platform)}
      />
      {isAdmin && (
        <Select
          className={classes.choice}
          aria-label={t('tasks.channel')}
          placeholder={t('tasks.anyChannel')}
          clearable
          searchable
          value={values.channel || null}
          onChange={(channel) => set('channel', channel ?? '')}
          data={options(channels, values.channel)}
        />
      )}
      {filters.isFiltered && (
        <Button variant="subtle" onClick={filters.clear}>
          {t('tasks.clear')}
        </Button>
      )}
    </search>
  );
}
