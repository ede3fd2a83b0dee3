import { SegmentedControl, Skeleton } from '@mantine/core';
import { type CSSProperties, lazy, type ReactNode, Suspense, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Section } from '../page/section.tsx';
import type { ViewSize } from './chart-axis.ts';
import classes from './charts.module.css';
import type { DayBarsProps } from './day-bars-view.tsx';
import type { DurationBandProps } from './duration-band-view.tsx';
import type { TimeLinesProps } from './time-lines-view.tsx';

type ChartOrTableProps = {
  heading: string;
  intro?: ReactNode;
  chart: ReactNode;
  /** The figures of the chart as a table. */
  table: ReactNode;
  /** What else is chosen about the figures. */
  controls?: ReactNode;
};

/** Figures as a chart or as the table behind it. */
export function ChartOrTable({ heading, intro, chart, table, controls }: ChartOrTableProps) {
  const { t } = useTranslation();
  const [shown, setShown] = useState('chart');
  return (
    <Section
      heading={heading}
      {...(intro === undefined ? {} : { intro })}
      actions={
        <>
          {controls}
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
        </>
      }
    >
      {shown === 'chart' ? chart : table}
    </Section>
  );
}

// Loaded on demand: the chart library is larger than the rest of a page.
const DayBarsView = lazy(async () => ({ default: (await import('./day-bars-view.tsx')).DayBarsView }));
const DurationBandView = lazy(async () => ({ default: (await import('./duration-band-view.tsx')).DurationBandView }));
const TimeLinesView = lazy(async () => ({ default: (await import('./time-lines-view.tsx')).TimeLinesView }));

/** The place of a chart, which learns how large it is. */
function Frame({ label, children }: { label: string; children(size: ViewSize): ReactNode }) {
  const [size, setSize] = useState<ViewSize>({ width: 0, height: 0 });
  const measure = useCallback((frame: HTMLElement | null) => {
    if (frame === null) return;
    const read = (): void => setSize({ width: frame.clientWidth, height: frame.clientHeight });
    // Known before the chart is drawn for the first time.
    read();
    const observer = new ResizeObserver(read);
    observer.observe(frame);
    return () => observer.disconnect();
  }, []);
  return (
    <div role="img" aria-label={label} className={classes.frame} ref={measure}>
      <Suspense fallback={<Skeleton h="100%" />}>{children(size)}</Suspense>
    </div>
  );
}

/** A bar chart with one bar per day. */
export function DayBars(props: DayBarsProps) {
  return <Frame label={props.label}>{(size) => <DayBarsView {...props} {...size} />}</Frame>;
}

/** A line chart over time. Its legend is above it: plots side by side end at one height. */
export function TimeLines(props: TimeLinesProps) {
  return (
    <>
      {props.series.length > 1 && (
        <div className={classes.legend}>
          {props.series.map(({ key, name, color }) => (
            <span key={key} style={{ '--line-color': color } as CSSProperties}>
              {name}
            </span>
          ))}
        </div>
      )}
      <Frame label={props.label}>{(size) => <TimeLinesView {...props} {...size} />}</Frame>
    </>
  );
}

/** Medians over time as a line, with a band from them to p95. */
export function DurationBand(props: DurationBandProps) {
  return <Frame label={props.label}>{(size) => <DurationBandView {...props} {...size} />}</Frame>;
}
