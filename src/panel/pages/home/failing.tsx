import { Anchor, SegmentedControl } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { FailureReason, UsageReport, UsageStats } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { Share } from '../../ui/display/figures.tsx';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useSeen } from '../../ui/display/use-seen.ts';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import { readPeriod } from '../tasks/use-task-query.ts';
import { localZone, readDates } from '../usage/usage-period.ts';
import classes from './failing.module.css';
import type { UsageOfModel } from './home-figures.tsx';

const shown = 5;

/** Fewer failures of one's own say nothing about a model. */
const minOwnFailures = 3;

type Failing = {
  key: string;
  name: string;
  to: string;
  /** What finds its failed tasks. */
  tasks: Readonly<Record<string, string | number | null>>;
  succeeded: number;
  failed: number;
};

/** The question of the channels. */
export const failingChannelsPath = (days: string, only: UsageOfModel): string =>
  withQuery('/api/usage', {
    ...{ scope: 'all', by: 'channel', ...only, zone: localZone() },
    ...readDates(`${days}d` as '7d', new Date()),
  });

type FailuresProps = {
  figures: UsageStats;
  /** Counts everybody's tasks, and shows failures by channel too. */
  all: boolean;
  days: string;
  only: UsageOfModel;
  isNarrow: boolean;
};

/**
 * The models whose tasks failed most often, each leading to those tasks; and for administrators the
 * channels.
 */
export function Failures({ figures, all, days, only, isNarrow }: FailuresProps) {
  const { t } = useTranslation();
  const [by, setBy] = useState('model');
  const { data } = useApiQuery<UsageReport>(failingChannelsPath(days, only), { enabled: all });
  const question = { scope: all ? 'all' : null, status: 'FAILURE', period: `${days}d` };
  const models = figures.failures.map(({ plugin_key: platform, model, succeeded, failed }) => ({
    ...{ key: `${platform}/${model}`, name: model, to: withQuery('/tasks', { ...question, model, platform }) },
    ...{ tasks: { model, platform }, succeeded, failed },
  }));
  const channels = (data?.shares ?? [])
    .filter(({ id, failed }) => id > 0 && failed > 0)
    .sort((one, other) => other.failed - one.failed)
    .map(({ id, name, succeeded, failed }) => ({
      ...{ key: String(id), name: name ?? t('tasks.channelNumber', { id }), to: `/channels/${id}` },
      ...{ tasks: { channel: id }, succeeded, failed },
    }));
  const least = all ? 1 : minOwnFailures;
  if (models.reduce((sum, { failed }) => sum + failed, 0) < least) return null;
  const isByChannel = by === 'channel' && channels.length > 0;
  return (
    <Section
      heading={t('home.failing')}
      actions={
        channels.length > 0 && (
          <SegmentedControl
            size="xs"
            aria-label={t('home.failing')}
            value={by}
            onChange={setBy}
            data={[
              { value: 'model', label: t('nav.models') },
              { value: 'channel', label: t('nav.channels') },
            ]}
          />
        )
      }
    >
      <FailingTable
        of={isByChannel ? t('tasks.channel') : t('home.slowest.model')}
        rows={isByChannel ? channels : models}
        question={question}
        isNarrow={isNarrow}
      />
    </Section>
  );
}

type FailingTableProps = {
  of: string;
  rows: readonly Failing[];
  /** The filter of the list of tasks that all rows share. */
  question: { scope: string | null; status: string; period: string };
  isNarrow: boolean;
};

function FailingTable({ of, rows, question, isNarrow }: FailingTableProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const [box, isSeen] = useSeen<HTMLDivElement>();
  const count = ({ succeeded, failed }: Failing): string =>
    t('home.failing.of', { failed: format.number(failed), ended: format.number(succeeded + failed) });
  return (
    <div ref={box}>
      <PlainTable
        label={t('home.failing')}
        isNarrow={isNarrow}
        rows={rows.slice(0, shown)}
        rowKey={({ key }) => key}
        columns={[
          {
            key: 'name',
            heading: of,
            render: ({ name, to }) => (
              <Anchor component={Link} to={to} inherit>
                {name}
              </Anchor>
            ),
          },
          {
            key: 'reason',
            heading: t('home.failing.reason'),
            wide: true,
            render: ({ tasks }) => <CommonReason {...{ tasks, question, isSeen }} isLinked />,
          },
          { key: 'failed', heading: t('usage.failed'), numeric: true, render: count },
          {
            key: 'share',
            heading: t('home.failing.share'),
            numeric: true,
            render: ({ succeeded, failed }) => <Share part={failed} of={succeeded + failed} isBad />,
          },
        ]}
        brief={(row) => (
          <RowBrief
            name={row.name}
            to={row.to}
            figure={t('home.failing.brief', { share: format.percent(row.failed / (row.succeeded + row.failed)) })}
            state={
              <BriefText>
                <CommonReason tasks={row.tasks} {...{ question, isSeen }} isBrief />
              </BriefText>
            }
            facts={[count(row)]}
          />
        )}
      />
    </div>
  );
}

type CommonReasonProps = Pick<FailingTableProps, 'question'> & {
  tasks: Failing['tasks'];
  /** Reasons are read once the table is looked at. */
  isSeen: boolean;
  /** Leads to the tasks that failed for it. */
  isLinked?: boolean;
  /** Leaves no room behind the words: how many failed for it comes first. */
  isBrief?: boolean;
};

