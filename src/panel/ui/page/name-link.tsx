import { Link } from 'react-router';
import classes from './name-link.module.css';

/** The name of a list entry, linked to its page. */
export function NameLink({ to, children }: { to: string; children: string }) {
  return (
    <Link to={to} className={classes.link}>
      {children}
    </Link>
  );
}
