import { Elysia, t } from 'elysia';
import type { Figures, ModelFigures } from '../../../reports/index.ts';
import type { Tasks } from '../../../surfaces/index.ts';
import { httpErrors } from '../../errors.ts';
import { isAdmin } from '../../pipeline/authorize-request.ts';
import { type Kit, ok, strictObject, wholeText } from '../../pipeline/route-kit.ts';
import { readWhole } from '../paging.ts';

const MAX_DAYS = 90;
const DEFAULT_DAYS = '30';
/** Rows of the lists of the slowest and of the most failing models. */
const WORST = 10;
/** Rows of the list of all models. */
const MAX_MODELS = 100;

/** The figures of the panel's home page. */
export function statsRoutes(kit: Kit, { tasks }: { tasks: Tasks }) {
  return new Elysia({ normalize: false, tags: ['Records'] }).use(kit).get(
    '/api/stats',
    async ({ query, panel }) => {
      const days = readWhole('days', query.days ?? DEFAULT_DAYS, { min: 1, max: MAX_DAYS });
      const { scope = 'own' } = query;
      if (scope === 'all' && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
      const figures = await tasks.figures({ days, ...(scope === 'all' ? {} : { userId: panel.user.id }) });
      return ok({ scope, ...describeFigures(figures) });
    },
    {
      user: true,
      query: strictObject({
        days: t.Optional(
          wholeText({ minimum: 1, maximum: MAX_DAYS, default: Number(DEFAULT_DAYS), description: 'Today included.' }),
        ),
        scope: t.Optional(t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: administrators.' })),
      }),
      detail: {
        summary: 'Tasks, spend and durations of the last days',
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
