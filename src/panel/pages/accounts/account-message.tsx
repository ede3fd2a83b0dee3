import { Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { PageHeading } from '../../ui/page/page-heading.tsx';

type AccountMessageProps = {
  title: string;
  heading: string;
  text: string;
  /** The next step; `state` is passed to its page. */
  next: { to: string; text: string; state?: object };
  children?: ReactNode;
};

/** The last screen of an account flow: what happened and where to go. */
export function AccountMessage({ title, heading, text, next, children }: AccountMessageProps) {
  return (
    <Stack gap={28} align="flex-start">
      <PageHeading title={title} heading={heading} intro={text} focus />
      <Stack gap={12} align="flex-start">
        <Button component={Link} to={next.to} state={next.state} size="md">
          {next.text}
        </Button>
        {children}
      </Stack>
    </Stack>
  );
}
