import { Anchor, Group, SegmentedControl, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { Channel, ChannelHistory } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { useChartTimes } from '../../ui/chart/chart-axis.ts';
import { ChartOrTable, DayBars, DurationBand } from '../../ui/chart/charts.tsx';
import { Figures, Share } from '../../ui/display/figures.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { ChannelRests } from './channel-rests.tsx';
import classes from './channels.module.css';

const filterNames = ['hours'] as const;

type Point = ChannelHistory['points'][number];
type Failure = ChannelHistory['failures'][number];

const readHours = (hours: string): string => (hours === '168' ? hours : '24');

/** The question of the charts of a channel, as the address says. */
export const useHistoryPath = (channelId: number | string): string =>
  `/api/channel/${channelId}/history?hours=${readHours(useFilters(filterNames).values.hours)}`;

/** The reader's time zone, as "GMT+1" or "EST". */
const formatZone = (language: string): string =>
  new Intl.DateTimeFormat(language, { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName')?.value ?? '';

/** Successes, durations and reasons of failures over the last day or week, and pauses. */
export function ChannelCharts({ channel }: { channel: Channel }) {
  const { t, i18n } = useTranslation();
  const { values, set } = useFilters(filterNames);
  const hours = readHours(values.hours);
  const history = useApiQuery<ChannelHistory>(useHistoryPath(channel.id), { refreshMs: 60_000 });
  return (
    <>
      <Group gap="md">
        <SegmentedControl
          aria-label={t('chart.period')}
          value={hours}
          onChange={(next) => set('hours', next === '24' ? '' : next)}
          data={[
            { value: '24', label: t('chart.hours24') },
            { value: '168', label: t('chart.days7') },
          ]}
        />
        <Text size="sm" c="dimmed">
          {t('channels.zone', { zone: formatZone(i18n.language) })}
        </Text>
      </Group>
      <QueryResult query={history}>
        {(read) => (
          <>
            <Totals history={read} />
            <div className={classes.charts}>
              <Successes history={read} />
              <Durations history={read} />
            </div>
            <Failures history={read} />
            <ChannelRests channel={channel} rests={read.rests} />
          </>
        )}
      </QueryResult>
    </>
  );
}

/** Durations of the whole period and of its hours, all with the same decimals. */
function useDurations({ points, totals }: ChannelHistory) {
  const format = useFormat();
  const known = points.flatMap(({ p50_seconds, p95_seconds }) => [p50_seconds ?? 0, p95_seconds ?? 0]);
  const inColumn = format.durationLike([totals.p50_seconds ?? 0, totals.p95_seconds ?? 0, ...known]);
  return { inColumn, axis: format.durationAxis(Math.max(0, ...known)) };
}

function Totals({ history }: { history: ChannelHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { totals } = history;
  const { inColumn } = useDurations(history);
  const duration = (seconds: number | null): string => (seconds === null ? '–' : inColumn(seconds));
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
        },
        {
          label: t('channels.ended'),
          value: format.number(totals.succeeded + totals.failed),
          note:
            totals.failed > 0 &&
            t('channels.health.count', { good: format.number(totals.succeeded), bad: format.number(totals.failed) }),
        },
        { label: t('channels.duration.median'), value: duration(totals.p50_seconds) },
        { label: t('channels.duration.p95'), value: duration(totals.p95_seconds) },
      ]}
    />
  );
}

const ended = ({ succeeded, failed }: Point): boolean => succeeded + failed > 0;

