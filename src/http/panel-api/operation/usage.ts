import { Elysia, t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import { createZoneClock, isTimeZone, sentence } from '../../../kernel/index.ts';
import type { Figures, ModelFigures, Reports, UsageReport } from '../../../reports/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { readDay, readIdFilter, readInteger } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';

/** The days that are shown if no dates are given, today included. */
const DEFAULT_DAYS = 7;
const MAX_DAYS = 3660;
/** Shares over time: more than a chart can tell apart. */
const MAX_SERIES = 12;

const id = (description: string) => t.Optional(integerText({ minimum: 1, description }));
const date = (description: string) =>
  t.Optional(t.String({ maxLength: 10, description: `${description}, such as 2026-11-26.` }));
const text = (description: string) => t.Optional(t.String({ maxLength: 200, description }));

/** All are texts, because they come from a query. */
const usageQuery = {
  from: date('The first day'),
  to: date('The last day'),
  zone: t.Optional(
    t.String({ maxLength: 64, description: 'The time zone of the days: its IANA name, such as Asia/Kolkata. UTC.' }),
  ),
  scope: t.Optional(
    t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: of every user, for administrators.' }),
  ),
  user_id: id('Administrators.'),
  api_key_id: t.Optional(integerText({ minimum: 0, description: 'The id of an API key; 0: without a key.' })),
  channel_id: id('Administrators.'),
  user: id('The former name of user_id.'),
  key: t.Optional(integerText({ minimum: 0, description: 'The former name of api_key_id.' })),
  channel: id('The former name of channel_id.'),
  plugin: text('The exact key of a plugin.'),
  model: text('The exact model.'),
  by: t.Optional(
    t.Union([t.Literal('key'), t.Literal('model'), t.Literal('user'), t.Literal('channel')], {
      description: 'What the shares are of. user and channel: for administrators.',
    }),
  ),
  series: t.Optional(
    integerText({
      minimum: 0,
      maximum: MAX_SERIES,
      default: 0,
      description: 'How many of the first shares have points of their own, one for each of the report.',
    }),
  ),
};
type UsageQuery = { [Field in keyof typeof usageQuery]?: string };

/** What was used, by whom and for what. */
export function usageRoutes(
  kit: Kit,
  { reports, clock }: { reports: Pick<Reports, 'usage'>; clock: { unix(): number } },
) {
  return new Elysia({ normalize: false, tags: ['Records'] }).use(kit).get(
    '/api/usage',
    async ({ query, panel }) => {
      const { by = 'model' } = query;
      const concernsOthers = query.user_id || query.user || query.channel_id || query.channel;
      if ((query.scope === 'all' || concernsOthers || by === 'user' || by === 'channel') && !isAdmin(panel))
        throw httpErrors.insufficient_privilege();
      const report = await reports.usage({
        period: readPeriod(query, clock.unix()),
        by,
        series: readInteger('series', query.series ?? '0', { min: 0, max: MAX_SERIES }),
        only: readOnly(panel, query),
      });
      return ok({ by, ...describeReport(report) });
    },
    {
      user: true,
      query: strictObject(usageQuery),
      detail: {
        summary: 'Get spend and tasks over time, by key, model, user or channel',
        description:
          'points: at most 200, each of an hour (unit hour: up to three days) or of days_per_point days, by its first second. Days are those of zone as long as quarters of an hour are kept, which is 35 days; a period that begins before is counted in days of UTC, and zone says so. spend is quota. shares: the highest spend first, at most 100; others sums up the rest. id is 0 for requests without a key, -1 where it is no longer known; name is null where it was deleted.',
      },
    },
  );
}

/** @throws http.validation_failed */
function readPeriod({ from, to, zone = 'UTC' }: UsageQuery, now: number) {
  if (!isTimeZone(zone)) {
    throw fieldError('zone', 'wrong_value', sentence('http.zone'));
  }
  const toDay = to ? readDay('to', to) : createZoneClock(zone).toDay(now);
  const fromDay = from ? readDay('from', from) : toDay - DEFAULT_DAYS + 1;
  if (fromDay > toDay) throw fieldError('from', 'wrong_value', sentence('http.from_to'));
  if (toDay - fromDay >= MAX_DAYS) {
    throw fieldError('from', 'wrong_value', sentence('http.period', { max: MAX_DAYS }));
  }
  return { fromDay, toDay, zone };
}

/** An empty text is not a filter: forms send empty fields. @throws http.validation_failed */
function readOnly(panel: PanelPrincipal, query: UsageQuery) {
  const { scope, plugin, model } = query;
  const userId = readIdFilter(query, ['user_id', 'user']) ?? (scope === 'all' ? undefined : panel.user.id);
  const apiKeyId = readIdFilter(query, ['api_key_id', 'key'], 0);
  const channelId = readIdFilter(query, ['channel_id', 'channel']);
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(apiKeyId === undefined ? {} : { apiKeyId }),
    ...(channelId === undefined ? {} : { channelId }),
    ...(plugin ? { pluginKey: plugin } : {}),
    ...(model ? { model } : {}),
  };
}

