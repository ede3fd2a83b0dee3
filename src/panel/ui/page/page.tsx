import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { type NavigateOptions, type To, useLocation, useNavigate } from 'react-router';
import { HeadingContext } from '../display/query-result.tsx';
import classes from './page.module.css';
import { PageHeading } from './page-heading.tsx';

type PageProps = {
  /** The heading, and the browser tab's title unless `title` is given. */
  heading: string;
  title?: string;
  intro?: string;
  /** Before the heading, such as a vendor's logo. */
  icon?: ReactNode;
  /** Beside the heading, such as a status. */
  mark?: ReactNode;
  /** The page's main actions, to the right of the heading. */
  actions?: ReactNode;
  /** A link above the heading, back to the list. */
  back?: ReactNode;
  /** The heading is a sentence. */
  longHeading?: boolean;
  /** A narrow column for forms and texts. */
  narrow?: boolean;
  children: ReactNode;
};

/** The layout of every page inside the app frame. */
export function Page({ heading, title = heading, intro, mark, children, ...props }: PageProps) {
  const { actions, back, icon, longHeading = false, narrow = false } = props;
  return (
    <div className={classes.page} data-narrow={narrow || undefined}>
      <Stack gap={10}>
        {back}
        <div className={classes.top} data-long={longHeading || undefined}>
          <PageHeading title={title} heading={heading} icon={icon} mark={mark} focus />
          {intro !== undefined && (
            <Text c="dimmed" lh={1.55} className={classes.intro}>
              {intro}
            </Text>
          )}
          {actions !== undefined && (
            <Group gap="sm" className={classes.actions} data-page-actions>
              {actions}
            </Group>
          )}
        </div>
      </Stack>
      <HeadingContext value={heading}>{children}</HeadingContext>
    </div>
  );
}

/**
 * Navigates only while the user is still on the page that called it: a late answer must not take
 * them away from another page.
 */
export function useScopedNavigate(): (to: To, options?: NavigateOptions) => void {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (to, options) => {
    if (window.location.pathname === pathname) void navigate(to, options);
  };
}