function Successes({ history: { points, totals } }: { history: ChannelHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { short, long } = useChartTimes();
  const counts = { succeeded: format.number(totals.succeeded), failed: format.number(totals.failed) };
  return (
    <ChartOrTable
      heading={t('channels.byHour')}
      chart={
        <DayBars
          label={t('channels.byHour.label', counts)}
          days={points.map(({ at, succeeded, failed }) => ({ day: short(at), succeeded, failed }))}
          series={[
            { key: 'succeeded', name: t('task.status.SUCCESS') },
            { key: 'failed', name: t('task.status.FAILURE'), color: 'var(--mantine-color-error)' },
          ]}
          format={format.number}
          isBesideDurations
        />
      }
      table={
        <PlainTable
          label={t('channels.byHour')}
          rows={points.filter(ended).reverse()}
          rowKey={({ at }) => at}
          columns={[
            { key: 'at', heading: t('usage.hour'), render: ({ at }) => long(at) },
            {
              key: 'ok',
              heading: t('task.status.SUCCESS'),
              numeric: true,
              render: (row) => format.number(row.succeeded),
            },
            {
              key: 'bad',
              heading: t('task.status.FAILURE'),
              numeric: true,
              render: (row) => format.number(row.failed),
            },
            {
              key: 'rate',
              heading: t('home.success'),
              numeric: true,
              render: ({ success_rate: rate }) => (rate === null ? '–' : format.percentInColumn(rate)),
            },
          ]}
        />
      }
    />
  );
}

/** With fewer tasks in an hour the median says all. */
const tasksOfBand = 5;

function Durations({ history }: { history: ChannelHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { short, long } = useChartTimes();
  const { points } = history;
  const { inColumn, axis } = useDurations(history);
  const duration = (seconds: number | null): string => (seconds === null ? '–' : inColumn(seconds));
  return (
    <ChartOrTable
      heading={t('channels.durations')}
      chart={
        <DurationBand
          label={t('channels.durations.label')}
          points={points.map(({ at, succeeded, p50_seconds: median, p95_seconds: p95 }) => ({
            at: short(at),
            median,
            p95: succeeded < tasksOfBand ? null : p95,
          }))}
          names={{
            median: t('home.slowest.usual'),
            band: t('channels.durations.band', { number: format.number(tasksOfBand) }),
          }}
          format={inColumn}
          axis={axis}
        />
      }
      table={
        <PlainTable
          label={t('channels.durations')}
          rows={points.filter(({ p50_seconds }) => p50_seconds !== null).reverse()}
          rowKey={({ at }) => at}
          columns={[
            { key: 'at', heading: t('usage.hour'), render: ({ at }) => long(at) },
            { key: 'p50', heading: t('home.slowest.usual'), numeric: true, render: (row) => duration(row.p50_seconds) },
            { key: 'p95', heading: t('home.slowest.long'), numeric: true, render: (row) => duration(row.p95_seconds) },
          ]}
        />
      }
    />
  );
}

function Failures({ history: { failures, has_more_failures: hasMore } }: { history: ChannelHistory }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (failures.length === 0) return null;
  const all = failures.reduce((sum, { tasks }) => sum + tasks, 0);
  const columns: readonly Column<Failure>[] = [
    {
      key: 'reason',
      heading: t('channels.reason'),
      wide: true,
      render: ({ reason, reason_sentence: sentence }) => (
        <span className={classes.reason}>
          {reason === '' ? t('channels.noReason') : <ServerText text={reason} sentence={sentence} />}
        </span>
      ),
    },
    { key: 'tasks', heading: t('home.slowest.tasks'), numeric: true, render: ({ tasks }) => format.number(tasks) },
    {
      key: 'share',
      heading: t('usage.share'),
      numeric: true,
      render: ({ tasks }) => <Share part={tasks} of={all} isBad />,
    },
    {
      key: 'last',
      heading: t('channels.lastTime'),
      numeric: true,
      render: ({ last_at: at, last_task: task }) => (
        <Anchor component={Link} to={`/tasks/${encodeURIComponent(task)}`} inherit>
          {format.ago(at)}
        </Anchor>
      ),
    },
  ];
  return (
    <Section heading={t('channels.failures')}>
      <PlainTable
        label={t('channels.failures')}
        rows={failures}
        rowKey={({ reason }) => reason}
        columns={columns}
        brief={({ reason, reason_sentence: sentence, tasks, last_at: at, last_task: task }) => (
          <RowBrief
            name={translateOrQuote({ ...sentence, message: reason }, t) || t('channels.noReason')}
            to={`/tasks/${encodeURIComponent(task)}`}
            figure={format.number(tasks)}
            facts={[format.percent(tasks / all), format.ago(at)]}
            wraps
            wrapsName
          />
        )}
      />
      {hasMore && (
        <Text size="sm" c="dimmed">
          {t('channels.moreFailures')}
        </Text>
      )}
    </Section>
  );
}
