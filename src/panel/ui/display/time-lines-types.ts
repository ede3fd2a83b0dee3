import type { Axis } from './chart-axis.ts';

/** `key` selects the numbers, `name` is shown in the tooltip; the default colour is the brand's. */
type LineSeries = { key: string; name: string; color?: string };

export type TimeLinesProps = {
  /** Describes the chart for screen readers. */
  label: string;
  /** In order; `at` is the axis label. Null leaves a gap. */
  points: readonly Readonly<Record<string, string | number | null>>[];
  series: readonly LineSeries[];
  format(value: number): string;
  /** Other than whole numbers, written by `format`. */
  axis?: Axis;
};
