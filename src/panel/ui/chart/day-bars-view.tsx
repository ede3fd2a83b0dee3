import { BarChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import { type Axis, roundTicks } from '../display/round-ticks.ts';
import type { ViewSize } from './chart-axis.ts';
import { axes, noVerticalLines, roomAfterBars, sides } from './chart-axis.ts';

const brand = 'var(--mantine-primary-color-filled)';

export function DayBarsView({
  days,
  series,
  format,
  height,
  width,
  axis,
  line,
  isBesideDurations = false,
  legend = series.length > 1,
}: DayBarsProps & ViewSize) {
  const addUp = (day: DayBarsProps['days'][number]): number =>
    series.reduce((sum, { key }) => sum + Number(day[key] ?? 0), 0);
  const ticks = axis?.ticks ?? roundTicks(Math.max(0, ...days.map(addUp)), { whole: true }).ticks;
  const labels = days.map(({ day }) => String(day));
  return (
    <BarChart
      h={height}
      data={[...days]}
      dataKey="day"
      type="stacked"
      series={series.map(({ key, name, color = brand }) => ({ name: key, label: name, color }))}
      withLegend={legend}
      legendProps={{ verticalAlign: 'bottom', itemSorter: null }}
      valueFormatter={format}
      {...(line === undefined ? {} : { referenceLines: [toReferenceLine(line)] })}
      gridAxis="x"
      gridProps={noVerticalLines}
      tickLine="none"
      strokeDasharray="0"
      gridColor="var(--tg-line)"
      barProps={{
        ...{ radius: series.length > 1 ? 0 : [3, 3, 0, 0], maxBarSize: 28, isAnimationActive: false },
        // A line of the card's colour parts those that stand on each other.
        ...(series.length > 1 ? { stroke: 'var(--tg-surface)', strokeWidth: 1 } : {}),
      }}
      barChartProps={{ accessibilityLayer: false, margin: { top: 8, right: roomAfterBars(labels, width) } }}
      xAxisProps={axes.times(labels, width)}
      yAxisProps={axes.values(ticks, axis?.label ?? format, isBesideDurations ? sides.left : undefined)}
    />
  );
}

const toReferenceLine = ({ from, to, value }: NonNullable<DayBarsProps['line']>) => ({
  segment: [
    { x: from, y: value },
    { x: to, y: value },
  ] as const,
  ...{ color: 'var(--mantine-color-text)', strokeDasharray: '5 4', strokeWidth: 1.5 },
});

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
  /** A dashed line at the height of `value` from one day to another, named below the chart. */
  line?: { from: string; to: string; value: number; label: string };
  /** Its plot is as wide as that of a `DurationBand`. */
  isBesideDurations?: boolean;
  /** False where the parts are named beside the chart. Default: where there are several. */
  legend?: boolean;
};
