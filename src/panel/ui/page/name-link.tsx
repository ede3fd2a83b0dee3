import { Link } from 'react-router';
import classes from './name-link.module.css';

/** The name of a thing in a list, which leads to its page. */
export function NameLink({ to, children }: { to: string; children: string }) {
  return (
    <Link to={to} className={classes.link}>
      {children}
    </Link>
  );
}
