import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageReport, UsageStats } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { Figures, roundShares, Share } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { LowBalanceNote } from '../notifications/low-balance-note.tsx';
import { Change, PointsChange } from '../usage/period-change.tsx';
import { localZone, readDates } from '../usage/usage-period.ts';
import classes from './home.module.css';

type SummaryFiguresProps = {
  /** The reader's; null: the figures are everybody's. */
  balance: number | null;
  figures: UsageStats;
  /** The figure of the period before. Undefined: it is not known yet. */
  before: UsageReport['totals'] | undefined;
  days: string;
};

/** Balance, or everybody's ended tasks; spending, success rate and running tasks. */
export function SummaryFigures({ balance, figures: { totals }, before, days }: SummaryFiguresProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const hint = useGatewayStatus().data?.balance_hint || t('home.balanceAsk');
  const ended = totals.succeeded + totals.failed;
  const successNote =
    ended === 0 ? t('home.successNone') : t('home.succeeded', { succeeded: format.number(totals.succeeded) });
  const scope = balance === null ? 'all' : null;
  const failedLink = (
    <Anchor
      component={Link}
      to={withQuery('/tasks', { scope, status: 'FAILURE', period: `${days}d` })}
      size="sm"
      c="var(--mantine-color-error)"
    >
      {t('home.failedShow', { failed: format.number(totals.failed) })}
    </Anchor>
  );
  const runningLink = (
    <Anchor component={Link} to={balance === null ? '/tasks?scope=all' : '/tasks'} size="sm">
      {t('home.runningShow')}
    </Anchor>
  );
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        ...(balance === null
          ? []
          : [
              {
                label: t('home.balance'),
                value: format.money(balance),
                note: balance <= 0 ? <span>{`${t('home.balanceEmpty')} ${hint}`}</span> : <LowBalanceNote />,
              },
            ]),
        {
          label: t('home.spent'),
          value: format.money(totals.spend),
          note: <Change now={totals.spend} before={before?.spend} days={Number(days)} />,
        },
        {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
          note: (
            <>
              <span className={classes.whole}>{successNote}</span>
              {totals.failed > 0 && <span aria-hidden="true"> · </span>}
              {totals.failed > 0 && <span className={classes.whole}>{failedLink}</span>}
              <PointsChange now={totals.success_rate} before={before?.success_rate} days={Number(days)} />
            </>
          ),
        },
        ...(balance === null
          ? [
              {
                label: t('home.ended'),
                value: format.number(ended),
                note: <Change now={ended} before={before && before.succeeded + before.failed} days={Number(days)} />,
              },
            ]
          : []),
        { label: t('home.running'), value: format.number(totals.running), note: totals.running > 0 && runningLink },
      ]}
    />
  );
}

type ModelFigures = UsageStats['slowest'][number];

/** Durations and success rates of the slowest models. */
export function SlowestModels({ models }: { models: readonly ModelFigures[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (models.length === 0) return null;
  const inColumn = format.durationLike(
    models.flatMap(({ p50_seconds, p95_seconds }) => [p50_seconds ?? 0, p95_seconds ?? 0]),
  );
  const duration = (seconds: number | null): string => (seconds === null ? '–' : inColumn(seconds));
  return (
    <Section heading={t('home.slowest')} intro={t('home.slowest.intro')}>
      <PlainTable
        label={t('home.slowest')}
        rows={models}
        rowKey={({ plugin_key, model }) => `${plugin_key}/${model}`}
        columns={[
          { key: 'model', heading: t('home.slowest.model'), render: ({ model }) => model },
          {
            key: 'usual',
            heading: t('home.slowest.usual'),
            numeric: true,
            render: ({ p50_seconds }) => duration(p50_seconds),
          },
          {
            key: 'long',
            heading: t('home.slowest.long'),
            numeric: true,
            render: ({ p95_seconds }) => duration(p95_seconds),
          },
          {
            key: 'success',
            heading: t('home.success'),
            numeric: true,
            render: ({ success_rate }) => (success_rate === null ? '–' : format.percent(success_rate)),
          },
          {
            key: 'tasks',
            heading: t('home.slowest.tasks'),
            numeric: true,
            render: ({ succeeded, failed }) => format.number(succeeded + failed),
          },
        ]}
        brief={({ model, p50_seconds, p95_seconds, success_rate }) => (
          <RowBrief
            name={model}
            figure={`${t('home.slowest.usual')} ${duration(p50_seconds)}`}
            facts={[
              `${t('home.slowest.long')} ${duration(p95_seconds)}`,
              success_rate === null ? '' : t('home.slowest.succeeded', { share: format.percent(success_rate) }),
            ]}
          />
        )}
      />
    </Section>
  );
}

const shown = 5;
const periods = { '7': '7d', '30': '30d', '90': '90d' } as const;

/** Empty: all models. */
export type UsageOfModel = { plugin?: string; model?: string };

/** The question of the table below. */
export const spendersPath = (days: keyof typeof periods, only: UsageOfModel): string =>
  withQuery('/api/usage', {
    ...{ scope: 'all', by: 'user', ...only },
    ...readDates(periods[days], new Date()),
    zone: localZone(),
  });

type TopSpendersProps = { days: keyof typeof periods; only: UsageOfModel; isNarrow: boolean };

/** The users who spent most; each leads to what they spent it on. */
export function TopSpenders({ days, only, isNarrow }: TopSpendersProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const period = periods[days];
  const { data } = useApiQuery<UsageReport>(spendersPath(days, only));
  const spenders = data?.shares.filter(({ spend }) => spend > 0).slice(0, shown) ?? [];
  if (data === undefined || spenders.length === 0) return null;
  const money = format.moneyLike(spenders.map(({ spend }) => spend));
  const rounded = roundShares(
    spenders.map(({ spend }) => spend),
    data.totals.spend,
  );
  const shares = new Map(spenders.map(({ id }, index) => [id, rounded[index] ?? 0]));
  return (
    <Section
      heading={t('home.spenders')}
      actions={
        <Anchor component={Link} to={`/usage?scope=all&period=${period}`} size="sm">
          {t('home.spenders.all')}
        </Anchor>
      }
    >
      <PlainTable
        label={t('home.spenders')}
        isNarrow={isNarrow}
        rows={spenders}
        rowKey={({ id }) => id}
        columns={[
          {
            key: 'user',
            heading: t('usage.user'),
            render: ({ id, name }) => (
              <Anchor component={Link} to={`/users/${id}?tab=spend&period=${period}`} inherit>
                {name ?? t('usage.deleted', { id })}
              </Anchor>
            ),
          },
          {
            key: 'tasks',
            heading: t('home.slowest.tasks'),
            numeric: true,
            render: ({ succeeded, failed }) => format.number(succeeded + failed),
          },
          { key: 'spend', heading: t('home.spent'), numeric: true, render: ({ spend }) => money(spend) },
          {
            key: 'share',
            heading: t('usage.share'),
            numeric: true,
            render: ({ id }) => <Share part={shares.get(id) ?? 0} of={1} />,
          },
        ]}
        brief={({ id, name, spend, succeeded, failed }) => (
          <RowBrief
            name={name ?? t('usage.deleted', { id })}
            to={`/users/${id}?tab=spend&period=${period}`}
            figure={money(spend)}
            facts={[
              t('home.spenders.brief', {
                ...{ count: succeeded + failed, shown: format.number(succeeded + failed) },
                share: format.percent(shares.get(id) ?? 0),
              }),
            ]}
          />
        )}
      />
    </Section>
  );
}
