import { useMemo } from 'react';
import { roles, useRole } from '../../session/roles.ts';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';
import { readPeriod } from './read-period.ts';

export const taskFilterNames = [
  ...(['q', 'status', 'platform', 'model', 'channel', 'user', 'key', 'reason', 'period', 'from', 'to'] as const),
  ...(['scope', 'sort', 'layout'] as const),
] as const;

export type TaskFilterName = (typeof taskFilterNames)[number];
export type TaskFilterState = Filters<TaskFilterName>;

/** Those that leave tasks out; the others say how they are shown. */
export const narrowingNames = taskFilterNames.filter((name) => !['scope', 'sort', 'layout'].includes(name));

export const taskSorts = ['newest', 'oldest', 'cost', 'duration'] as const;

export type TaskQuery = {
  filters: TaskFilterState;
  /** Everybody's tasks. */
  all: boolean;
  isNarrowed: boolean;
  sort: string;
  isGallery: boolean;
  /** What the server filters by. */
  query: Readonly<Record<string, string | null>>;
};

/** The filter in the address, and what it means for the server. */
export function useTaskQuery(): TaskQuery {
  const isAdmin = useRole() >= roles.admin;
  const filters = useFilters(taskFilterNames);
  const { values } = filters;
  const all = isAdmin && values.scope === 'all';
  const query = useMemo(() => {
    const { since, until } = readPeriod(values, new Date());
    return {
      scope: all ? 'all' : null,
      status: values.status,
      platform: values.platform,
      model: values.model,
      channel_id: isAdmin ? values.channel : null,
      user_id: all ? values.user : null,
      api_key_id: values.key,
      fail_reason: values.reason,
      since,
      until,
      q: values.q,
    };
  }, [values, all, isAdmin]);
  return {
    filters,
    all,
    isNarrowed: narrowingNames.some((name) => values[name] !== ''),
    sort: (taskSorts as readonly string[]).includes(values.sort) ? values.sort : 'newest',
    isGallery: values.layout === 'gallery',
    query,
  };
}
