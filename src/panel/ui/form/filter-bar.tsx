import { Button, TextInput, type TextInputProps } from '@mantine/core';
import { IconSearch, IconX } from '@tabler/icons-react';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
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

/** A filter that is set: what it is about, and what it lets through. */
export type FilterChip = { key: string; label: string; value: ReactNode; onRemove(): void };

type FilterChipsProps = {
  chips: readonly FilterChip[];
  /** Removes all chips. Needed where there can be several. */
  onClear?(): void;
};

/** The filters of a list, which can be removed one by one or all at once. */
export function FilterChips({ chips, onClear }: FilterChipsProps) {
  const { t } = useTranslation();
  const group = useRef<HTMLUListElement>(null);
  return (
    <ul ref={group} className={classes.chips} aria-label={t('tasks.filters')} tabIndex={-1}>
      {chips.map(({ key, label, value, onRemove }) => (
        <li key={key}>
          <button
            type="button"
            className={classes.chip}
            title={t('filters.remove')}
            onClick={() => {
              // The button goes; the keyboard stays where it was.
              group.current?.focus();
              onRemove();
            }}
          >
            <span className={classes.label}>{label}</span>
            <span className={classes.value}>{value}</span>
            <span className={classes.unseen}>{t('filters.remove')}</span>
            <IconX size={14} stroke={1.8} aria-hidden="true" />
          </button>
        </li>
      ))}
      {chips.length > 1 && onClear !== undefined && (
        <li>
          <Button variant="subtle" size="xs" className={classes.clear} onClick={onClear}>
            {t('filters.clear')}
          </Button>
        </li>
      )}
    </ul>
  );
}
