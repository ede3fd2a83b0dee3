import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { memo, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { SystemHistory } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { useChartTimes } from '../../ui/chart/chart-axis.ts';
import { ChartOrTable, TimeLines } from '../../ui/chart/charts.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { type Axis, roundTicks } from '../../ui/display/round-ticks.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { type Format, useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Fold, useIsPhone } from '../../ui/page/section.tsx';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { localZone } from '../usage/usage-period.ts';
import classes from './system.module.css';
import { systemParts } from './system-parts.tsx';

type Point = SystemHistory['points'][number];
type Field = Exclude<keyof Point, 'at'>;
type Measure = {
  like(format: Format, values: readonly number[]): (value: number) => string;
  axis(format: Format, peak: number): Axis;
};
type Chart = {
  help?: TextKey;
  heading: TextKey;
  series: readonly { field: Field; name: TextKey; color?: string }[];
  /** Whole numbers if there is none. */
  measure?: Measure;
  /** The value from which on something is wrong, and the name of its line. */
  threshold?: { at(history: SystemHistory): number; name: TextKey };
};

const filterNames = ['hours'] as const;
const periods = { '24': 'chart.hours24', '168': 'chart.days7', '336': 'chart.days14' } as const;

const bytes: Measure = {
  like: (format, values) => format.bytesLike(values),
  axis: (format, peak) => format.bytesAxis(peak),
};
const milliseconds: Measure = {
  like: (format, values) => {
    const seconds = format.durationLike(values.filter((value) => value >= 1000).map((value) => value / 1000));
    return (value) => (value < 1000 ? `${format.number(value)} ms` : seconds(value / 1000));
  },
  axis: (format, peak) => {
    const { ticks: fine } = roundTicks(peak, { whole: true });
    if ((fine.at(-1) ?? 0) < 1000) return { ticks: fine, label: (value) => `${format.number(value)} ms` };
    const { ticks, label } = format.durationAxis(peak / 1000);
    return { ticks: ticks.map((tick) => tick * 1000), label: (value) => label(value / 1000) };
  },
};

const charts: readonly Chart[] = [
  {
    heading: 'system.chart.polls',
    series: [{ field: 'polls', name: 'system.polls' }],
  },
  {
    heading: 'system.chart.lag',
    help: 'system.lagHelp',
    series: [{ field: 'lag_ms', name: 'system.chart.lag' }],
    measure: milliseconds,
    // As `docs/operating/monitoring.md` advises for an alert on the metric.
    threshold: { at: () => 250, name: 'system.chart.lagThreshold' },
  },
  {
    heading: 'system.chart.queue',
    series: [
      { field: 'unfinished', name: 'system.unfinished' },
      { field: 'due', name: 'system.due', color: 'var(--tg-wait)' },
    ],
  },
  {
    heading: 'system.lateness',
    series: [{ field: 'lateness_ms', name: 'system.lateness' }],
    measure: milliseconds,
    threshold: { at: ({ late_ms: late }) => late, name: 'system.chart.threshold' },
  },
  {
    heading: 'system.chart.database',
    series: [{ field: 'database_bytes', name: 'system.chart.database' }],
    measure: bytes,
  },
];

const readHours = (hours: string): string => (Object.hasOwn(periods, hours) ? hours : '24');

/** The question of the charts, as the address says. */
export const useHistoryPath = (): string =>
  `/api/node/history?hours=${readHours(useFilters(filterNames).values.hours)}`;

/** How the gateway did over the last days. Drawn again only for figures of its own. */
export const SystemCharts = memo(function SystemCharts() {
  const { t } = useTranslation();
  const { values, set } = useFilters(filterNames);
  const hours = readHours(values.hours);
  const history = useApiQuery<SystemHistory>(useHistoryPath(), { refreshMs: 60_000 });
  const isPhone = useIsPhone();
  const id = useId();
  const anchor = systemParts.history;
  const period = (
    <SegmentedControl
      aria-label={t('chart.period')}
      value={hours}
      onChange={(next) => set('hours', next === '24' ? '' : next)}
      data={Object.entries(periods).map(([value, text]) => ({ value, label: t(text) }))}
    />
  );
  const zone = (
    <Text size="xs" c="dimmed" mt={2}>
      {t('chart.zone', { zone: localZone().replaceAll('_', ' ') })}
    </Text>
  );
  const drawn = (
    <QueryResult query={history}>
      {(read) =>
        charts.every((chart) => listKnown(chart, read).length === 0) && read.backups.length === 0 ? (
          <EmptyState heading={t('system.chart.empty')} text={t('system.chart.none')} />
        ) : (
          <div className={classes.charts}>
            {charts.map((chart) => (
              <OneChart key={chart.heading} chart={chart} history={read} />
            ))}
            <BackupHistory history={read} />
          </div>
        )
      }
    </QueryResult>
  );
  if (isPhone)
    return (
      <section id={anchor} className={classes.history} aria-labelledby={id}>
        <Fold heading={t('system.history')} id={id} anchor={anchor}>
          <Stack gap="md">
            {period}
            {zone}
            {drawn}
          </Stack>
        </Fold>
      </section>
    );
  return (
    <>
      <Group justify="space-between" gap="sm" mt="md" id={anchor} className={classes.history ?? ''}>
        <div>
          <Title order={2} fz={18}>
            {t('system.history')}
          </Title>
          {zone}
        </div>
        {period}
      </Group>
      {drawn}
    </>
  );
});

/** The points that the chart can draw. */
const listKnown = ({ series }: Chart, { points }: SystemHistory): readonly Point[] =>
  points.filter((point) => series.some(({ field }) => point[field] !== null));

function OneChart({ chart, history }: { chart: Chart; history: SystemHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { short, long } = useChartTimes();
  const { series, measure, threshold } = chart;
  const { points } = history;
  const known = listKnown(chart, history);
  const limit = threshold?.at(history);
  const values = known.flatMap((point) => series.map(({ field }) => point[field] ?? 0));
  const peak = Math.max(0, ...values);
  const inColumn = measure?.like(format, values) ?? format.number;
  const show = (value: number | null): string => (value === null ? '–' : inColumn(value));
  const heading = t(chart.heading, { minutes: history.step_seconds / 60 });
  return (
    <ChartOrTable
      heading={heading}
      {...(chart.help === undefined ? {} : { intro: t(chart.help) })}
      chart={
        known.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('system.chart.none')}
          </Text>
        ) : (
          <TimeLines
            label={t('system.chart.label', { what: heading, most: show(peak) })}
            points={points.map((point) => ({
              at: short(point.at),
              ...Object.fromEntries(series.map(({ field }) => [field, point[field]])),
            }))}
            series={series.map(({ field, name, color }) => ({
              key: field,
              name: t(name),
              ...(color === undefined ? {} : { color }),
            }))}
            format={inColumn}
            {...(measure === undefined ? {} : { axis: measure.axis(format, Math.max(peak, 1.2 * (limit ?? 0))) })}
            {...(threshold === undefined || limit === undefined
              ? {}
              : { threshold: { at: limit, name: t(threshold.name, { limit: inColumn(limit) }) } })}
          />
        )
      }
      table={
        <PlainTable
          label={heading}
          rows={[...known].reverse()}
          rowKey={({ at }) => at}
          columns={[
            { key: 'at', heading: t('system.chart.time'), render: ({ at }) => long(at) },
            ...series.map(({ field, name }) => ({
              key: field,
              heading: t(name),
              numeric: true,
              render: (point: Point) => show(point[field]),
            })),
          ]}
        />
      }
    />
  );
}

