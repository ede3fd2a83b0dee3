import { Anchor } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link } from 'react-router';
import classes from './back-link.module.css';
import { listAddress } from './list-address.ts';

/** Link above a page's heading, back to the list with the filters and the page that it had. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={listAddress(to)} size="sm" className={classes.link}>
      <IconArrowLeft size={16} stroke={1.6} aria-hidden="true" />
      {children}
    </Anchor>
  );
}
