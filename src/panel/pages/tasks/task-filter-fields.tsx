import { Group, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { NameSelect } from '../../ui/form/name-select.tsx';
import { periods } from './read-period.ts';
import { usePluginNames } from './use-display-names.ts';
import type { TaskQuery } from './use-task-query.ts';

/** What a selection offers; a value of the address that is not known is offered too. */
const withChosen = (names: ReadonlyMap<string, string>, chosen: string) => {
  const known = [...names].map(([value, name]) => ({ value, label: name }));
  return chosen === '' || names.has(chosen) ? known : [...known, { value: chosen, label: chosen }];
};

/** The filters that the bar has no room for. */
export function TaskFilterFields({ tasks: { filters, all } }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { values, set } = filters;
  const plugins = usePluginNames();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const modelNames = new Map(models.data?.map(({ model }) => [model, model]));
  const inPlace = { comboboxProps: { withinPortal: false } } as const;
  const shared = { clearable: true, ...inPlace } as const;
  return (
    <>
      <Select
        {...shared}
        label={t('tasks.period')}
        placeholder={t('tasks.anyTime')}
        value={values.period || null}
        onChange={(period) => filters.setAll({ period: period ?? '', from: '', to: '' })}
        data={periods.map((value) => ({ value, label: t(`tasks.period.${value as '24h'}`) }))}
      />
      <Group grow gap="sm">
        <TextInput
          type="date"
          label={t('tasks.from')}
          value={values.from}
          max={values.to || undefined}
          onChange={({ currentTarget }) => filters.setAll({ from: currentTarget.value, period: '' })}
        />
        <TextInput
          type="date"
          label={t('tasks.to')}
          value={values.to}
          min={values.from || undefined}
          onChange={({ currentTarget }) => filters.setAll({ to: currentTarget.value, period: '' })}
        />
      </Group>
      <Select
        {...shared}
        label={t('tasks.model')}
        placeholder={t('tasks.anyModel')}
        searchable
        value={values.model || null}
        onChange={(model) => set('model', model ?? '')}
        data={withChosen(modelNames, values.model)}
      />
      <Select
        {...shared}
        label={t('tasks.plugin')}
        placeholder={t('tasks.anyPlugin')}
        value={values.platform || null}
        onChange={(platform) => set('platform', platform ?? '')}
        data={withChosen(plugins, values.platform)}
      />
      {isAdmin && (
        <NameSelect
          {...inPlace}
          path="/api/channel/names"
          label={t('tasks.channel')}
          placeholder={t('tasks.anyChannel')}
          value={values.channel}
          onChange={(channel) => set('channel', channel)}
        />
      )}
      {all && (
        <NameSelect
          {...inPlace}
          path="/api/user/names"
          label={t('tasks.column.user')}
          placeholder={t('tasks.anyUser')}
          value={values.user}
          onChange={(user) => filters.setAll({ user, key: '' })}
        />
      )}
      <NameSelect
        {...inPlace}
        path="/api/token/names"
        // Of the chosen user, of everybody, or the reader's own.
        query={all ? { scope: 'all', user_id: values.user } : {}}
        hasOwners={all && values.user === ''}
        label={t('tasks.key')}
        placeholder={t('tasks.anyKey')}
        value={values.key}
        onChange={(key) => set('key', key)}
      />
    </>
  );
}
