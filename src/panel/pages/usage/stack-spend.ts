import type { UsageReport } from '../../api/types.ts';
import { useIsPhone } from '../../ui/page/section.tsx';

/** Shares that a chart can tell apart; a report is asked for the points of as many. */
export const stackedShares = 5;

const colors = [
  'var(--mantine-primary-color-filled)',
  // Blue, but as quiet as the brand's green beside it.
  'color-mix(in srgb, var(--mantine-color-blue-6) 55%, var(--mantine-color-dimmed))',
  'var(--tg-chart-wait)',
  'var(--mantine-color-grape-5)',
  'var(--mantine-color-cyan-7)',
] as const;

type Share = UsageReport['shares'][number];
type SpendPart = {
  key: string;
  name: string;
  color: string;
  total: number;
  points: readonly number[];
  /** Undefined: all others together. */
  share?: Share;
};

/** The spend of each point by the first shares, and what is left for all others. */
export function stackSpend(
  { points, shares, totals }: Pick<UsageReport, 'points' | 'shares' | 'totals'>,
  { toName, others }: { toName(share: Share): string; others: string },
): SpendPart[] {
  const parts = shares.slice(0, stackedShares).flatMap((share, index): SpendPart[] =>
    share.points === undefined || share.spend === 0
      ? []
      : [
          {
            key: `part${index}`,
            name: toName(share),
            color: colors[index] ?? colors[0],
            total: share.spend,
            points: share.points.map(({ spend }) => spend),
            share,
          },
        ],
  );
  const rest = points.map(({ spend }, at) =>
    Math.max(0, spend - parts.reduce((sum, part) => sum + (part.points[at] ?? 0), 0)),
  );
  const total = Math.max(0, totals.spend - parts.reduce((sum, part) => sum + part.total, 0));
  if (total === 0) return parts;
  return [...parts, { key: 'others', name: others, color: 'var(--tg-quiet)', total, points: rest }];
}

type Sums = Pick<UsageReport['points'][number], 'succeeded' | 'failed' | 'spend'>;

/** Whether something happened. Spend below zero: only earlier charges were given back. */
export const isUsed = ({ succeeded, failed, spend }: Sums): boolean => succeeded > 0 || failed > 0 || spend !== 0;

/** Days that have room as bars on a phone. */
const mostBars = 45;
const week = 7;

/** The days of a chart: on a phone, more of them than have room are shown by week. */
export function useChartDays<Report extends Pick<UsageReport, 'points' | 'shares' | 'unit' | 'days_per_point'>>(
  report: Report,
): Report {
  const isPhone = useIsPhone();
  if (!isPhone || report.unit === 'hour' || report.points.length <= mostBars) return report;
  return {
    ...report,
    points: mergePoints(report.points, week),
    shares: report.shares.map((share) =>
      share.points ? { ...share, points: mergePoints(share.points, week) } : share,
    ),
    days_per_point: report.days_per_point * week,
  };
}

/** Adds up every `size` points, from the last one backwards: the first sum may be of fewer. */
export function mergePoints<Point extends Sums>(points: readonly Point[], size: number): Point[] {
  const merged: Point[] = [];
  for (const [index, point] of points.entries()) {
    const last = merged.at(-1);
    if (last === undefined || (points.length - index) % size === 0) merged.push({ ...point });
    else for (const field of ['succeeded', 'failed', 'spend'] as const) last[field] += point[field];
  }
  return merged;
}

/**
 * What a month comes to if it goes on as it began, and what each of its days then costs. Null
 * before its first day is over, and after its end. Times are Unix seconds.
 */
export function projectMonth(
  { from, until, spend }: { from: number; until: number; spend: number },
  now: number,
): { total: number; daily: number } | null {
  const passed = now - from;
  if (passed < 86_400 || now >= until || spend === 0) return null;
  return { total: Math.round((spend * (until - from)) / passed), daily: Math.round((spend * 86_400) / passed) };
}
