import { useDebouncedCallback } from '@mantine/hooks';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { laterValues } from './pending-values.ts';

const delayMs = 300;

/**
 * The text of a search field for one filter: follows the filter, and changes it a moment after the
 * last key.
 */
export function useTypedFilter(
  value: string,
  set: (value: string) => void,
): { value: string; onChange(event: ChangeEvent<HTMLInputElement>): void } {
  const [text, setText] = useState(value);
  const told = useRef<readonly string[]>([value]);
  const tell = useDebouncedCallback((typed: string) => {
    told.current = [...told.current, typed.trim()];
    set(typed.trim());
  }, delayMs);
  useEffect(() => {
    // What was told from here comes back, on a slow machine after the next was told: by then more
    // may have been typed.
    const left = laterValues(told.current, value);
    told.current = left ?? [value];
    if (left !== null) return;
    tell.cancel();
    setText(value);
  }, [value, tell]);
  return {
    value: text,
    onChange: ({ currentTarget }) => {
      setText(currentTarget.value);
      tell(currentTarget.value);
    },
  };
}
