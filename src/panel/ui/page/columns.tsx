import type { ReactNode } from 'react';
import classes from './columns.module.css';

/** What a page is about at the left, the facts about it at the right. */
export const Columns = ({ main, side }: { main: ReactNode; side: ReactNode }) => (
  <div className={classes.columns}>
    <div className={classes.column}>{main}</div>
    <div className={classes.column}>{side}</div>
  </div>
);
