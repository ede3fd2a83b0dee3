import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useApiQuery, withQuery } from '../../session/use-api.ts';

const debounceMs = 200;

/** What the routes of names answer. */
type Named = { id: number; name: string; username?: string };

type NameSelectProps = Omit<SelectProps, 'data' | 'value' | 'onChange' | 'filter' | 'searchable' | 'clearable'> & {
  /** The path of the route of names, such as `/api/user/names`. */
  path: string;
  /** What else narrows the names. */
  query?: Readonly<Record<string, string | null>>;
  /** Whether a name is told apart by its owner's. */
  hasOwners?: boolean;
  /** An id; empty: none. */
  value: string;
  onChange(id: string): void;
};

/** One of any number of users, keys or channels: the server finds them as one types. */
export function NameSelect({ path, query = {}, hasOwners = false, value, onChange, ...props }: NameSelectProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [keyword] = useDebouncedValue(typed, debounceMs);
  const toLabel = ({ name, username }: Named): string => (hasOwners ? `${name} · ${username ?? ''}` : name);
  const chosen = useApiQuery<Named[]>(withQuery(path, { ...query, id: value }), {
    enabled: /^[1-9]\d*$/.test(value),
    keepPrevious: false,
  });
  const [present] = chosen.data ?? [];
  const label = present === undefined ? `#${value}` : toLabel(present);
  // The text of the field is the chosen name until one types.
  const text = keyword === label ? '' : keyword;
  const found = useApiQuery<Named[]>(withQuery(path, { ...query, keyword: text }), { cancelled: true });
  const options = new Map(found.data?.map((each) => [String(each.id), toLabel(each)]));
  if (value !== '') options.set(value, label);
  return (
    <Select
      // It shows the label that its value had first.
      key={label}
      {...props}
      searchable
      clearable
      value={value === '' ? null : value}
      onChange={(id) => onChange(id ?? '')}
      onSearchChange={setTyped}
      // The server has filtered them already.
      filter={({ options: all }) => all}
      nothingFoundMessage={t(found.isFetching ? 'palette.searching' : 'palette.nothing')}
      data={[...options].map(([id, name]) => ({ value: id, label: name }))}
    />
  );
}
