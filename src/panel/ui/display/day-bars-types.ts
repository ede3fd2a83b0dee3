/** `key` of its numbers, `name` in the tooltip; the brand's colour unless said. */
export type DaySeries = { key: string; name: string; color?: string };

export type DayBarsProps = {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** In the order of the days: `day` as it is written at the axis, and a number for each series. */
  days: readonly Readonly<Record<string, string | number>>[];
  /** Stacked, the first at the bottom. */
  series: readonly DaySeries[];
  format(value: number): string;
};
