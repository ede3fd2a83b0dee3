import { SegmentedControl, Skeleton } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Section } from '../page/section.tsx';
import classes from './charts.module.css';
import type { DayBarsProps } from './day-bars-view.tsx';
import type { TimeLinesProps } from './time-lines-view.tsx';

type ChartOrTableProps = {
  heading: string;
  intro?: ReactNode;
  chart: ReactNode;
  /** The same figures as a table. */
  table: ReactNode;
};

/** Figures as a chart or as the table behind it. */
export function ChartOrTable({ heading, intro, chart, table }: ChartOrTableProps) {
  const { t } = useTranslation();
  const [shown, setShown] = useState('chart');
  return (
    <Section
      heading={heading}
      {...(intro === undefined ? {} : { intro })}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('chart.as', { heading })}
          value={shown}
          onChange={setShown}
          data={[
            { value: 'chart', label: t('chart.chart') },
            { value: 'table', label: t('chart.table') },
          ]}
        />
      }
    >
      {shown === 'chart' ? chart : table}
    </Section>
  );
}

const height = 240;

// Loaded on demand: the chart library is larger than the rest of a page.
const DayBarsView = lazy(async () => ({ default: (await import('./day-bars-view.tsx')).DayBarsView }));
const TimeLinesView = lazy(async () => ({ default: (await import('./time-lines-view.tsx')).TimeLinesView }));

/** A bar chart with one bar per day. */
export function DayBars(props: DayBarsProps) {
  return (
    <div role="img" aria-label={props.label} className={classes.frame}>
      <Suspense fallback={<Skeleton h={height} />}>
        <DayBarsView {...props} height={height} />
      </Suspense>
    </div>
  );
}

/** A line chart over time. */
export function TimeLines(props: TimeLinesProps) {
  return (
    <div role="img" aria-label={props.label} className={classes.frame}>
      <Suspense fallback={<Skeleton h={height} />}>
        <TimeLinesView {...props} height={height} />
      </Suspense>
    </div>
  );
}
