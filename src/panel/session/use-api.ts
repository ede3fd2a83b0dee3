import {
  keepPreviousData,
  type UseMutationOptions,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { createIdempotencyKey, isOutcomeKnown } from '../api/idempotency-key.ts';
import type { ApiRequest } from '../api/send-request.ts';
import { useSession } from './session-context.tsx';

type UseApiQueryOptions<T> = {
  /** Sends the request only while true. */
  enabled?: boolean;
  /** Refetches at this interval while the tab is visible; may depend on the last data. */
  refreshMs?: number | false | ((data: T | undefined) => number | false);
  /** Set false for a single resource: data of the previous path would be shown as this one's. */
  keepPrevious?: boolean;
  /** Set true for a search: a request is aborted when another one has taken its place. */
  abortSuperseded?: boolean;
};

/**
 * Reads `path` with the session. Lists keep showing the previous page while the next one loads.
 * Mutations name what they make stale by path prefix (see `useApiMutation`).
 */
export function useApiQuery<T>(
  path: string,
  { enabled = true, refreshMs = false, keepPrevious = true, abortSuperseded = false }: UseApiQueryOptions<T> = {},
): UseQueryResult<T> {
  const session = useSession();
  return useQuery({
    queryKey: ['api', path],
    // A request is only aborted if its signal is read.
    queryFn: (query) => session.send<T>({ method: 'GET', path, ...(abortSuperseded ? { signal: query.signal } : {}) }),
    enabled,
    refetchInterval: typeof refreshMs === 'function' ? ({ state }) => refreshMs(state.data) : refreshMs,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

/**
 * Asks at once for what parts of a page will read: they are drawn, and would ask, only after the
 * page's own answer. A path that is false is left out.
 */
export function useReadAhead(...paths: readonly (string | false)[]): void {
  const session = useSession();
  const queries = useQueryClient();
  const wanted = paths.filter((path) => path !== false).join('\n');
  useEffect(() => {
    for (const path of wanted.split('\n').filter(Boolean)) {
      const queryKey = ['api', path];
      // The part itself reads again what is old.
      if (queries.getQueryState(queryKey) !== undefined) continue;
      void queries.prefetchQuery({ queryKey, queryFn: () => session.send({ method: 'GET', path }) });
    }
  }, [wanted, session, queries]);
}

/**
 * Reads a list that has texts of plugins, in the reader's language alone: those in all languages
 * are several times as long.
 */
export function useLocalisedQuery<T>(path: string, options: UseApiQueryOptions<T> = {}): UseQueryResult<T> {
  const { i18n } = useTranslation();
  return useApiQuery<T>(withQuery(path, { language: i18n.language }), options);
}

export type UseApiMutationOptions<Variables, T> = {
  request(variables: Variables): ApiRequest;
  /** Path prefixes to refetch after success. The mutation stays pending until they are read. */
  invalidates?: readonly string[];
  /** Runs before the refetch, for answers that affect it or must be shown in any case. */
  onResponse?(answer: T): void;
  onSuccess?(answer: T, variables: Variables): void;
  onError?(error: Error, variables: Variables): void;
};

/**
 * A mutation that is not started again while it runs with the same content: a second click may
 * come before the button is off.
 */
export function useSingleMutation<T, Variables>(
  options: UseMutationOptions<T, Error, Variables>,
  readContent: (variables: Variables) => string = () => '',
): UseMutationResult<T, Error, Variables> {
  const running = useRef<{ content: string; variables: Variables }[]>([]);
  const mutation = useMutation<T, Error, Variables>({
    ...options,
    onSettled: (...settled) => {
      const ended = running.current.findIndex(({ variables }) => Object.is(variables, settled[2]));
      running.current.splice(ended, ended < 0 ? 0 : 1);
      return options.onSettled?.(...settled);
    },
  });
  const { mutate } = mutation;
  return {
    ...mutation,
    mutate: (...asked) => {
      const variables = asked[0] as Variables;
      const content = readContent(variables);
      if (running.current.some((each) => each.content === content)) return;
      running.current.push({ content, variables });
      mutate(...asked);
    },
  };
}

/**
 * Sends a change, then refetches what it made stale. What creates something is sent with an
 * Idempotency-Key, the same one until its outcome is known: it is created once.
 */
export function useApiMutation<Variables, T = unknown>({
  request,
  invalidates = [],
  onResponse,
  onSuccess,
  onError,
}: UseApiMutationOptions<Variables, T>): UseMutationResult<T, Error, Variables> {
  const session = useSession();
  const queries = useQueryClient();
  const keys = useRef(new Map<string, string>());
  const readContent = (variables: Variables): string => {
    const { method, path, body } = request(variables);
    return JSON.stringify([method, path, body]);
  };
  const sendOnce = async (variables: Variables): Promise<T> => {
    const asked = request(variables);
    if (asked.method !== 'POST') return session.send<T>(asked);
    const content = readContent(variables);
    const key = keys.current.get(content) ?? createIdempotencyKey();
    keys.current.set(content, key);
    try {
      const answer = await session.send<T>({ ...asked, headers: { 'idempotency-key': key, ...asked.headers } });
      keys.current.delete(content);
      return answer;
    } catch (error) {
      if (isOutcomeKnown(error)) keys.current.delete(content);
      throw error;
    }
  };
  const mutation: UseMutationOptions<T, Error, Variables> = {
    mutationFn: sendOnce,
    onSuccess: async (answer, variables) => {
      onResponse?.(answer);
      await queries.invalidateQueries({
        predicate: ({ queryKey: [kind, path] }) =>
          kind === 'api' && typeof path === 'string' && invalidates.some((prefix) => path.startsWith(prefix)),
      });
      onSuccess?.(answer, variables);
    },
    ...(onError === undefined ? {} : { onError }),
  };
  return useSingleMutation(mutation, readContent);
}

/** Appends the values that are not empty as a query string. */
export function withQuery(path: string, values: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
