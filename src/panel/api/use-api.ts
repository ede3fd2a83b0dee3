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
  /** Asks only while true. */
  enabled?: boolean;
  /** Asks again after so many ms, while the tab is in view; it may depend on what was read last. */
  refreshMs?: number | false | ((data: T | undefined) => number | false);
  /**
   * false for one thing of many: what a former path gave would pass for this one until it is there.
   */
  keepPrevious?: boolean;
};

/**
 * Reads `path` with the session. The former page stays while the next one of a list is on its way.
 * What a change makes stale is named by the beginnings of paths (see `useChange`).
 */
export function useApiQuery<T>(
  path: string,
  { enabled = true, refreshMs = false, keepPrevious = true }: UseApiQueryOptions<T> = {},
): UseQueryResult<T> {
  const session = useSession();
  return useQuery({
    queryKey: ['api', path],
    queryFn: () => session.send<T>({ method: 'GET', path }),
    enabled,
    refetchInterval: typeof refreshMs === 'function' ? ({ state }) => refreshMs(state.data) : refreshMs,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

export type UseApiMutationOptions<Variables, T> = {
  request(variables: Variables): ApiRequest;
  /**
   * Beginnings of the paths that are read anew afterwards; the change is pending until they are.
   */
  invalidates?: readonly string[];
  /** Before anything is read anew: for an answer that changes how. */
  onResponse?(answer: T): void;
  onSuccess?(answer: T, variables: Variables): void;
  onError?(error: Error, variables: Variables): void;
};

/** Sends a change, then reads anew what it made stale. */
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

/** `path` with a query of those values that are not empty. */
export function withQuery(path: string, values: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
