import type { CSSProperties, ReactNode } from 'react';
import classes from './figures.module.css';
import { useFormat } from './use-format.ts';

export type Figure = {
  label: string;
  value: string;
  /** Shown beside the value: a reference or a link. */
  note?: ReactNode;
};

/** A page's key figures side by side; two per row on narrow screens. */
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
