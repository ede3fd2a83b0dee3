import { useTranslation } from 'react-i18next';
import type { UsageReport } from '../../api/types.ts';
import { ChartOrTable } from '../../ui/display/chart-or-table.tsx';
import { PlainTable } from '../../ui/display/data-table.tsx';
import { DayBars } from '../../ui/display/day-bars.tsx';
import { formatHours } from '../../ui/display/use-chart-times.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { localZone } from './usage-period.ts';

/** Spend over time, as a chart or a table. */
export function UsageOverTime({ report }: { report: UsageReport }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { points, totals, unit, zone, days_per_point: days } = report;
  const isByHour = unit === 'hour';
  // Days are those of the report's zone, wherever the reader is now.
  const dayOnly = new Intl.DateTimeFormat(i18n.language, { timeZone: zone, day: 'numeric', month: 'short' });
  const short = isByHour ? formatHours(i18n.language, zone) : (day: Date) => dayOnly.format(day);
  const long = new Intl.DateTimeFormat(i18n.language, {
    timeZone: zone,
    dateStyle: 'medium',
    ...(isByHour ? { timeStyle: 'short' } : {}),
  });
  const at = (seconds: number): Date => new Date(seconds * 1000);
  const used = points.filter(({ spend, succeeded, failed }) => spend > 0 || succeeded > 0 || failed > 0);
  const money = format.moneyLike(used.map(({ spend }) => spend));
  const peak = Math.max(0, ...points.map(({ spend }) => spend));
  const heading = t(isByHour ? 'usage.byHour' : 'usage.byDay');
  return (
    <ChartOrTable
      heading={heading}
      intro={
        <>
          {t(zone === localZone() ? 'usage.zone' : 'usage.zoneUtc', { zone: zone.replaceAll('_', ' ') })}
          {days > 1 && ` ${t('usage.daysPerPoint', { count: days })}`}
        </>
      }
      chart={
        <DayBars
          label={t('usage.overTime.label', { total: format.money(totals.spend), most: format.money(peak) })}
          series={[{ key: 'value', name: t('usage.spent') }]}
          days={points.map((point) => ({ day: short(at(point.at)), value: point.spend }))}
          format={money}
          axis={format.moneyAxis(peak)}
        />
      }
      table={
        <PlainTable
          label={heading}
          rows={[...used].reverse()}
          rowKey={(point) => point.at}
          columns={[
            {
              key: 'at',
              heading: t(isByHour ? 'usage.hour' : 'usage.day'),
              render: (point) => long.format(at(point.at)),
            },
            { key: 'ok', heading: t('usage.finished'), numeric: true, render: (row) => format.number(row.succeeded) },
            { key: 'bad', heading: t('usage.failed'), numeric: true, render: (row) => format.number(row.failed) },
            { key: 'spend', heading: t('usage.spent'), numeric: true, render: ({ spend }) => money(spend) },
          ]}
        />
      }
    />
  );
}
