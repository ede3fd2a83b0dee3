import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { TaskDetail } from '../../../api/types.ts';
import type { Session } from '../../../session/session.ts';
import { useSession } from '../../../session/session-context.tsx';
import { useApiQuery } from '../../../session/use-api.ts';
import { isFinished } from '../read-task.ts';

/** Poll intervals without and with a connected event stream. */
const pollMs = 2500;
const streamingPollMs = 20_000;
/** Delay before a stream that ended or was refused is reopened. */
const reopenMs = 8000;

/**
 * A task that stays up to date while it runs: by server-sent events, and by polling while there is
 * no stream. Where many are watched at once they are polled alone: the gateway limits the streams
 * of a user, and a browser its connections.
 */
export function useTask(id: string, { isOneOfMany = false } = {}): UseQueryResult<TaskDetail> {
  const session = useSession();
  const queries = useQueryClient();
  const [isStreaming, setStreaming] = useState(false);
  const path = `/api/task/${encodeURIComponent(id)}`;
  const task = useApiQuery<TaskDetail>(path, {
    // Events do not report a change of the position in the queue.
    refreshMs: (data) =>
      data === undefined || isFinished(data) ? false : isStreaming && !data.queue ? streamingPollMs : pollMs,
  });
  const isRunning = task.data !== undefined && !isFinished(task.data);

  useEffect(() => {
    if (!isRunning || isOneOfMany) return;
    const abort = new AbortController();
    void followWithRetry({ session, queries, path, signal: abort.signal, onStreaming: setStreaming });
    return () => {
      abort.abort();
      setStreaming(false);
    };
  }, [isRunning, isOneOfMany, path, session, queries]);

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
    // Errors of the stream are ignored: polling continues until it is back.
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
    const { queue, ...update } = JSON.parse(data) as Pick<TaskDetail, 'status' | 'progress' | 'queue'>;
    queries.setQueryData<TaskDetail>(
      ['api', path],
      (before) => before && withoutPlace({ ...before, ...update }, queue),
    );
  }
}

/** A task that was sent has no place any more. */
const withoutPlace = ({ queue, ...task }: TaskDetail, place: object | undefined): TaskDetail =>
  place === undefined || queue === undefined ? task : { ...task, queue };

/** When a task finishes, its result, its bill and the balance change too. */
const invalidateFinished = (queries: QueryClient): Promise<void> =>
  queries.invalidateQueries({
    predicate: ({ queryKey: [kind, path] }) =>
      kind === 'self' || (kind === 'api' && /^\/api\/(task|user\/self|stats)\b/.test(String(path))),
  });

type ServerSentEvent = { event: string; data: string };

/**
 * Reads server-sent events. Comments, ids and an incomplete last event are skipped. Ends with the
 * stream.
 */
export async function* readServerSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let remainder = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (remainder + value).replaceAll('\r\n', '\n').split('\n\n');
      remainder = frames.pop() ?? '';
      for (const frame of frames) {
        const event = readFrame(frame);
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function readFrame(frame: string): ServerSentEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of frame.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, '');
    const field = line.slice(0, colon);
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join('\n') };
}