/** Why tasks failed most often. */
function CommonReason({ tasks, question, isSeen, isLinked = false, isBrief = false }: CommonReasonProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { period } = question;
  const { since } = useMemo(() => readPeriod({ period, from: '', to: '' }, new Date()), [period]);
  const { channel = null, ...others } = tasks;
  const filter = { ...others, channel_id: channel, scope: question.scope, since };
  const { data } = useApiQuery<FailureReason[]>(withQuery('/api/task/failures', filter), {
    enabled: isSeen,
    keepPrevious: false,
  });
  const [most, ...rest] = data ?? [];
  if (most === undefined) return null;
  const words =
    most.reason === '' ? t('task.fail.noReason') : <VendorWords text={most.reason} sentence={most.reason_sentence} />;
  const all = rest.reduce((sum, { count }) => sum + count, most.count);
  return (
    <>
      {isBrief && rest.length > 0 && `${format.number(most.count)} × `}
      {isLinked && most.reason !== '' ? (
        <Anchor component={Link} to={withQuery('/tasks', { ...question, ...tasks, reason: most.reason })} inherit>
          {words}
        </Anchor>
      ) : (
        words
      )}
      {!isBrief &&
        rest.length > 0 &&
        ` (${t('home.failing.of', { failed: format.number(most.count), ended: format.number(all) })})`}
    </>
  );
}

/** The strip shows this many hours, up to the current one. They lie in this many days. */
const stripHours = 48;
const stripDays = 3;
/** Channels of the strip. */
const strips = 8;

/** The question of the strips. */
export function channelHeatPath(): string {
  const today = readDates('today', new Date()).to;
  const from = isoDaysBefore(today, stripDays - 1);
  return withQuery('/api/usage', { scope: 'all', by: 'channel', series: strips, from, to: today, zone: localZone() });
}

/** How often tasks of each channel succeeded in each hour of the last days, as shades. */
export function ChannelHeat() {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<UsageReport>(channelHeatPath(), { refreshMs: 300_000 });
  const channels = data?.shares.filter(({ points, id }) => points !== undefined && id > 0) ?? [];
  if (data === undefined || channels.length === 0) return null;
  // The report has whole days: the strip leaves out the hours to come and the oldest ones.
  const end = data.points.findLastIndex(({ at }) => at <= Date.now() / 1000) + 1;
  const toStrip = <Item,>(points: readonly Item[]): Item[] => points.slice(Math.max(0, end - stripHours), end);
  const hours = toStrip(data.points);
  const hour = new Intl.DateTimeFormat(i18n.language, { weekday: 'short', hour: 'numeric', timeZone: data.zone });
  return (
    <Section heading={t('home.heat')} intro={t('home.heat.intro')}>
      <ul className={classes.heat}>
        {channels.map(({ id, name, points = [] }) => (
          <li key={id}>
            <Anchor component={Link} to={`/channels/${id}`} className={classes.channel}>
              {name ?? t('tasks.channelNumber', { id })}
            </Anchor>
            <span className={classes.hours} aria-hidden="true">
              {toStrip(points).map((point, index) => (
                <span
                  key={hours[index]?.at ?? index}
                  className={classes.hour}
                  data-level={heatLevel(point)}
                  title={
                    point.succeeded + point.failed === 0
                      ? undefined
                      : `${hour.format((hours[index]?.at ?? 0) * 1000)} · ${t('home.successOf', {
                          succeeded: format.number(point.succeeded),
                          ended: format.number(point.succeeded + point.failed),
                        })}`
                  }
                />
              ))}
            </span>
            <StripRate points={toStrip(points)} />
          </li>
        ))}
        <li aria-hidden="true">
          <span className={classes.clock}>
            {hours.map(
              ({ at }, index) => index % labelledHours === 0 && <span key={at}>{hour.format(at * 1000)}</span>,
            )}
          </span>
        </li>
      </ul>
      <ul className={classes.legend}>
        {legend.map(([level, text, share]) => (
          <li key={level}>
            <span className={classes.hour} data-level={level} />
            {t(text, { share: format.percent(share) })}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The share of a whole strip; empty where none ended. */
function StripRate({ points }: { points: readonly { succeeded: number; failed: number }[] }) {
  const format = useFormat();
  const succeeded = points.reduce((sum, point) => sum + point.succeeded, 0);
  const ended = points.reduce((sum, point) => sum + point.failed, succeeded);
  return <span className={classes.rate}>{ended > 0 && format.percent(succeeded / ended)}</span>;
}

/** Hours from one label to the next. */
const labelledHours = 12;

/** What the shades mean. */
const legend = [
  ['good', 'home.heat.over', 0.99],
  ['fair', 'home.heat.over', 0.9],
  ['poor', 'home.heat.over', 0.5],
  ['bad', 'home.heat.under', 0.5],
  ['none', 'home.heat.none', 0],
] as const;

/** Steps of the shades: the share of tasks that succeeded. Empty: none ended. */
function heatLevel({ succeeded, failed }: { succeeded: number; failed: number }): string {
  if (succeeded + failed === 0) return 'none';
  const rate = succeeded / (succeeded + failed);
  if (rate >= 0.99) return 'good';
  if (rate >= 0.9) return 'fair';
  return rate >= 0.5 ? 'poor' : 'bad';
}

const isoDaysBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T12:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10);
