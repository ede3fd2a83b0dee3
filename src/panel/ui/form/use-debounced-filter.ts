import { useDebouncedCallback } from '@mantine/hooks';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { pendingValues } from './pending-values.ts';

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
