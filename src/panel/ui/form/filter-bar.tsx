import type { ReactNode } from 'react';
import classes from './filter-bar.module.css';

/** What narrows a list: a text to search for, then choices. */
export function FilterBar({ search, children }: { search: ReactNode; children: ReactNode }) {
  return (
    <search className={classes.bar}>
      <div className={classes.search}>{search}</div>
      {children}
    </search>
  );
}
