import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { TaskFeed, TaskSummary } from '../../../api/types.ts';
import { useSession } from '../../../session/session-context.tsx';
import { withQuery } from '../../../session/use-api.ts';
import type { TaskQuery } from '../use-task-query.ts';

/** The fields of a task that a tile shows: thousands of them are in memory. */
export type Tile = Pick<TaskSummary, 'id' | 'status' | 'model' | 'input' | 'poster' | 'user_id' | 'progress'> &
  Pick<TaskSummary, 'username' | 'quota' | 'created_at' | 'fail_reason' | 'fail_reason_sentence'> & {
    isWaiting: boolean;
  };

const partSize = 100;
/** Tiles in memory. Who looks for older tasks narrows the period. */
export const maxTiles = 10_000;
/** Characters of a prompt that a tile can show. */
const maxTitle = 160;

const toTile = ({ id, status, model, input, poster, user_id, progress, queue, ...task }: TaskSummary): Tile => ({
  ...{ id, status, model, input: input.slice(0, maxTitle), progress, isWaiting: queue !== undefined },
  ...(poster === undefined ? {} : { poster }),
  ...(user_id === undefined ? {} : { user_id }),
  ...(task.username === undefined ? {} : { username: task.username }),
  ...{ quota: task.quota, created_at: task.created_at },
  ...{ fail_reason: task.fail_reason, fail_reason_sentence: task.fail_reason_sentence },
});

/** The tasks of a filter, part by part. What was loaded stays as it was until the page is left. */
export function useTaskFeed({ query, sort }: TaskQuery) {
  const session = useSession();
  const path = withQuery('/api/task/feed', { ...query, limit: partSize, order: sort === 'oldest' ? 'asc' : null });
  const feed = useInfiniteQuery({
    queryKey: ['feed', path],
    initialPageParam: '',
    queryFn: async ({ pageParam: after }) => {
      const separator = path.includes('?') ? '&' : '?';
      const part = after === '' ? path : `${path}${separator}after=${encodeURIComponent(after)}`;
      const { items, next } = await session.send<TaskFeed>({ method: 'GET', path: part });
      return { tiles: items.map(toTile), next };
    },
    getNextPageParam: ({ next }, parts) => (parts.length * partSize < maxTiles ? next : undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const tiles = useMemo(() => feed.data?.pages.flatMap((part) => part.tiles) ?? [], [feed.data]);
  const isCut = tiles.length >= maxTiles && (feed.data?.pages.at(-1)?.next ?? null) !== null;
  return { feed, tiles, isCut };
}
