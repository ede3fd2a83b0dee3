import { Group, Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AccountPage, ApiKeyPage, CallableModel } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { periods } from './read-period.ts';
import { useChannelNames, usePluginNames } from './use-display-names.ts';
import type { TaskQuery } from './use-task-query.ts';

/** What a selection shows for a value that is none of the first hundred. */
const withChosen = (names: ReadonlyMap<string, string>, chosen: string, label = chosen) => {
  const known = [...names].map(([value, name]) => ({ value, label: name }));
  return chosen === '' || names.has(chosen) ? known : [...known, { value: chosen, label }];
};

/** The filters that the bar has no room for. */
export function TaskFilterFields({ tasks: { filters, all } }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { values, set } = filters;
  const plugins = usePluginNames();
  const channels = useChannelNames();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const modelNames = new Map(models.data?.map(({ model }) => [model, model]));
  const keys = useApiQuery<ApiKeyPage>('/api/token?page_size=100', { enabled: !all });
  const keyNames = new Map(all ? [] : keys.data?.items.map(({ id, name }) => [String(id), name]));
  const shared = { clearable: true, comboboxProps: { withinPortal: false } } as const;
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
        <Select
          // It shows the label that its value had first.
          key={channels.size}
          {...shared}
          label={t('tasks.channel')}
          placeholder={t('tasks.anyChannel')}
          searchable
          value={values.channel || null}
          onChange={(channel) => set('channel', channel ?? '')}
          data={withChosen(channels, values.channel)}
        />
      )}
      {all && <UserSelect value={values.user} onChange={(user) => set('user', user)} />}
      {(!all || values.key !== '') && (
        <Select
          key={keyNames.size}
          {...shared}
          label={t('tasks.key')}
          placeholder={t('tasks.anyKey')}
          searchable
          value={values.key || null}
          onChange={(key) => set('key', key ?? '')}
          data={withChosen(keyNames, values.key, t('tasks.keyNumber', { id: values.key }))}
        />
      )}
    </>
  );
}

/** Any of all users, found by the server as one types. */
function UserSelect({ value, onChange }: { value: string; onChange(user: string): void }) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [keyword] = useDebouncedValue(typed, 200);
  const found = useApiQuery<AccountPage>(withQuery('/api/user', { page_size: 20, keyword }));
  const chosen = useApiQuery<AccountPage>(withQuery('/api/user', { page_size: 20, keyword: value }), {
    enabled: value !== '',
  });
  const names = new Map(found.data?.items.map(({ id, username }) => [String(id), username]));
  const name = chosen.data?.items.find(({ id }) => String(id) === value)?.username;
  return (
    <Select
      key={name ?? ''}
      clearable
      comboboxProps={{ withinPortal: false }}
      label={t('tasks.column.user')}
      placeholder={t('tasks.anyUser')}
      searchable
      value={value || null}
      onChange={(user) => onChange(user ?? '')}
      onSearchChange={setTyped}
      // The server has filtered them already.
      filter={({ options }) => options}
      data={withChosen(names, value, name ?? t('tasks.userNumber', { id: value }))}
    />
  );
}
