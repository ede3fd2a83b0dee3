import { Anchor, Button, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { affiliateQuery } from './link-parameters.ts';

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

export function BackToSignIn() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  return (
    <Anchor
      component={Link}
      to={`/sign-in${affiliateQuery(params)}`}
      size="sm"
      underline="always"
      style={{ alignSelf: 'flex-start' }}
    >
      {t('account.toSignIn')}
    </Anchor>
  );
}
