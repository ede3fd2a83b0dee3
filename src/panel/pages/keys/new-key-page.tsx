import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ApiKeyFields, NewApiKey } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { emptyKey, KeyForm, type KeyValues, toKeyBody, validateKey } from './key-form.tsx';
import { KeyShownOnce } from './key-shown-once.tsx';
import { WebhookInput } from './key-webhook.tsx';

/** Creates an API key, then shows it once, with a first request. */
export function NewKeyPage() {
  const { t } = useTranslation();
  const [created, setCreated] = useState<NewApiKey | null>(null);
  const create = useApiMutation<ApiKeyFields, NewApiKey>({
    request: (body) => ({ method: 'POST', path: '/api/token', body }),
    invalidates: ['/api/token?'],
    // The key is shown only once, so it is taken before anything is refetched.
    onResponse: setCreated,
  });
  const form = useForm<KeyValues, ApiKeyFields>({
    initial: emptyKey,
    validate: (values) => validateKey(values, t),
    toVariables: (values) => toKeyBody(values),
    change: create,
  });
  const back = <BackLink to="/keys">{t('nav.keys')}</BackLink>;
  if (created !== null) return <CreatedKey created={created} />;
  return (
    <Page heading={t('keys.new')} intro={t('keys.newIntro')} back={back} narrow>
      <form onSubmit={form.submit} noValidate>
        <Stack gap={28}>
          {form.error !== null && <ErrorNotice error={form.error} />}
          <KeyForm form={form} />
          <Collapsible
            label={t('keys.webhook')}
            note={t('keys.webhookNote')}
            forceOpen={form.readError('webhook_url') !== null}
          >
            <WebhookInput {...form.bind('webhook_url')} />
          </Collapsible>
          <Group>
            <Button type="submit" loading={form.isPending}>
              {t('keys.create')}
            </Button>
            {/* Leaving now would lose the key that is being created. */}
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

function CreatedKey({ created }: { created: NewApiKey }) {
  const { t } = useTranslation();
  return (
    <KeyShownOnce
      heading={t('keys.made.heading', { name: created.name })}
      apiKey={created.key}
      models={created.models}
      keyId={created.id}
      isNew
    >
      {created.new_webhook_secret !== null && (
        <OneTimeSecret
          heading={t('keys.secret.once')}
          text={t('keys.secret.text')}
          secret={created.new_webhook_secret}
        />
      )}
    </KeyShownOnce>
  );
}
