import { Anchor, Button, Group, Input, SegmentedControl, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { KeptStorage, UsageReport as Report, User } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery, useReadAhead, withQuery } from '../../session/use-api.ts';
import { formatHours } from '../../ui/chart/chart-axis.ts';
import { ChartOrTable } from '../../ui/chart/charts.tsx';
import { PartBars } from '../../ui/chart/part-bars.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { type Figure, Figures, Share as SharePart } from '../../ui/display/figures.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { LimitSpent } from '../../ui/form/spending-limit.tsx';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { balanceAlertPath, LowBalanceNote } from '../notifications/low-balance-note.tsx';
import { BillList } from './bill-list.tsx';
import { Change, PointsChange } from './period-change.tsx';
import { isUsed, projectMonth, stackSpend, useChartDays } from './stack-spend.ts';
import classes from './usage.module.css';
import { countDays, localZone } from './usage-period.ts';
import type { Dimension, UsageFilterName, UsageFilters } from './use-usage-filters.ts';

/** What the filters ask for: totals, over time, by what, and bill by bill. */
export function UsageReport({ filters }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  const report = useApiQuery<Report>(filters.path);
  const isOwn = filters.scope === 'own';
  const self = useApiQuery<User>('/api/user/self', { enabled: isOwn });
  const storage = useApiQuery<KeptStorage>('/api/user/self/storage', { enabled: isOwn });
  useReadAhead(isOwn && balanceAlertPath, filters.pathBefore ?? false);
  return (
    <QueryResult query={report}>
      {(read) => (
        <>
          <UsageTotals report={read} balance={isOwn ? self.data?.quota : undefined} filters={filters} />
          {isOwn && self.data?.budget && (
            <Input.Wrapper label={t('limit.label')} labelElement="div" mb={24}>
              <LimitSpent budget={self.data.budget} />
            </Input.Wrapper>
          )}
          {isOwn && storage.data && <KeptFiles storage={storage.data} />}
          {read.shares.length === 0 ? (
            <NoUsage filters={filters} />
          ) : (
            <>
              <UsageOverTime report={read} filters={filters} />
              <UsageShares report={read} filters={filters} />
              <BillList report={read} filters={filters} />
            </>
          )}
        </>
      )}
    </QueryResult>
  );
}

/** Nothing was spent: in a short period there may be more before it. */
function NoUsage({ filters: { period, scope, path, setAll } }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const everyones = useApiQuery<Report>(`${path}&scope=all`, { enabled: isAdmin && scope === 'own' });
  const isShort = period === 'today' || period === '7d';
  return (
    <EmptyState
      heading={t('usage.empty.heading')}
      text={t('usage.empty.text')}
      action={
        <Group gap="sm" justify="center">
          {everyones.data !== undefined && everyones.data.shares.length > 0 && (
            <Button onClick={() => setAll({ scope: 'all', by: '' })}>{t('usage.showEveryones')}</Button>
          )}
          {isShort && (
            <Button variant="default" onClick={() => setAll({ period: '30d', from: '', to: '' })}>
              {t('usage.empty.longer')}
            </Button>
          )}
          <Button component={Link} to="/playground" variant="default">
            {t('tasks.emptyAction')}
          </Button>
        </Group>
      }
    />
  );
}

type UsageTotalsProps = {
  report: Report;
  /** The balance of the account whose usage it is. */
  balance?: number | undefined;
  filters: UsageFilters;
};

