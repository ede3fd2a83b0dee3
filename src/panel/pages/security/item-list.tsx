import type { ReactNode } from 'react';
import { Fragment } from 'react';
import classes from './item-list.module.css';

/** A short list whose items have actions at the right. */
export function ItemList({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={classes.list} aria-label={label}>
      {children}
    </ul>
  );
}

type ItemProps = {
  icon?: ReactNode;
  title: ReactNode;
  /** Shown below the title: when, where, by what. */
  details?: ReactNode;
  actions?: ReactNode;
};

export function Item({ icon, title, details, actions }: ItemProps) {
  return (
    <li className={classes.item}>
      {icon !== undefined && (
        <span className={classes.icon} aria-hidden="true">
          {icon}
        </span>
      )}
      <div className={classes.text}>
        <div className={classes.title}>{title}</div>
        {details !== undefined && <div className={classes.details}>{details}</div>}
      </div>
      {actions !== undefined && <div className={classes.actions}>{actions}</div>}
    </li>
  );
}

/** Short facts in a line, separated by dots. */
export function DotSeparated({ parts }: { parts: readonly string[] }) {
  return parts.map((part, index) => (
    <Fragment key={part}>
      {index > 0 && (
        <span className={classes.dot} aria-hidden="true">
          ·
        </span>
      )}
      {index > 0 && ' '}
      {part}
    </Fragment>
  ));
}
