import { BarChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import type { DayBarsProps } from './day-bars.tsx';

export function DayBarsView({ days, name, format, height }: DayBarsProps & { height: number }) {
  return (
    <BarChart
      h={height}
      data={days.map(({ day, value }) => ({ day, value }))}
      dataKey="day"
      series={[{ name: 'value', label: name, color: 'var(--mantine-primary-color-filled)' }]}
      valueFormatter={format}
      gridAxis="y"
      tickLine="none"
      strokeDasharray="0"
      gridColor="var(--tg-line)"
      barProps={{ radius: [3, 3, 0, 0], maxBarSize: 28, isAnimationActive: false }}
      barChartProps={{ accessibilityLayer: false }}
      xAxisProps={{ minTickGap: 24, interval: 'preserveStartEnd' }}
      yAxisProps={{ width: 64 }}
    />
  );
}
