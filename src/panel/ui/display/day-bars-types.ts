import type { Axis } from './chart-axis.ts';

/** `key` selects the numbers, `name` is shown in the tooltip; the default colour is the brand's. */
export type DaySeries = { key: string; name: string; color?: string };

export type DayBarsProps = {
  /** Describes the chart for screen readers. */
  label: string;
  /** In order; `day` is the axis label, and each series has a number under its key. */
  days: readonly Readonly<Record<string, string | number>>[];
  /** Stacked, the first one at the bottom. */
  series: readonly DaySeries[];
  format(value: number): string;
  /** Other than whole numbers, written by `format`. */
  axis?: Axis;
};
