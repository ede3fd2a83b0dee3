import { useDebouncedCallback } from '@mantine/hooks';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { pendingValues } from './pending-values.ts';

const delayMs = 300;

/**
 * The text of a search field for one filter: follows the filter, and changes it a moment after the
 * last key.
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
    // What was told from here comes back, on a slow machine after the next was told: by then more
    // may have been typed.
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
