import { Fragment } from 'react';
import classes from './dot-separated.module.css';

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
