import { roles, useRole } from '../../session/roles.ts';
import { withQuery } from '../../session/use-api.ts';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';
import { stackedShares } from './stack-spend.ts';
import {
  countDays,
  type Dates,
  datesBefore,
  localZone,
  type PeriodName,
  readDates,
  readPeriod,
} from './usage-period.ts';

const filterNames = ['scope', 'user', 'period', 'from', 'to', 'by', 'key', 'plugin', 'model', 'channel'] as const;
export type UsageFilterName = (typeof filterNames)[number];

const dimensions = ['model', 'key', 'user', 'channel'] as const;
export type Dimension = (typeof dimensions)[number];

/** Whose usage is shown: the reader's own, everybody's, or one user's. */
export type Scope = 'own' | 'all' | 'user';

export type UsageFilters = Filters<UsageFilterName> & {
  scope: Scope;
  /** The id of the one user; empty unless `scope` is `user`. */
  userId: string;
  period: PeriodName;
  dates: Dates;
  by: Dimension;
  /** What the reader may choose among. */
  choices: readonly Dimension[];
  /** The question for the API, as the address says. */
  path: string;
  /** The question about the period before; null: there is none to compare with. */
  pathBefore: string | null;
};

/** Part of a day says nothing beside a whole one. */
const fewestCompared = 2;

/** The filters of the usage page, which stand in its address. `ofUser`: the page is one user's. */
export function useUsageFilters(ofUser = ''): UsageFilters {
  const filters = useFilters(filterNames);
  const isAdmin = useRole() >= roles.admin;
  const { values } = filters;
  const user = ofUser || values.user;
  const scope: Scope = !isAdmin ? 'own' : user !== '' ? 'user' : values.scope === 'all' ? 'all' : 'own';
  const period = readPeriod(values);
  const dates = period === 'custom' ? { from: values.from, to: values.to } : readDates(period, new Date());
  const choices = dimensions.filter((name) => {
    if (name === 'user') return scope === 'all';
    return name !== 'channel' || isAdmin;
  });
  const by = choices.find((name) => name === values.by) ?? (scope === 'all' ? 'user' : 'model');
  const question = { scope: scope === 'all' ? 'all' : null, user: scope === 'user' ? user : null };
  const { key, plugin, model, channel } = values;
  const narrowed = { zone: localZone(), by, key, plugin, model, channel: isAdmin ? channel : null };
  const path = withQuery('/api/usage', { ...question, ...dates, ...narrowed, series: stackedShares });
  const isCompared = countDays(dates) >= fewestCompared;
  const pathBefore = isCompared ? withQuery('/api/usage', { ...question, ...datesBefore(dates), ...narrowed }) : null;
  return { ...filters, scope, userId: scope === 'user' ? user : '', period, dates, by, choices, path, pathBefore };
}
