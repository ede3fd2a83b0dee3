import type { CSSProperties } from 'react';
import classes from './share.module.css';
import { useFormat } from './use-format.ts';

/** A part of a whole in a table: its percentage over a bar. `of` 0: there is no whole. */
export function Share({ part, of }: { part: number; of: number }) {
  const format = useFormat();
  const share = of === 0 ? 0 : part / of;
  return (
    <span className={classes.share} style={{ '--share': `${Math.min(1, share) * 100}%` } as CSSProperties}>
      {format.percentInColumn(share)}
    </span>
  );
}
