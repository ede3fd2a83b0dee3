import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import classes from './chart-frame.module.css';
import type { DayBarsProps } from './day-bars-types.ts';

const height = 240;

// Loaded on demand: the chart library is larger than the rest of a page.
const DayBarsView = lazy(async () => ({ default: (await import('./day-bars-view.tsx')).DayBarsView }));

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
