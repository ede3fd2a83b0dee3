import { useTranslation } from 'react-i18next';
import type { UsageStats } from '../../api/types.ts';
import { ChartOrTable } from '../../ui/display/chart-or-table.tsx';
import { type Column, PlainTable } from '../../ui/display/data-table.tsx';
import { DayBars } from '../../ui/display/day-bars.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './activity.module.css';

type Day = UsageStats['by_day'][number];

const hasActivity = ({ succeeded, failed, running, spend }: Day): boolean => succeeded + failed + running + spend > 0;

/** Tasks and spending per day, as charts or as tables. */
export function Activity({ figures: { by_day, totals } }: { figures: UsageStats }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  // The API's days are UTC days.
  const axisDate = new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const fullDate = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: 'UTC' });
  const toDate = (day: number): Date => new Date(day * 1000);
  const days = by_day.map((day) => ({ ...day, day: axisDate.format(toDate(day.day)) }));
  const rows = by_day.filter(hasActivity).reverse();
  const dayColumn: Column<Day> = {
    key: 'day',
    heading: t('home.day'),
    render: ({ day }) => fullDate.format(toDate(day)),
  };
  const peak = Math.max(0, ...by_day.map(({ spend }) => spend));
  const axis = format.moneyLike([peak / 4]);
  const money = format.moneyLike(rows.map(({ spend }) => spend));
  const counts = {
    succeeded: format.number(totals.succeeded),
    failed: format.number(totals.failed),
    running: format.number(totals.running),
    days: by_day.length,
  };
  return (
    <div className={classes.charts}>
      <ChartOrTable
        heading={t('home.byDay')}
        intro={t('home.utc')}
        chart={
          <DayBars
            label={t('home.byDay.label', counts)}
            whole
            days={days}
            series={[
              { key: 'succeeded', name: t('task.status.SUCCESS'), color: 'var(--tg-signal)' },
              { key: 'failed', name: t('task.status.FAILURE'), color: 'var(--mantine-color-error)' },
              { key: 'running', name: t('task.status.IN_PROGRESS'), color: 'var(--tg-wait)' },
            ]}
            format={format.number}
          />
        }
        table={
          <PlainTable
            label={t('home.byDay')}
            rows={rows}
            rowKey={({ day }) => day}
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
              {
                key: 'open',
                heading: t('task.status.IN_PROGRESS'),
                numeric: true,
                render: (day) => format.number(day.running),
              },
            ]}
          />
        }
      />
      <ChartOrTable
        heading={t('home.spendByDay')}
        intro={t('home.utc')}
        chart={
          <DayBars
            label={t('home.spendByDay.label', { total: format.money(totals.spend), days: by_day.length })}
            days={days}
            series={[{ key: 'spend', name: t('home.spent') }]}
            format={axis}
          />
        }
        table={
          <PlainTable
            label={t('home.spendByDay')}
            rows={rows}
            rowKey={({ day }) => day}
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
