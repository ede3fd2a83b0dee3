import type { ReactNode } from 'react';
import classes from './figures.module.css';

export type Figure = {
  label: string;
  value: string;
  /** Beside it: what the number is of, or the way to what it counts. */
  note?: ReactNode;
};

/**
 * The few numbers that one comes to a page for, side by side; two by two where there is less room.
 */
export function Figures({ label, figures }: { label: string; figures: readonly Figure[] }) {
  return (
    <dl className={classes.figures} aria-label={label}>
      {figures.map(({ label: name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note}
          </dd>
        </div>
      ))}
    </dl>
  );
}
