import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { TaskDetail } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import type { Session } from '../../session/session.ts';
import { useSession } from '../../session/session-context.tsx';
import { isFinished } from './is-finished.ts';
import { readServerSentEvents } from './server-sent-events.ts';

/** Between two questions while no stream tells of changes, and while one does. */
const pollMs = 2500;
const streamingPollMs = 20_000;
/** Until a stream that ended or was refused is opened again. */
const reopenMs = 8000;

/**
 * A task that keeps itself up to date while it runs: told by the gateway as it changes, asked for
 * where it cannot tell.
 */
export function useTask(id: string): UseQueryResult<TaskDetail> {
  const session = useSession();
  const queries = useQueryClient();
  const [isStreaming, setStreaming] = useState(false);
  const path = `/api/task/${encodeURIComponent(id)}`;
  const task = useApiQuery<TaskDetail>(path, {
    refreshMs: (data) => (data === undefined || isFinished(data) ? false : isStreaming ? streamingPollMs : pollMs),
  });
  const isRunning = task.data !== undefined && !isFinished(task.data);

  useEffect(() => {
    if (!isRunning) return;
    const abort = new AbortController();
    void followWithRetry({ session, queries, path, signal: abort.signal, onStreaming: setStreaming });
    return () => {
      abort.abort();
      setStreaming(false);
    };
  }, [isRunning, path, session, queries]);

  return task;
}

type EventSubscription = {
  session: Session;
  queries: QueryClient;
  path: string;
  signal: AbortSignal;
  onStreaming(isStreaming: boolean): void;
};

async function followWithRetry(subscription: EventSubscription): Promise<void> {
  const { signal, onStreaming } = subscription;
  while (!signal.aborted) {
    // Trouble of the stream costs nothing: until it is back, the task is asked for.
    await followEvents(subscription).catch(() => {});
    if (signal.aborted) return;
    onStreaming(false);
    await new Promise((resolve) => setTimeout(resolve, reopenMs));
  }
}

async function followEvents({ session, queries, path, signal, onStreaming }: EventSubscription): Promise<void> {
  const token = session.read().bundle?.access_token ?? '';
  const response = await fetch(`${path}/events`, {
    headers: { authorization: `Bearer ${token}` },
    credentials: 'same-origin',
    cache: 'no-store',
    signal,
  });
  if (!response.ok || response.body === null) return;
  onStreaming(true);
  for await (const { event, data } of readServerSentEvents(response.body)) {
    if (event === 'task.finished') {
      await invalidateFinished(queries);
      return;
    }
    if (event !== 'task.updated') continue;
    const update = JSON.parse(data) as Pick<TaskDetail, 'status' | 'progress'>;
    queries.setQueryData<TaskDetail>(['api', path], (before) => before && { ...before, ...update });
  }
}

/** With its end come the result, the bill and another balance. */
const invalidateFinished = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({
    predicate: ({ queryKey: [kind, path] }) =>
      kind === 'self' || (kind === 'api' && /^\/api\/(task|user\/self|stats)\b/.test(String(path))),
  });
