import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import classes from './chart-frame.module.css';
import type { TimeLinesProps } from './time-lines-types.ts';

const height = 240;

// Loaded on demand: the chart library is larger than the rest of a page.
const TimeLinesView = lazy(async () => ({ default: (await import('./time-lines-view.tsx')).TimeLinesView }));

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
