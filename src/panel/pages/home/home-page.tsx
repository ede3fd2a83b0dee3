import { Anchor, Button, NativeSelect, SegmentedControl, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ComponentProps, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskPage, UsageReport, UsageStats, User } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useGatewayStatus, useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery, useReadAhead, withQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FilterChips } from '../../ui/form/filter-bar.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { balanceAlertPath } from '../notifications/low-balance-note.tsx';
import { TaskPoster } from '../tasks/task-poster.tsx';
import { stackedShares } from '../usage/stack-spend.ts';
import { datesBefore, localZone, readDates } from '../usage/usage-period.ts';
import { Activity } from './activity.tsx';
import { AttentionList } from './attention-list.tsx';
import { ChannelHeat, channelHeatPath, Failures, failingChannelsPath } from './failing.tsx';
import { areStepsHidden, FirstSteps, hideSteps, useIsNewcomer } from './first-steps.tsx';
import classes from './home.module.css';
import { SlowestModels, SummaryFigures, spendersPath, TopSpenders, type UsageOfModel } from './home-figures.tsx';

const spans = { '7': 'home.days.7', '30': 'home.days.30', '90': 'home.days.90' } as const satisfies Record<
  string,
  TextKey
>;
const defaultSpan = '30';
const isSpan = (text: string): text is keyof typeof spans => Object.hasOwn(spans, text);
const filterNames = ['days', 'scope', 'platform', 'model'] as const;
const refreshMs = 30_000;

/** The page after sign-in: what needs attention in one line, first steps, figures, and results. */
export function HomePage() {
  const { t } = useTranslation();
  const session = useSession();
  const { bundle } = useSessionSnapshot();
  const isAdmin = useRole() >= roles.admin;
  const { values, set, setAll } = useFilters(filterNames);
  const [isHidden, setHidden] = useState(areStepsHidden);
  const days = isSpan(values.days) ? values.days : defaultSpan;
  // Administrators look after everyone, until they choose otherwise.
  const all = isAdmin && (values.scope || readScope()) !== 'own';
  const self = useQuery({
    queryKey: ['self', bundle?.session.sid],
    queryFn: () => session.send<User>({ method: 'GET', path: '/api/user/self' }),
    // The balance is not among everybody's figures.
    enabled: bundle !== null && !all,
  });
  const figures = useApiQuery<UsageStats>(withQuery('/api/stats', { days, scope: all ? 'all' : null }), { refreshMs });
  const period = readDates(`${days}d`, new Date());
  const usage = useApiQuery<UsageReport>(
    withQuery('/api/usage', { ...period, zone: localZone(), scope: all ? 'all' : null, series: stackedShares }),
    { refreshMs },
  );
  const { platform, model } = values;
  const only = usage.data?.shares.find((share) => share.plugin_key === platform && share.model === model);
  // A model that the report does not know is taken for one until the report is there.
  const ofModel: UsageOfModel = usage.data === undefined || only !== undefined ? { plugin: platform, model } : {};
  const before = useApiQuery<UsageReport>(
    withQuery('/api/usage', { ...datesBefore(period), ...ofModel, zone: localZone(), scope: all ? 'all' : null }),
  );
  useReadAhead(
    ...(all
      ? [channelHeatPath(), spendersPath(days, ofModel), failingChannelsPath(days, ofModel)]
      : [balanceAlertPath]),
    resultsPath(all, ofModel),
  );
  const isNewcomer = useIsNewcomer();
  const status = useGatewayStatus();
  if (bundle === null) return null;
  const hide = (): void => {
    hideSteps();
    setHidden(true);
  };
  const user = self.data ?? bundle.user;
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const isNew = isNewcomer && !isHidden;
  const slowest = figures.data === undefined ? [] : filterModel(figures.data, only).slowest;
  // Before the first task there is nothing to choose or to count.
  const isUnused = isNew && all === isAdmin && figures.data !== undefined && isEmpty(figures.data);

  return (
    <Page
      heading={t('nav.home')}
      {...(isNew ? { intro: t('home.introNew') } : {})}
      actions={
        isUnused ? undefined : (
          <>
            {isAdmin && (
              <SegmentedControl
                aria-label={t('tasks.scope')}
                value={all ? 'all' : 'own'}
                onChange={(scope) => {
                  rememberScope(scope);
                  set('scope', scope);
                }}
                data={[
                  { value: 'own', label: t('tasks.scope.own') },
                  { value: 'all', label: t('tasks.scope.all') },
                ]}
              />
            )}
            <PeriodChoice days={days} onDays={(span) => set('days', span === defaultSpan ? '' : span)} />
            {!isAdmin && (
              <Button component={Link} to="/playground">
                {t('tasks.emptyAction')}
              </Button>
            )}
          </>
        )
      }
    >
      {self.isError && <ErrorNotice error={self.error} />}
      {isAdmin && <AttentionList />}
      {isNew && <FirstSteps origin={origin} onHide={hide} />}
      <QueryResult query={figures}>
        {(data) => (
          <>
            {only !== undefined && (
              <FilterChips
                chips={[
                  {
                    ...{ key: 'model', label: t('home.slowest.model'), value: only.model },
                    onRemove: () => setAll({ platform: '', model: '' }),
                  },
                ]}
              />
            )}
            {(!isUnused || !all) && (
              <SummaryFigures
                balance={all ? null : user.quota}
                figures={withTotals(data, only === undefined ? usage.data?.totals : toTotals(only))}
                before={before.data?.totals}
                days={days}
              />
            )}
            {/* The first steps name it, too. */}
            {!isNew && <Endpoint origin={origin} />}
            {isEmpty(data) ? (
              !isNew &&
              (isAdmin && !all ? (
                <NoneOfYours days={days} onShow={() => set('scope', 'all')} />
              ) : (
                <EmptyState heading={t('home.quiet')} text={t('home.quietText')} />
              ))
            ) : (
              <>
                <QueryResult query={usage}>
                  {(report) => (
                    <Activity
                      {...{ report, only }}
                      onOnly={(share) => setAll({ platform: share?.plugin_key ?? '', model: share?.model ?? '' })}
                    />
                  )}
                </QueryResult>
                {all && <ChannelHeat />}
                <FailuresAndSpenders figures={filterModel(data, only)} all={all} days={days} only={ofModel} />
                <LastResults all={all} only={ofModel} refreshMs={refreshMs} />
              </>
            )}
          </>
        )}
      </QueryResult>
      <SlowestModels models={slowest} />
    </Page>
  );
}

