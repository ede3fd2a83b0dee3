import { Button, Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { OneTimeSecret } from '../../ui/display/one-time-secret.tsx';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { KeySnippets } from './key-snippets.tsx';

type KeyShownOnceProps = {
  heading: string;
  apiKey: string;
  /** What else there is to say of the key. */
  note?: string;
  /** Further secrets that are shown only now. */
  children?: ReactNode;
};

/** The end of making and of rotating a key: the key, shown once, and a first request with it. */
export function KeyShownOnce({ heading, apiKey, note, children }: KeyShownOnceProps) {
  const { t } = useTranslation();
  const text = [t('keys.made.text'), note].filter((part) => part !== undefined).join(' ');
  return (
    <Page heading={heading} back={<BackLink to="/keys">{t('nav.keys')}</BackLink>} narrow>
      <Stack gap="lg">
        <OneTimeSecret heading={t('keys.made.once')} text={text} secret={apiKey} />
        {children}
        <Section heading={t('keys.first')} intro={t('keys.firstIntro')}>
          <KeySnippets apiKey={apiKey} />
        </Section>
        <Group>
          <Button component={Link} to="/keys">
            {t('keys.made.done')}
          </Button>
        </Group>
      </Stack>
    </Page>
  );
}