function UsageTotals({ report: { totals }, balance, filters }: UsageTotalsProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { pathBefore, dates, values, scope, userId } = filters;
  const { data } = useApiQuery<Report>(pathBefore ?? '', { enabled: pathBefore !== null, keepPrevious: false });
  const before = data?.totals;
  const days = countDays(dates);
  const failed = {
    ...{ scope: scope === 'own' ? null : 'all', status: 'FAILURE', user: userId, ...dates },
    // Tasks without a key have no filter of their own there.
    ...{ platform: values.plugin, model: values.model, channel: values.channel },
    key: values.key === '0' ? null : values.key,
  };
  const last: Figure =
    balance === undefined
      ? {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
          note: <PointsChange now={totals.success_rate} before={before?.success_rate} days={days} />,
        }
      : { label: t('home.balance'), value: format.money(balance), note: balance > 0 && <LowBalanceNote /> };
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        {
          label: t('usage.spent'),
          value: format.money(totals.spend),
          note: before && <Change now={totals.spend} before={before.spend} days={days} />,
        },
        {
          label: t('usage.finished'),
          value: format.number(totals.succeeded),
          note: before && <Change now={totals.succeeded} before={before.succeeded} days={days} />,
        },
        {
          label: t('usage.failed'),
          value: format.number(totals.failed),
          note: totals.failed > 0 && (
            <Anchor component={Link} to={withQuery('/tasks', failed)} size="sm">
              {t('home.runningShow')}
            </Anchor>
          ),
        },
        last,
      ]}
    />
  );
}

/** A GB of the quota has 10^9 bytes, so those of the files are counted alike. */
function KeptFiles({ storage: { is_offered: isOffered, files, bytes, quota_bytes: quota } }: { storage: KeptStorage }) {
  const { t, i18n } = useTranslation();
  if (!isOffered && files === 0) return null;
  const number = new Intl.NumberFormat(i18n.language, { maximumSignificantDigits: 3 });
  const gb = (count: number): string => `${number.format(count / 1e9)} GB`;
  return (
    <Text size="sm" c="dimmed">
      {quota === null ? t('usage.kept', { used: gb(bytes) }) : t('usage.keptOf', { used: gb(bytes), quota: gb(quota) })}
    </Text>
  );
}

