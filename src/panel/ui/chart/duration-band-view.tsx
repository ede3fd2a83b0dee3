import { CompositeChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import type { Axis } from '../display/round-ticks.ts';
import type { ViewSize } from './chart-axis.ts';
import { axes, noVerticalLines, roomAfterBars, sides } from './chart-axis.ts';

/** A value between two gaps is a dot, or it would not be seen. */
const fewPoints = 60;

export function DurationBandView({ points, names, format, height, width, axis }: DurationBandProps & ViewSize) {
  const labels = points.map(({ at }) => at);
  const known = points.filter(({ median }) => median !== null).length;
  const formatValue = (value: number | readonly number[]): string =>
    typeof value === 'number' ? format(value) : value.map(format).join(' – ');
  return (
    <CompositeChart
      h={height}
      data={points.map(({ at, median, p95 }) => ({
        at,
        median,
        band: median === null || p95 === null ? null : [median, p95],
      }))}
      dataKey="at"
      series={[
        { name: 'band', label: names.band, color: 'var(--mantine-color-gray-5)', type: 'bar' },
        { name: 'median', label: names.median, color: 'var(--mantine-primary-color-filled)', type: 'line' },
      ]}
      withLegend
      legendProps={{ verticalAlign: 'bottom', itemSorter: null }}
      valueFormatter={(value) => formatValue(value as number | readonly number[])}
      curveType="linear"
      connectNulls={false}
      withDots={known <= fewPoints}
      dotProps={{ r: 2.5, strokeWidth: 1 }}
      strokeWidth={2}
      gridAxis="x"
      gridProps={noVerticalLines}
      tickLine="none"
      strokeDasharray="0"
      gridColor="var(--tg-line)"
      maxBarWidth={12}
      minBarSize={3}
      barProps={{ isAnimationActive: false }}
      lineProps={{ isAnimationActive: false }}
      composedChartProps={{ accessibilityLayer: false, margin: { top: 8, right: roomAfterBars(labels, width) } }}
      xAxisProps={axes.times(labels, width)}
      yAxisProps={axes.values(axis.ticks, axis.label, sides.left)}
    />
  );
}

export type DurationBandProps = {
  /** Describes the chart for screen readers. */
  label: string;
  /** In order; `at` is the axis label. Null leaves a gap. */
  points: readonly { at: string; median: number | null; p95: number | null }[];
  names: { median: string; band: string };
  format(value: number): string;
  axis: Axis;
};
