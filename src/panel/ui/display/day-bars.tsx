import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { DayBarsProps } from './day-bars-types.ts';

const height = 240;

// The library of charts is larger than all else that a page loads.
const DayBarsView = lazy(async () => ({ default: (await import('./day-bars-view.tsx')).DayBarsView }));

/** One bar a day. */
export function DayBars(props: DayBarsProps) {
  return (
    <div role="img" aria-label={props.label}>
      <Suspense fallback={<Skeleton h={height} />}>
        <DayBarsView {...props} height={height} />
      </Suspense>
    </div>
  );
}
