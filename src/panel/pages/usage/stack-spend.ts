import type { UsageReport } from '../../api/types.ts';

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
