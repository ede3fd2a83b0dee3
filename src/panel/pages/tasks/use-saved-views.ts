import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { TaskView } from '../../api/types.ts';
import type { Session } from '../../session/session.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';

const path = '/api/user/self/views';

type ViewFields = Pick<TaskView, 'name' | 'query'>;

/** What an older panel stored in the browser, without what is not a view. */
export function readLocalViews(text: string | null): ViewFields[] {
  try {
    const stored = JSON.parse(text ?? '[]') as unknown;
    if (!Array.isArray(stored)) return [];
    return stored.filter(
      (view): view is ViewFields => typeof view?.name === 'string' && typeof view?.query === 'string',
    );
  } catch {
    return [];
  }
}

/** The views of the account. They are read once they are `wanted`. */
export function useSavedViews(wanted: boolean) {
  const { bundle } = useSessionSnapshot();
  const storageKey = `taskgate.task-views.${bundle?.user.id ?? 0}`;
  const hasLocal = readStored(storageKey) !== null;
  const session = useSession();
  const queries = useQueryClient();
  const views = useApiQuery<TaskView[]>(path, { enabled: wanted || hasLocal });
  const save = useApiMutation<ViewFields, TaskView>({
    request: (view) => ({ method: 'PUT', path, body: { name: view.name, query: view.query } }),
    invalidates: [path],
  });
  const remove = useApiMutation<TaskView>({
    request: ({ id }) => ({ method: 'DELETE', path: `${path}/${id}` }),
    invalidates: [path],
  });
  /** Saves the view under the other name first: if the second request fails, it is there twice. */
  const rename = useMutation({
    mutationFn: async ({ view, name }: { view: TaskView; name: string }) => {
      const body = { name, query: view.query };
      const { id } = await session.send<TaskView>({ method: 'PUT', path, body });
      if (id !== view.id) await session.send({ method: 'DELETE', path: `${path}/${view.id}` });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['api', path] }),
  });
  useMoveToAccount(storageKey, hasLocal ? views.data : undefined);
  return { views, save, rename, remove };
}

/** Views used to be kept in the browser: those are moved to the account at the first visit. */
function useMoveToAccount(storageKey: string, known: readonly TaskView[] | undefined): void {
  const session = useSession();
  const queries = useQueryClient();
  const hasBegun = useRef(false);
  useEffect(() => {
    if (known === undefined || hasBegun.current) return;
    hasBegun.current = true;
    const names = new Set(known.map(({ name }) => name));
    const missing = readLocalViews(readStored(storageKey)).filter(({ name }) => !names.has(name));
    // What fails stays in the browser and is tried again at the next visit.
    void moveViews(session, missing)
      .then(() => writeStored(storageKey, null))
      .catch(() => undefined)
      .then(() => queries.invalidateQueries({ queryKey: ['api', path] }));
  }, [known, storageKey, session, queries]);
}

/** The newest is stored first in the browser and last in the account. */
async function moveViews(session: Session, views: readonly ViewFields[]): Promise<void> {
  for (const { name, query } of [...views].reverse()) {
    await session.send({ method: 'PUT', path, body: { name, query } });
  }
}

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
function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Null forgets it. */
function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // See above.
  }
}
