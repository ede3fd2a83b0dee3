import { useMemo } from 'react';
import { roles, useRole } from '../../session/roles.ts';
import { withQuery } from '../../session/use-api.ts';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';

const taskFilterNames = [
  ...(['q', 'status', 'platform', 'model', 'channel', 'user', 'key', 'reason', 'period', 'from', 'to'] as const),
  ...(['scope', 'sort', 'layout'] as const),
] as const;

type TaskFilterName = (typeof taskFilterNames)[number];
type TaskFilterState = Filters<TaskFilterName>;

/** The filters that leave tasks out; the others say how tasks are shown. */
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

/** The rows of the list. */
export const rowsPath = ({ filters, query, sort }: TaskQuery, pageSize: number): string =>
  withQuery('/api/task', { page: filters.page, page_size: pageSize, ...query, sort: sort === 'newest' ? null : sort });

const presets: Readonly<Record<string, number>> = { '24h': 1, '7d': 7, '30d': 30, '90d': 90 };

export const periods = Object.keys(presets);

/** A day of the local calendar, as a field of type date has it. */
const day = /^(\d{4})-(\d{2})-(\d{2})$/;

/**
 * The seconds between which tasks were created; null is not a bound. A preset begins at a whole
 * minute, so that the same list keeps the same address for a while.
 */
export function readPeriod(
  { period, from, to }: Readonly<Record<'period' | 'from' | 'to', string>>,
  now: Date,
): { since: string | null; until: string | null } {
  const days = presets[period];
  if (days !== undefined) {
    const minute = Math.floor(now.getTime() / 60_000) * 60;
    return { since: String(minute - days * 86_400), until: null };
  }
  const start = midnight(from, 0);
  const end = midnight(to, 1);
  return { since: start === null ? null : String(start), until: end === null ? null : String(end - 1) };
}

function midnight(text: string, daysLater: number): number | null {
  const [, year, month, date] = day.exec(text) ?? [];
  if (year === undefined) return null;
  // Not 86,400 seconds: a day may have another length.
  const time = new Date(Number(year), Number(month) - 1, Number(date) + daysLater).getTime() / 1000;
  return Number.isFinite(time) && time >= 0 ? time : null;
}
