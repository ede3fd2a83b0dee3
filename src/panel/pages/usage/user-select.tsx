import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Account, AccountPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';

type UserSelectProps = { value: string; onChange(id: string): void };

/** Finds an account by its name. */
export function UserSelect({ value, onChange }: UserSelectProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [keyword] = useDebouncedValue(typed, 250);
  const found = useApiQuery<AccountPage>(withQuery('/api/user/search', { keyword, page_size: 20 }));
  const chosen = useApiQuery<Account>(`/api/user/${value}`, { enabled: /^\d+$/.test(value), keepPrevious: false });
  const options = new Map(found.data?.items.map(({ id, username }) => [String(id), username]));
  if (value !== '') options.set(value, chosen.data?.username ?? options.get(value) ?? `#${value}`);
  return (
    <Select
      aria-label={t('usage.user')}
      placeholder={t('usage.oneUser')}
      searchable
      clearable
      w={190}
      value={value === '' ? null : value}
      onChange={(id) => onChange(id ?? '')}
      onSearchChange={(text) => setTyped(text === options.get(value) ? '' : text)}
      filter={({ options: all }) => all}
      nothingFoundMessage={t('usage.none.heading')}
      data={[...options].map(([id, name]) => ({ value: id, label: name }))}
    />
  );
}