/** Where requests go, in one row. */
function Endpoint({ origin }: { origin: string }) {
  const { t } = useTranslation();
  return (
    <section className={classes.endpoint} aria-labelledby="endpoint">
      <Title order={2} fz={15} id="endpoint">
        {t('home.endpoint')}
      </Title>
      <p className={classes.when}>{t('home.endpointHint')}</p>
      <CopyField text={`${origin}/v1`} />
      <Anchor component={Link} to="/reference" size="sm" className={classes.reference ?? ''}>
        {t('home.reference')}
      </Anchor>
    </section>
  );
}

type FailuresAndSpendersProps = Pick<ComponentProps<typeof Failures>, 'figures' | 'all' | 'only'> & {
  days: keyof typeof spans;
};

/** Two cards, which share a row of a wide screen where both are shown. */
function FailuresAndSpenders({ figures, all, days, only }: FailuresAndSpendersProps) {
  const isWide = useMediaQuery('(min-width: 1121px)', undefined, { getInitialValueInEffect: false }) === true;
  const spenders = useApiQuery<UsageReport>(spendersPath(days, only), { enabled: all });
  const hasSpenders = spenders.data?.shares.some(({ spend }) => spend > 0) === true;
  const isNarrow = isWide && all && hasSpenders && figures.failures.some(({ failed }) => failed > 0);
  return (
    <div className={classes.pair} data-side-by-side={isNarrow || undefined}>
      <Failures figures={figures} all={all} days={days} only={only} isNarrow={isNarrow} />
      {all && <TopSpenders days={days} only={only} isNarrow={isNarrow} />}
    </div>
  );
}