/** Sizes of the backups; which failed is in the table. */
function BackupHistory({ history: { backups } }: { history: SystemHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { short, long } = useChartTimes();
  if (backups.length === 0) return null;
  const sizes = backups.map(({ at, done, bytes }) => ({ at: short(at), bytes: done ? bytes : null }));
  const size = format.bytesLike(backups.flatMap(({ done, bytes }) => (done ? [bytes] : [])));
  const took = format.durationLike(backups.map(({ seconds }) => seconds));
  const failed = backups.filter(({ done }) => !done).length;
  return (
    <ChartOrTable
      heading={t('system.chart.backups')}
      chart={
        <TimeLines
          label={t('system.chart.backups.label', { done: backups.length - failed, failed })}
          points={sizes}
          series={[{ key: 'bytes', name: t('system.backupSize') }]}
          format={size}
          axis={format.bytesAxis(Math.max(0, ...sizes.map((each) => each.bytes ?? 0)))}
        />
      }
      table={
        <PlainTable
          label={t('system.chart.backups')}
          rows={[...backups].reverse()}
          rowKey={({ at }) => at}
          columns={[
            { key: 'at', heading: t('system.backupBegan'), render: ({ at }) => long(at) },
            {
              key: 'state',
              heading: t('system.backupState'),
              render: ({ done }) => (
                <StatusLabel tone={done ? 'good' : 'bad'}>
                  {t(done ? 'system.backupState.done' : 'system.backupState.failed')}
                </StatusLabel>
              ),
            },
            {
              key: 'took',
              heading: t('system.chart.took'),
              numeric: true,
              render: ({ seconds }) => took(seconds),
            },
            {
              key: 'size',
              heading: t('system.backupSize'),
              numeric: true,
              render: ({ done, bytes }) => (done ? size(bytes) : '–'),
            },
          ]}
        />
      }
    />
  );
}
