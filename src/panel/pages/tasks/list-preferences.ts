import { useCallback, useState } from 'react';

/** How this browser shows lists of tasks. */
type ListPreferences = { pageSize: number };

const storageKey = 'taskgate.task-list';
const initial: ListPreferences = { pageSize: 20 };

export function readListPreferences(text: string | null): ListPreferences {
  try {
    const stored = JSON.parse(text ?? '{}') as Partial<Record<keyof ListPreferences, unknown>> | null;
    const size = Number(stored?.pageSize);
    return { pageSize: [20, 50, 100].includes(size) ? size : initial.pageSize };
  } catch {
    return initial;
  }
}

export function useListPreferences(): [ListPreferences, (change: Partial<ListPreferences>) => void] {
  const [preferences, setPreferences] = useState(() => readListPreferences(readStored(storageKey)));
  const change = useCallback((edit: Partial<ListPreferences>) => {
    setPreferences((before) => {
      const next = { ...before, ...edit };
      writeStored(storageKey, JSON.stringify(next));
      return next;
    });
  }, []);
  return [preferences, change];
}

/** Browsers may refuse storage; then nothing is remembered. */
export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // See above.
  }
}
