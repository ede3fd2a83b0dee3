import { Anchor } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link } from 'react-router';
import { listAddress } from '../../session/panel-address.ts';
import classes from './links.module.css';

/** Link above a page's heading, back to the list with the filters and the page that it had. */
export function BackLink({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={listAddress(to)} size="sm" className={classes.back}>
      <IconArrowLeft size={16} stroke={1.6} aria-hidden="true" />
      {children}
    </Anchor>
  );
}

/** The name of a list entry, linked to its page. */
export function NameLink({ to, children }: { to: string; children: string }) {
  return (
    <Link to={to} className={classes.name}>
      {children}
    </Link>
  );
}

/** An address from a third party: a link if it is a web address, else plain text. */
export function ExternalLink({ address, name = address }: { address: string; name?: string }) {
  if (!/^https?:\/\//i.test(address)) return name;
  return (
    <Anchor href={address} target="_blank" rel="noreferrer noopener" inherit underline="always">
      {name}
    </Anchor>
  );
}