/** Spend over time by its first shares, as a chart or a table; of this month also what is ahead. */
function UsageOverTime({ report, filters: { by, period } }: { report: Report; filters: UsageFilters }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { totals, unit, zone } = report;
  const chart = useChartDays(report);
  const { points, days_per_point: days } = chart;
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
  const used = report.points.filter(isUsed);
  const money = format.moneyLike(used.map(({ spend }) => spend));
  const peak = Math.max(0, ...points.map(({ spend }) => spend));
  const heading = t(isByHour ? 'usage.byHour' : 'usage.byDay');
  const toName = useShareName(by);
  const parts = stackSpend(chart, { toName, others: t('usage.otherShares') });
  const end = monthEnd(report.from);
  const projected =
    period === 'month' && !isByHour
      ? projectMonth({ from: report.from, until: end, spend: totals.spend }, Date.now() / 1000)
      : null;
  const coming = projected === null ? [] : daysBetween(report.until, end);
  const [firstPoint, lastDay] = [points[0], coming.at(-1)];
  const line = projected !== null &&
    firstPoint !== undefined &&
    lastDay !== undefined && {
      ...{ from: short(at(firstPoint.at)), to: short(at(lastDay)), value: projected.daily },
      label: `${t('usage.expected')}: ${format.money(projected.total - totals.spend)}`,
    };
  return (
    <ChartOrTable
      heading={heading}
      intro={
        <>
          {t(zone === localZone() ? 'usage.zone' : 'usage.zoneUtc', { zone: zone.replaceAll('_', ' ') })}
          {days > 1 && ` ${t('usage.daysPerPoint', { count: days })}`}
          {projected !== null && ` ${t('usage.projected', { total: format.money(projected.total) })}`}
        </>
      }
      chart={
        <PartBars
          label={t('usage.overTime.label', { total: format.money(totals.spend), most: format.money(peak) })}
          parts={parts.map((part) => ({ ...part, total: format.money(part.total) }))}
          days={[
            ...points.map((point, index) => ({
              day: short(at(point.at)),
              ...Object.fromEntries(parts.map((part) => [part.key, part.points[index] ?? 0])),
            })),
            ...coming.map((day) => ({ day: short(at(day)) })),
          ]}
          {...(line === false ? {} : { line })}
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

/** The first second of the month after the one that began at `from`, in the reader's calendar. */
function monthEnd(from: number): number {
  const start = new Date(from * 1000);
  return new Date(start.getFullYear(), start.getMonth() + 1, 1).getTime() / 1000;
}

function daysBetween(from: number, until: number): number[] {
  const days: number[] = [];
  for (let day = from; day < until; day += 86_400) days.push(day);
  return days;
}

type Share = Report['shares'][number];
type Narrow = Partial<Record<UsageFilterName, string>>;

/** Shows how the spend divides among users, models and so on; a row narrows the page to itself. */
function UsageShares({ report, filters }: { report: Report; filters: UsageFilters }) {
  const { t } = useTranslation();
  const { by, choices, set, setAll } = filters;
  return (
    <Section
      heading={t(`usage.by.${by}`)}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('usage.breakdown')}
          value={by}
          onChange={(next) => set('by', next)}
          data={choices.map((name) => ({ value: name, label: t(`usage.dimension.${name}`) }))}
        />
      }
    >
      <ShareTable report={report} by={by} onNarrow={(narrow) => setAll({ ...narrow, by: '' })} />
    </Section>
  );
}

type ShareTableProps = {
  report: Report;
  by: Dimension;
  /** Without it the rows lead nowhere. */
  onNarrow?(narrow: Narrow): void;
};

function ShareTable({ report: { shares, others, totals }, by, onNarrow }: ShareTableProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const toName = useShareName(by);
  const money = format.moneyLike([...shares.map(({ spend }) => spend), others.spend]);
  const part = (spend: number): string => format.percentInColumn(totals.spend === 0 ? 0 : spend / totals.spend);
  const columns: readonly Column<Share>[] = [
    {
      key: 'name',
      heading: t(`usage.dimension.${by}`),
      render: (share) => {
        const narrow = narrowTo(by, share);
        if (narrow === null || onNarrow === undefined) return <span className={classes.name}>{toName(share)}</span>;
        return (
          <Anchor component="button" type="button" inherit className={classes.name} onClick={() => onNarrow(narrow)}>
            {toName(share)}
          </Anchor>
        );
      },
    },
    { key: 'ok', heading: t('usage.finished'), numeric: true, render: (row) => format.number(row.succeeded) },
    { key: 'bad', heading: t('usage.failed'), numeric: true, render: (row) => format.number(row.failed) },
    { key: 'spend', heading: t('usage.spent'), numeric: true, render: ({ spend }) => money(spend) },
    {
      key: 'share',
      heading: t('usage.share'),
      numeric: true,
      render: ({ spend }) => <SharePart part={spend} of={totals.spend} />,
    },
  ];
  return (
    <>
      <PlainTable
        label={t(`usage.by.${by}`)}
        rows={shares}
        rowKey={({ id, plugin_key, model }) => `${id}/${plugin_key}/${model}`}
        columns={columns}
        brief={(share) => {
          const narrow = narrowTo(by, share);
          return (
            <RowBrief
              name={toName(share)}
              figure={money(share.spend)}
              facts={[
                part(share.spend),
                t('usage.countSucceeded', { succeeded: format.number(share.succeeded) }),
                share.failed > 0 ? t('usage.countFailed', { failed: format.number(share.failed) }) : '',
              ]}
              {...(narrow && onNarrow ? { onPress: () => onNarrow(narrow) } : {})}
            />
          );
        }}
      />
      {others.shares > 0 && (
        <Text size="sm" c="dimmed">
          {t('usage.others', { count: others.shares, spend: money(others.spend), share: part(others.spend) })}
        </Text>
      )}
    </>
  );
}

function useShareName(by: Dimension): (share: Share) => string {
  const { t } = useTranslation();
  return ({ id, name, model }) => {
    if (by === 'model') return model;
    if (id === -1) return t('usage.unknown');
    if (by === 'key' && id === 0) return t('usage.noKey');
    return name ?? t('usage.deleted', { id });
  };
}

function narrowTo(by: Dimension, { id, plugin_key: plugin, model }: Share): Narrow | null {
  if (by === 'model') return { plugin, model };
  if (id === -1) return null;
  if (by === 'user') return { user: String(id), scope: '' };
  return by === 'key' ? { key: String(id) } : { channel: String(id) };
}
