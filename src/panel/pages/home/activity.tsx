import { useTranslation } from 'react-i18next';
import type { UsageReport } from '../../api/types.ts';
import { ChartOrTable, DayBars } from '../../ui/chart/charts.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { localZone } from '../usage/usage-period.ts';
import classes from './home.module.css';

type Day = UsageReport['points'][number];

const hasActivity = ({ succeeded, failed, spend }: Day): boolean => succeeded + failed + spend > 0;

/** Tasks and spending per day, as charts or as tables. */
export function Activity({ report: { points, totals, zone } }: { report: UsageReport }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  // Days are those of the report's zone, wherever the reader is now.
  const axisDate = new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short', timeZone: zone });
  const fullDate = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: zone });
  const intro = t(zone === localZone() ? 'home.zone' : 'home.zoneUtc', { zone: zone.replaceAll('_', ' ') });
  const toDate = (day: number): Date => new Date(day * 1000);
  const days = points.map((point) => ({ ...point, day: axisDate.format(toDate(point.at)) }));
  const rows = points.filter(hasActivity).reverse();
  const dayColumn: Column<Day> = {
    key: 'day',
    heading: t('home.day'),
    render: ({ at }) => fullDate.format(toDate(at)),
  };
  const peak = Math.max(0, ...points.map(({ spend }) => spend));
  const money = format.moneyLike(rows.map(({ spend }) => spend));
  const counts = {
    succeeded: format.number(totals.succeeded),
    failed: format.number(totals.failed),
    days: points.length,
  };
  return (
    <div className={classes.charts}>
      <ChartOrTable
        heading={t('home.byDay')}
        intro={intro}
        chart={
          <DayBars
            label={t('home.byDay.label', counts)}
            days={days}
            series={[
              { key: 'succeeded', name: t('task.status.SUCCESS') },
              { key: 'failed', name: t('task.status.FAILURE'), color: 'var(--mantine-color-error)' },
            ]}
            format={format.number}
          />
        }
        table={
          <PlainTable
            label={t('home.byDay')}
            rows={rows}
            rowKey={({ at }) => at}
            columns={[
              dayColumn,
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
            ]}
          />
        }
      />
      <ChartOrTable
        heading={t('home.spendByDay')}
        intro={intro}
        chart={
          <DayBars
            label={t('home.spendByDay.label', { total: format.money(totals.spend), days: points.length })}
            days={days}
            series={[{ key: 'spend', name: t('home.spent') }]}
            format={money}
            axis={format.moneyAxis(peak)}
          />
        }
        table={
          <PlainTable
            label={t('home.spendByDay')}
            rows={rows}
            rowKey={({ at }) => at}
            columns={[
              dayColumn,
              { key: 'spend', heading: t('home.spent'), numeric: true, render: (day) => money(day.spend) },
            ]}
          />
        }
      />
    </div>
  );
}