/** Side by side; on a phone, a selection that leaves room for whose tasks are shown. */
function PeriodChoice({ days, onDays }: { days: string; onDays(span: string): void }) {
  const { t } = useTranslation();
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  const shared = {
    'aria-label': t('home.days'),
    value: days,
    data: Object.entries(spans).map(([value, text]) => ({ value, label: t(text) })),
  };
  return isPhone ? (
    <NativeSelect
      {...shared}
      className={classes.period ?? ''}
      onChange={({ currentTarget }) => onDays(currentTarget.value)}
    />
  ) : (
    <SegmentedControl {...shared} onChange={onDays} />
  );
}

/** The figures above the charts are of the same days as they. */
const withTotals = (figures: UsageStats, totals: Omit<UsageReport['totals'], 'running'> | undefined): UsageStats =>
  totals === undefined ? figures : { ...figures, totals: { ...figures.totals, ...totals } };

type Share = UsageReport['shares'][number];

function toTotals({ succeeded, failed, spend }: Share) {
  const ended = succeeded + failed;
  return { succeeded, failed, spend, success_rate: ended === 0 ? null : succeeded / ended };
}

function filterModel(figures: UsageStats, only: Share | undefined): UsageStats {
  if (only === undefined) return figures;
  const isOnly = (row: { plugin_key: string; model: string }): boolean =>
    row.plugin_key === only.plugin_key && row.model === only.model;
  return { ...figures, failures: figures.failures.filter(isOnly), slowest: figures.slowest.filter(isOnly) };
}

const isEmpty = ({ totals: { succeeded, failed, running } }: UsageStats): boolean => succeeded + failed + running === 0;

/** An administrator without tasks of their own is led to those of others. */
function NoneOfYours({ days, onShow }: { days: string; onShow(): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<UsageStats>(withQuery('/api/stats', { days, scope: 'all' }));
  const { succeeded, failed, running } = data?.totals ?? { succeeded: 0, failed: 0, running: 0 };
  const others = succeeded + failed + running;
  if (others === 0) return <EmptyState heading={t('home.quiet')} text={t('home.quietText')} />;
  return (
    <EmptyState
      heading={t('home.noneOfYours')}
      text={t('home.byOthers', { others: format.number(others) })}
      action={<Button onClick={onShow}>{t('home.showThem')}</Button>}
    />
  );
}

const scopeKey = 'taskgate.homeScope';

function readScope(): string {
  try {
    return localStorage.getItem(scopeKey) ?? '';
  } catch {
    return '';
  }
}

function rememberScope(scope: string): void {
  try {
    localStorage.setItem(scopeKey, scope);
  } catch {
    // Storage is blocked: the address keeps the choice until the page is left.
  }
}

const shown = 6;

const toResults = (all: boolean, { plugin, model }: UsageOfModel) => ({
  ...{ scope: all ? 'all' : null, status: 'SUCCESS' },
  ...{ platform: plugin, model },
});
const resultsPath = (all: boolean, only: UsageOfModel): string =>
  withQuery('/api/task', { ...toResults(all, only), page_size: shown });

/** The latest results, as pictures that lead to their tasks. */
function LastResults({ all, only, refreshMs }: { all: boolean; only: UsageOfModel; refreshMs: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<TaskPage>(resultsPath(all, only), { refreshMs });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Section
      heading={t('home.results')}
      actions={
        <Anchor component={Link} to={withQuery('/tasks', toResults(all, only))} size="sm">
          {t('home.results.all')}
        </Anchor>
      }
    >
      <ul className={classes.results}>
        {data.items.map((task) => (
          <li key={task.id}>
            <Link to={`/tasks/${encodeURIComponent(task.id)}`} className={classes.result}>
              <TaskPoster task={task} size="tile" />
              <span className={classes.prompt}>{task.input || t('tasks.withoutInput')}</span>
            </Link>
            <span className={classes.when}>{format.ago(task.finish_time)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
