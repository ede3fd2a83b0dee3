import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { TaskDetail } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import type { Session } from '../../session/session.ts';
import { useSession } from '../../session/session-context.tsx';
import { hasEnded } from './is-finished.ts';
import { readEvents } from './server-sent-events.ts';

/** Between two questions while no stream tells of changes, and while one does. */
const pollMs = 2500;
const calmPollMs = 20_000;
/** Until a stream that ended or was refused is opened again. */
const reopenMs = 8000;

/**
 * A task that keeps itself up to date while it runs: told by the gateway as it changes, asked for
 * where it cannot tell.
 */
export function useTask(id: string): UseQueryResult<TaskDetail> {
  const session = useSession();
  const queries = useQueryClient();
  const [isTold, setTold] = useState(false);
  const path = `/api/task/${encodeURIComponent(id)}`;
  const task = useApi<TaskDetail>(path, {
    refreshMs: (data) => (data === undefined || hasEnded(data) ? false : isTold ? calmPollMs : pollMs),
  });
  const isRunning = task.data !== undefined && !hasEnded(task.data);

  useEffect(() => {
    if (!isRunning) return;
    const leave = new AbortController();
    void keepFollowing({ session, queries, path, signal: leave.signal, onTold: setTold });
    return () => {
      leave.abort();
      setTold(false);
    };
  }, [isRunning, path, session, queries]);

  return task;
}

type Following = {
  session: Session;
  queries: QueryClient;
  path: string;
  signal: AbortSignal;
  onTold(isTold: boolean): void;
};

async function keepFollowing(following: Following): Promise<void> {
  const { signal, onTold } = following;
  while (!signal.aborted) {
    // Trouble of the stream costs nothing: until it is back, the task is asked for.
    await follow(following).catch(() => {});
    if (signal.aborted) return;
    onTold(false);
    await new Promise((resolve) => setTimeout(resolve, reopenMs));
  }
}

async function follow({ session, queries, path, signal, onTold }: Following): Promise<void> {
  const token = session.read().bundle?.access_token ?? '';
  const response = await fetch(`${path}/events`, {
    headers: { authorization: `Bearer ${token}` },
    credentials: 'same-origin',
    cache: 'no-store',
    signal,
  });
  if (!response.ok || response.body === null) return;
  onTold(true);
  for await (const { event, data } of readEvents(response.body)) {
    if (event === 'task.finished') {
      await finish(queries);
      return;
    }
    if (event !== 'task.updated') continue;
    const told = JSON.parse(data) as Pick<TaskDetail, 'status' | 'progress'>;
    queries.setQueryData<TaskDetail>(['api', path], (before) => before && { ...before, ...told });
  }
}

/** With its end come the result, the bill and another balance. */
const finish = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({
    predicate: ({ queryKey: [kind, path] }) =>
      kind === 'self' || (kind === 'api' && /^\/api\/(task|user\/self|stats)\b/.test(String(path))),
  });