const describeReport = ({ zone, from, until, unit, daysPerPoint, totals, points, shares, others }: UsageReport) => ({
  zone,
  from,
  until,
  unit,
  days_per_point: daysPerPoint,
  totals: { ...totals, success_rate: rate(totals) },
  points,
  shares: shares.map(({ id, name, pluginKey, model, succeeded, failed, spend, points: own }) => ({
    id,
    name: name ?? null,
    plugin_key: pluginKey,
    model,
    succeeded,
    failed,
    spend,
    ...(own && { points: own }),
  })),
  others,
});

const MAX_STATS_DAYS = 90;
const DEFAULT_STATS_DAYS = '30';
/** Rows of the lists of the slowest and of the most failing models. */
const WORST = 10;
/** Rows of the list of all models. */
const MAX_MODELS = 100;

/** The figures of the panel's home page. */
export function statsRoutes(kit: Kit, { reports }: { reports: Reports }) {
  return new Elysia({ normalize: false, tags: ['Records'] }).use(kit).get(
    '/api/stats',
    async ({ query, panel }) => {
      const days = readInteger('days', query.days ?? DEFAULT_STATS_DAYS, { min: 1, max: MAX_STATS_DAYS });
      const { scope = 'own' } = query;
      if (scope === 'all' && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
      const figures = await reports.figures({ days, ...(scope === 'all' ? {} : { userId: panel.user.id }) });
      return ok({ scope, ...describeFigures(figures) });
    },
    {
      user: true,
      query: strictObject({
        days: t.Optional(
          integerText({
            minimum: 1,
            maximum: MAX_STATS_DAYS,
            default: Number(DEFAULT_STATS_DAYS),
            description: 'Today included.',
          }),
        ),
        scope: t.Optional(t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: administrators.' })),
      }),
      detail: {
        summary: 'Get recent tasks, spend and durations',
        description:
          'by_day has every day (UTC; day is its first second): the tasks that ended on it and, as running, the tasks submitted on it that have not ended. spend is quota. success_rate is a share of the ended tasks, null if none ended. p50_seconds and p95_seconds are from the request to success, accurate to a histogram bucket, null if unknown. The figures are cached for 10 seconds.',
      },
    },
  );
}

const rate = ({ succeeded, failed }: { succeeded: number; failed: number }): number | null =>
  succeeded + failed === 0 ? null : succeeded / (succeeded + failed);

function describeFigures({ from, readAt, open, days, models }: Figures) {
  const total = { succeeded: 0, failed: 0, spend: 0 };
  for (const { succeeded, failed, spend } of days) {
    total.succeeded += succeeded;
    total.failed += failed;
    total.spend += spend;
  }
  const running = open.reduce((sum, { tasks }) => sum + tasks, 0);
  const slowest = models
    .filter(({ p95Seconds }) => p95Seconds !== undefined)
    .sort((a, b) => (b.p95Seconds ?? 0) - (a.p95Seconds ?? 0));
  const failing = models.filter(({ failed }) => failed > 0).sort((a, b) => b.failed - a.failed);
  return {
    from,
    read_at: readAt,
    totals: { ...total, running, success_rate: rate(total) },
    by_status: [
      ...open,
      { status: 'SUCCESS' as const, tasks: total.succeeded },
      { status: 'FAILURE' as const, tasks: total.failed },
    ],
    by_day: days,
    models: models.slice(0, MAX_MODELS).map(describeModel),
    slowest: slowest.slice(0, WORST).map(describeModel),
    failures: failing.slice(0, WORST).map(describeModel),
  };
}

const describeModel = (figures: ModelFigures) => ({
  plugin_key: figures.pluginKey,
  model: figures.model,
  succeeded: figures.succeeded,
  failed: figures.failed,
  spend: figures.spend,
  success_rate: rate(figures),
  p50_seconds: figures.p50Seconds ?? null,
  p95_seconds: figures.p95Seconds ?? null,
});
