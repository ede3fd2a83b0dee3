import { LineChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import { type Axis, roundTicks } from '../display/round-ticks.ts';
import type { ViewSize } from './chart-axis.ts';
import { axes, lineEnd, noVerticalLines } from './chart-axis.ts';

/** A value between two gaps is a dot, or it would not be seen. */
const fewPoints = 60;

const brand = 'var(--mantine-primary-color-filled)';

export function TimeLinesView({ points, series, format, height, width, axis, threshold }: TimeLinesProps & ViewSize) {
  const known = points.filter((point) => series.some(({ key }) => point[key] !== null)).length;
  const peak = Math.max(0, ...points.flatMap((point) => series.map(({ key }) => Number(point[key] ?? 0))));
  const ticks = axis?.ticks ?? roundTicks(peak, { whole: true }).ticks;
  return (
    <LineChart
      referenceLines={
        threshold
          ? [
              {
                y: threshold.at,
                label: threshold.name,
                labelPosition: 'insideTopRight',
                color: 'var(--mantine-color-error)',
              },
            ]
          : []
      }
      h={height}
      data={[...points]}
      dataKey="at"
      series={series.map(({ key, name, color = brand }) => ({ name: key, label: name, color }))}
      valueFormatter={format}
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
      lineProps={{ isAnimationActive: false }}
      lineChartProps={{ accessibilityLayer: false, margin: { top: 8, right: lineEnd } }}
      xAxisProps={axes.timesOfLines(
        points.map(({ at }) => String(at)),
        width,
      )}
      yAxisProps={axes.values(ticks, axis?.label ?? format)}
    />
  );
}

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
  /** A line across the chart, from which on a value needs attention. */
  threshold?: { at: number; name: string };
};
