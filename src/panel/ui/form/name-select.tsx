import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useApiQuery, withQuery } from '../../session/use-api.ts';

const debounceMs = 200;

/** What the routes of names answer. */
type Named = { id: number; name: string; username?: string; user_id?: number };

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
  const present = useNamed({ path, query, id: value });
  // Its name is known before it is read.
  const [chosen, setChosen] = useState({ id: '', label: '' });
  const unknown = `#${value}`;
  const known = chosen.id === value ? chosen.label : unknown;
  const label = present === undefined ? known : toLabel(present);
  // The text of the field is the chosen name until one types.
  const text = keyword === label || keyword === unknown ? '' : keyword;
  const found = useApiQuery<Named[]>(withQuery(path, { ...query, keyword: text }), { abortSuperseded: true });
  const options = new Map(found.data?.map((each) => [String(each.id), toLabel(each)]));
  if (value !== '') options.set(value, label);
  return (
    <Select
      {...props}
      searchable
      clearable
      value={value === '' ? null : value}
      onChange={(id) => {
        setChosen({ id: id ?? '', label: options.get(id ?? '') ?? '' });
        onChange(id ?? '');
      }}
      onSearchChange={setTyped}
      // The server has filtered them already.
      filter={({ options: all }) => all}
      nothingFoundMessage={t(found.isFetching ? 'palette.searching' : 'palette.nothing')}
      data={[...options].map(([id, name]) => ({ value: id, label: name }))}
    />
  );
}

type NamedQuery = { path: string; query?: Readonly<Record<string, string | null>>; id: string };

/** What an id names; undefined while that is not known, and where it is gone. */
export function useNamed({ path, query = {}, id }: NamedQuery): Named | undefined {
  const { data } = useApiQuery<Named[]>(withQuery(path, { ...query, id }), {
    enabled: /^[1-9]\d*$/.test(id),
    keepPrevious: false,
  });
  return data?.[0];
}
