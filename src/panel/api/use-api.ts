import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useSession } from '../session/session-context.tsx';
import type { ApiRequest } from './send-request.ts';

type UseApiQueryOptions<T> = {
  /** Sends the request only while true. */
  enabled?: boolean;
  /** Refetches at this interval while the tab is visible; may depend on the last data. */
  refreshMs?: number | false | ((data: T | undefined) => number | false);
  /** Set false for a single resource: data of the previous path would be shown as this one's. */
  keepPrevious?: boolean;
  /** Set true for a search: the request is broken off when another one has taken its place. */
  cancelled?: boolean;
};

/**
 * Reads `path` with the session. Lists keep showing the previous page while the next one loads.
 * Mutations name what they make stale by path prefix (see `useApiMutation`).
 */
export function useApiQuery<T>(
  path: string,
  { enabled = true, refreshMs = false, keepPrevious = true, cancelled = false }: UseApiQueryOptions<T> = {},
): UseQueryResult<T> {
  const session = useSession();
  return useQuery({
    queryKey: ['api', path],
    // Only a signal that is read breaks the request off.
    queryFn: (query) => session.send<T>({ method: 'GET', path, ...(cancelled ? { signal: query.signal } : {}) }),
    enabled,
    refetchInterval: typeof refreshMs === 'function' ? ({ state }) => refreshMs(state.data) : refreshMs,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
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

/** Sends a change, then refetches what it made stale. */
export function useApiMutation<Variables, T = unknown>({
  request,
  invalidates = [],
  onResponse,
  onSuccess,
  onError,
}: UseApiMutationOptions<Variables, T>): UseMutationResult<T, Error, Variables> {
  const session = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (variables: Variables) => session.send<T>(request(variables)),
    onSuccess: async (answer, variables) => {
      onResponse?.(answer);
      await queries.invalidateQueries({
        predicate: ({ queryKey: [kind, path] }) =>
          kind === 'api' && typeof path === 'string' && invalidates.some((prefix) => path.startsWith(prefix)),
      });
      onSuccess?.(answer, variables);
    },
    ...(onError === undefined ? {} : { onError }),
  });
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
