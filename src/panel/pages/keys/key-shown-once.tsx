import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel, ModelCatalog } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { CodeTabs } from '../playground/code-tabs.tsx';
import { chooseSample, type Sample } from './choose-sample.ts';
import { FirstRequest } from './first-request.tsx';

type KeyShownOnceProps = {
  heading: string;
  apiKey: string;
  /** The models that the key may use; empty: all. */
  models: readonly string[];
  /** A new key: its first request is awaited here. */
  keyId?: number;
  /** What else there is to say of the key. */
  note?: string;
  /** Further secrets that are shown only now. */
  children?: ReactNode;
};

/** The end of making and of rotating a key: the key, shown once, and a first request with it. */
export function KeyShownOnce({ heading, apiKey, models, keyId, note, children }: KeyShownOnceProps) {
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
          <KeySnippets apiKey={apiKey} models={models} keyId={keyId} />
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

type KeySnippetsProps = {
  apiKey: string;
  /** The models that the key may use; empty: all. */
  models: readonly string[];
  keyId: number | undefined;
};

/** A first request with the new key in curl, Python and JavaScript, for an available model. */
function KeySnippets({ apiKey, models: allowed, keyId }: KeySnippetsProps) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog');
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  // The sample does not change under the reader's eyes.
  if (models.isPending || catalog.isPending) return null;
  const offered = { offers: models.data ?? [], cards: catalog.data?.items ?? [] };
  const prompt = t('keys.samplePrompt');
  const callable = chooseSample({ ...offered, allowed, prompt });
  const sample = callable ?? placeholder(allowed[0], prompt);
  return (
    <Stack gap="md">
      <CodeTabs url={`${origin}${sample.path}`} body={sample.body} apiKey={apiKey} result={sample.result} />
      <Text size="sm" c="dimmed" lh={1.6}>
        {sample.follow !== null && `${t('keys.afterwards', { path: sample.follow })} `}
        <Anchor component={Link} to="/reference" inherit underline="always">
          {t('home.reference')}
        </Anchor>
      </Text>
      {keyId !== undefined && <FirstRequest keyId={keyId} apiKey={apiKey} sample={callable} />}
    </Stack>
  );
}

/** Until there is a model to call: the names are those of the demo vendor. */
const placeholder = (model = 'demo-video', prompt: string): Sample => ({
  ...{ path: '/v1/videos', follow: '/v1/videos/{id}', result: 'id' },
  body: { model, prompt },
});
