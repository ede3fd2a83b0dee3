import type { ReactNode } from 'react';
import classes from './description-list.module.css';

/** Values with labels above them, side by side where there is space. */
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
