import { Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './page.module.css';
import { PageHeading } from './page-heading.tsx';

type PageProps = {
  /** The heading, and the name of the browser's tab unless `title` is that. */
  heading: string;
  title?: string;
  intro?: string;
  /** The page's main action, at the right of the heading. */
  actions?: ReactNode;
  /** Above the heading: the way back to the list. */
  back?: ReactNode;
  /** Forms and texts read better in a narrow column. */
  narrow?: boolean;
  children: ReactNode;
};

/** The frame of every page inside the shell. */
export function Page({ heading, title = heading, intro, actions, back, narrow = false, children }: PageProps) {
  return (
    <div className={classes.page} data-narrow={narrow || undefined}>
      <Stack gap={10}>
        {back}
        <div className={classes.top}>
          <PageHeading title={title} heading={heading} {...(intro === undefined ? {} : { intro })} focus />
          {actions !== undefined && <Group gap="sm">{actions}</Group>}
        </div>
      </Stack>
      {children}
    </div>
  );
}
