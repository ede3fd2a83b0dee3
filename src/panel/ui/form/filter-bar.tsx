import { TextInput, type TextInputProps } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './filter-bar.module.css';

/** What narrows a list: a text to search for, then choices. */
export function FilterBar({ search, children }: { search: ReactNode; children: ReactNode }) {
  return (
    <search className={classes.bar}>
      <div className={classes.search}>{search}</div>
      {children}
    </search>
  );
}

/** A field to search a list with. The key `/` leads to the first one of a page. */
export const SearchField = (props: TextInputProps) => (
  <TextInput
    type="search"
    leftSection={<IconSearch size={17} stroke={1.6} aria-hidden="true" />}
    maxLength={200}
    {...props}
  />
);
