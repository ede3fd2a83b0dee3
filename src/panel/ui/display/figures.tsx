import type { CSSProperties, ReactNode } from 'react';
import classes from './figures.module.css';
import { useFormat } from './use-format.ts';

export type Figure = {
  label: string;
  value: string;
  /** Shown below the value: a reference or a link. */
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
            {note && <div className={classes.note}>{note}</div>}
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
export function Share({ part, of, isBad = false }: { part: number; of: number; isBad?: boolean }) {
  const format = useFormat();
  const share = of === 0 ? 0 : part / of;
  return (
    <span
      className={classes.share}
      data-bad={isBad || undefined}
      style={{ '--share': `${Math.min(1, share) * 100}%` } as CSSProperties}
    >
      {format.percentInColumn(share)}
    </span>
  );
}

/**
 * The parts of a whole in tenths of a percent, so rounded that they add up to what their sum is
 * rounded to.
 */
export function roundShares(parts: readonly number[], of: number): number[] {
  if (of === 0) return parts.map(() => 0);
  const exact = parts.map((part) => (part / of) * 1000);
  const rounded = exact.map(Math.floor);
  const total = Math.round(exact.reduce((sum, share) => sum + share, 0));
  const missing = total - rounded.reduce((sum, share) => sum + share, 0);
  const byRest = exact.map((share, at) => ({ at, rest: share % 1 })).sort((one, other) => other.rest - one.rest);
  for (const { at } of byRest.slice(0, missing)) rounded[at] = (rounded[at] ?? 0) + 1;
  return rounded.map((tenths) => tenths / 1000);
}
