import { useDebouncedCallback } from '@mantine/hooks';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';

const delayMs = 300;

/** The text of a search field for one filter: follows the filter, and changes it a moment after the last key. */
export function useTypedFilter(
  value: string,
  set: (value: string) => void,
): { value: string; onChange(event: ChangeEvent<HTMLInputElement>): void } {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const tell = useDebouncedCallback((typed: string) => {
    told.current = typed.trim();
    set(told.current);
  }, delayMs);
  useEffect(() => {
    // What was told from here comes back: by then more may have been typed.
    if (value === told.current) return;
    tell.cancel();
    told.current = value;
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
