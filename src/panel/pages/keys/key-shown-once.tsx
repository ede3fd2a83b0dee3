import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { OneTimeSecret } from '../../ui/display/one-time-secret.tsx';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { KeySnippets } from './key-snippets.tsx';

type KeyShownOnceProps = {
  heading: string;
  apiKey: string;
  /** The models that the key may use; empty: all. */
  models: readonly string[];
  /** What else there is to say of the key. */
  note?: string;
  /** Further secrets that are shown only now. */
  children?: ReactNode;
};

/** The end of making and of rotating a key: the key, shown once, and a first request with it. */
export function KeyShownOnce({ heading, apiKey, models, note, children }: KeyShownOnceProps) {
  const { t } = useTranslation();
  // A ref: the link below leads away in the same event.
  const isKept = useRef(false);
  useUnsavedChanges(() => !isKept.current, undefined, {
    title: t('keys.made.leaveTitle'),
    text: t('keys.made.leaveText'),
    action: t('keys.made.leaveAction'),
  });
  const keep = (): void => {
    isKept.current = true;
  };
  const text = [t('keys.made.text'), note].filter((part) => part !== undefined).join(' ');
  return (
    <Page heading={heading} back={<BackLink to="/keys">{t('nav.keys')}</BackLink>} narrow>
      <Stack gap="lg">
        <OneTimeSecret heading={t('keys.made.once')} text={text} secret={apiKey} onCopied={keep} />
        {children}
        <Section heading={t('keys.first')} intro={t('keys.firstIntro')}>
          <KeySnippets apiKey={apiKey} models={models} />
        </Section>
        <Group>
          <Button component={Link} to="/keys" onClick={keep}>
            {t('keys.made.done')}
          </Button>
        </Group>
      </Stack>
    </Page>
  );
}
