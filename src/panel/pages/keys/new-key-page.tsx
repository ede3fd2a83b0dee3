import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ApiKeyFields, NewApiKey } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { Fold } from '../../ui/display/collapsible.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { ShownOnce } from '../../ui/display/one-time-secret.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { blankKey, checkKey, type KeyValues, readKey } from './key-form-values.ts';
import { KeyForm } from './key-form.tsx';
import { KeySnippets } from './key-snippets.tsx';
import { WebhookInput } from './webhook-input.tsx';

/** Makes an API key, then shows it once with the first request to send. */
export function NewKeyPage() {
  const { t } = useTranslation();
  const [made, setMade] = useState<NewApiKey | null>(null);
  const create = useChange<ApiKeyFields, NewApiKey>({
    request: (body) => ({ method: 'POST', path: '/api/token', body }),
    stale: ['/api/token?'],
    // Shown once, so at once.
    onAnswer: setMade,
  });
  const form = useForm<KeyValues, ApiKeyFields>({
    initial: blankKey,
    check: (values) => checkKey(values, t),
    read: (values) => readKey(values),
    change: create,
  });
  const back = <BackLink to="/keys">{t('nav.keys')}</BackLink>;
  if (made !== null) return <MadeKey made={made} />;
  return (
    <Page heading={t('keys.new')} intro={t('keys.newIntro')} back={back} narrow>
      <form onSubmit={form.submit} noValidate>
        <Stack gap={28}>
          {form.error !== null && <FailureNotice error={form.error} />}
          <KeyForm form={form} isNew />
          <Fold label={t('keys.webhook')} note={t('keys.webhookNote')} isForced={form.tell('webhook_url') !== null}>
            <WebhookInput {...form.bind('webhook_url')} />
          </Fold>
          <Group>
            <Button type="submit" loading={form.isPending}>
              {t('keys.create')}
            </Button>
            {/* The key that is being made would be seen by nobody. */}
            <Button
              component={Link}
              to="/keys"
              variant="default"
              data-disabled={form.isPending || undefined}
              aria-disabled={form.isPending || undefined}
              onClick={(event) => form.isPending && event.preventDefault()}
            >
              {t('app.cancel')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

function MadeKey({ made }: { made: NewApiKey }) {
  const { t } = useTranslation();
  return (
    <Page
      heading={t('keys.made.heading', { name: made.name })}
      back={<BackLink to="/keys">{t('nav.keys')}</BackLink>}
      narrow
    >
      <Stack gap="lg">
        <ShownOnce heading={t('keys.made.once')} text={t('keys.made.text')} secret={made.key} />
        {made.new_webhook_secret !== null && (
          <ShownOnce heading={t('keys.secret.once')} text={t('keys.secret.text')} secret={made.new_webhook_secret} />
        )}
        <Section heading={t('keys.first')} intro={t('keys.firstIntro')}>
          <KeySnippets />
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
