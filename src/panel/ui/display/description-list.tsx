import type { ReactNode } from 'react';
import classes from './description-list.module.css';

/** What a thing is like, each with its name above it; side by side where there is room. */
export function DescriptionList({ entries }: { entries: readonly (readonly [label: string, value: ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {entries.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
