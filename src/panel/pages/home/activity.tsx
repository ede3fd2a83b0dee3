import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { UsageReport } from '../../api/types.ts';
import { ChartOrTable } from '../../ui/chart/charts.tsx';
import { PartBars } from '../../ui/chart/part-bars.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { isUsed, stackSpend, useChartDays } from '../usage/stack-spend.ts';
import { localZone } from '../usage/usage-period.ts';

type ActivityProps = {
  report: UsageReport;
  /** The model that the page is about; undefined: all. */
  only: UsageReport['shares'][number] | undefined;
  onOnly(share: UsageReport['shares'][number] | undefined): void;
};

/**
 * Tasks by outcome or spend by model, for each day, as one chart or as its table. The choice of a
 * model is that of the whole page.
 */
export function Activity({ report, only, onOnly }: ActivityProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const [measure, setMeasure] = useState(only === undefined ? 'tasks' : 'spend');
  const { totals, zone } = report;
  const chart = useChartDays(report);
  const { points, days_per_point: days } = chart;
  // Days are those of the report's zone, wherever the reader is now.
  const axisDate = new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short', timeZone: zone });
  const fullDate = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: zone });
  const toDate = (day: number): Date => new Date(day * 1000);
  const rows = report.points.filter(isUsed).reverse();
  const peak = Math.max(0, ...points.map(({ spend }) => spend));
  const money = format.moneyLike(rows.map(({ spend }) => spend));
  const spends = stackSpend(chart, { toName: ({ model }) => model, others: t('usage.otherShares') });
  const isChosen = (share: UsageReport['shares'][number] | undefined): boolean =>
    share !== undefined && share.plugin_key === only?.plugin_key && share.model === only.model;
  const chosen = spends.find(({ share }) => isChosen(share));
  const [isOthers, setOthers] = useState(false);
  const heading = t('home.activity');
  const counts = {
    succeeded: format.number(totals.succeeded),
    failed: format.number(totals.failed),
    days: report.points.length,
  };
  return (
    <ChartOrTable
      heading={heading}
      intro={
        <>
          {t(zone === localZone() ? 'home.zone' : 'home.zoneUtc', { zone: zone.replaceAll('_', ' ') })}
          {days > 1 && ` ${t('usage.daysPerPoint', { count: days })}`}
        </>
      }
      controls={
        <SegmentedControl
          size="xs"
          aria-label={t('home.measure')}
          value={measure}
          onChange={setMeasure}
          data={[
            { value: 'tasks', label: t('home.slowest.tasks') },
            { value: 'spend', label: t('home.spent') },
          ]}
        />
      }
      chart={
        measure === 'tasks' ? (
          <PartBars
            label={t('home.byDay.label', counts)}
            days={points.map((point) => ({ ...point, day: axisDate.format(toDate(point.at)) }))}
            parts={[
              {
                key: 'succeeded',
                name: t('task.status.SUCCESS'),
                color: 'var(--mantine-primary-color-filled)',
                total: counts.succeeded,
              },
              {
                key: 'failed',
                name: t('task.status.FAILURE'),
                color: 'var(--mantine-color-error)',
                total: counts.failed,
              },
            ]}
            format={format.number}
          />
        ) : (
          <PartBars
            label={t('home.spendByDay.label', { total: format.money(totals.spend), days: report.points.length })}
            days={points.map(({ at }, index) => ({
              day: axisDate.format(toDate(at)),
              ...Object.fromEntries(spends.map((part) => [part.key, part.points[index] ?? 0])),
            }))}
            parts={spends.map(({ share: _, ...part }) => ({ ...part, total: format.money(part.total) }))}
            choice={{
              chosen: chosen === undefined ? (isOthers ? 'others' : null) : chosen.key,
              choose(key) {
                setOthers(key === 'others');
                onOnly(spends.find((part) => part.key === key)?.share);
              },
            }}
            format={money}
            axis={format.moneyAxis(peak)}
          />
        )
      }
      table={
        <PlainTable
          label={heading}
          rows={rows}
          rowKey={({ at }) => at}
          columns={[
            { key: 'day', heading: t('home.day'), render: ({ at }) => fullDate.format(toDate(at)) },
            {
              key: 'ok',
              heading: t('task.status.SUCCESS'),
              numeric: true,
              render: (day) => format.number(day.succeeded),
            },
            {
              key: 'bad',
              heading: t('task.status.FAILURE'),
              numeric: true,
              render: (day) => format.number(day.failed),
            },
            { key: 'spend', heading: t('home.spent'), numeric: true, render: (day) => money(day.spend) },
          ]}
        />
      }
    />
  );
}
