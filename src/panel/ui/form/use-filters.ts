import { useDebouncedCallback } from '@mantine/hooks';
import { type ChangeEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { rememberList } from '../../session/panel-address.ts';

export type Filters<Name extends string> = {
  /** Empty if the URL has no value. */
  values: Readonly<Record<Name, string>>;
  page: number;
  /** Whether any filter is set; the page number does not count. */
  isFiltered: boolean;
  /** Sets one filter, and returns to the first page. */
  set(name: Name, value: string): void;
  /** Sets several at once, and returns to the first page. */
  setAll(values: Readonly<Partial<Record<Name, string>>>): void;
  setPage(page: number): void;
  clear(): void;
};

/**
 * The filters and the page number of a list. They are stored in the URL, so that they can be linked
 * to and survive back navigation.
 */
export function useFilters<const Name extends string>(names: readonly Name[]): Filters<Name> {
  const [params, setParams] = useSearchParams();
  const { pathname, search } = useLocation();
  useEffect(() => rememberList(pathname, search), [pathname, search]);
  const values = useMemo(
    () => Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<Name, string>,
    [names, params],
  );
  const change = (edit: (next: URLSearchParams) => void): void => {
    // The address has what was set since this render, too.
    const next = new URLSearchParams(window.location.search);
    edit(next);
    setParams(next, { replace: true });
  };
  return {
    values,
    page: Math.max(1, Math.trunc(Number(params.get('page')) || 1)),
    isFiltered: names.some((name) => values[name] !== ''),
    set: (name, value) =>
      change((next) => {
        if (value === '') next.delete(name);
        else next.set(name, value);
        next.delete('page');
      }),
    setAll: (given) =>
      change((next) => {
        for (const [name, value] of Object.entries<string | undefined>(given)) {
          if (value === undefined || value === '') next.delete(name);
          else next.set(name, value);
        }
        next.delete('page');
      }),
    setPage: (page) => change((next) => next.set('page', String(page))),
    clear: () =>
      change((next) => {
        for (const name of [...names, 'page']) next.delete(name);
      }),
  };
}

const delayMs = 300;

/**
 * A text field for one filter: follows the filter, and updates it shortly after the last keystroke.
 */
export function useDebouncedFilter(
  value: string,
  set: (value: string) => void,
): { value: string; onChange(event: ChangeEvent<HTMLInputElement>): void } {
  const [text, setText] = useState(value);
  const sent = useRef<readonly string[]>([value]);
  const send = useDebouncedCallback((typed: string) => {
    sent.current = [...sent.current, typed.trim()];
    set(typed.trim());
  }, delayMs);
  useEffect(() => {
    // Values sent from here come back, on a slow machine after the next one was sent. By then more
    // may have been typed, so they do not replace the text.
    const pending = pendingValues(sent.current, value);
    sent.current = pending ?? [value];
    if (pending !== null) return;
    send.cancel();
    setText(value);
  }, [value, send]);
  return {
    value: text,
    onChange: ({ currentTarget }) => {
      setText(currentTarget.value);
      send(currentTarget.value);
    },
  };
}

/**
 * Values are `sent` in order, the current one first. They come back in that order, some never.
 * Returns those that may still come back after `value`; null if `value` was not sent from here.
 */
export function pendingValues(sent: readonly string[], value: string): readonly string[] | null {
  const at = sent.lastIndexOf(value);
  return at < 0 ? null : sent.slice(at);
}
