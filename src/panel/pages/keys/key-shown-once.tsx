import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { IconCheck, IconPlayerPlay } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel, ModelCatalog, TaskPage } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { chooseSample, placeholderSample, type Sample } from '../playground/choose-sample.ts';
import { RequestTabs } from '../playground/code-tabs.tsx';
import { RunningTask } from '../playground/sent-tasks.tsx';
import { useQuote } from '../playground/use-quote.ts';

type KeyShownOnceProps = {
  heading: string;
  /** What the key is called, and the first request with it; absent: those of a new key. */
  once?: string;
  test?: string;
  apiKey: string;
  /** The models that the key may use; empty: all. */
  models: readonly string[];
  keyId: number;
  /** Its first request is its first of all; a rotated key has had others. */
  isNew?: boolean;
  /** What else there is to say of the key, on a line of its own. */
  note?: string;
  /** Further secrets that are shown only now. */
  children?: ReactNode;
};

/** The end of making and of rotating a key: the key, shown once, and a first request with it. */
export function KeyShownOnce(props: KeyShownOnceProps) {
  const { heading, once, test, apiKey, models, keyId, isNew = false, note, children } = props;
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
  const text = (
    <>
      {t('keys.made.text')}
      {note !== undefined && <div>{note}</div>}
    </>
  );
  return (
    <Page heading={heading} back={<BackLink to="/keys">{t('nav.keys')}</BackLink>} narrow>
      <Stack gap="lg">
        <OneTimeSecret heading={once ?? t('keys.made.once')} text={text} secret={apiKey} onCopied={keep} />
        {children}
        <Section heading={test ?? t('keys.first')} intro={t('keys.firstIntro')}>
          <KeySnippets apiKey={apiKey} models={models} keyId={keyId} isNew={isNew} />
        </Section>
        <Group>
          <Button component={Link} to="/keys" variant="default" onClick={keep}>
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
  keyId: number;
  isNew: boolean;
};

/** A first request with the new key in curl, Python and JavaScript, for an available model. */
function KeySnippets({ apiKey, models: allowed, keyId, isNew }: KeySnippetsProps) {
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
  const sample = callable ?? placeholderSample(allowed[0], prompt);
  const offer =
    callable && offered.offers.find(({ model, blocked }) => model === callable.body.model && blocked === null);
  return (
    <Stack gap="md">
      <RequestTabs url={`${origin}${sample.path}`} body={sample.body} apiKey={apiKey} result={sample.result} />
      <Text size="sm" c="dimmed" lh={1.6}>
        {sample.follow !== null && `${t('keys.afterwards', { path: sample.follow })} `}
        <Anchor component={Link} to="/reference" inherit underline="always">
          {t('home.reference')}
        </Anchor>
      </Text>
      <FirstRequest {...{ keyId, isNew, apiKey }} sample={callable} offer={offer ?? null} />
    </Stack>
  );
}

const waitMs = 3000;
const noFiles = {};

type FirstRequestProps = {
  keyId: number;
  isNew: boolean;
  apiKey: string;
  /** The request that the page shows; null: the key can call no model yet. */
  sample: Sample | null;
  /** Its model. */
  offer: CallableModel | null;
};

/**
 * Sends the shown request with the new key, and waits for the key's first task, or its next one,
 * from here or from anywhere else.
 */
function FirstRequest({ keyId, isNew, apiKey, sample, offer }: FirstRequestProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { quote } = useQuote({ offer, body: sample?.body ?? {}, files: noFiles });
  const price = quote.data?.price ?? null;
  const path = withQuery('/api/task', { api_key_id: keyId, page_size: 1 });
  // The last task before; undefined: not known yet.
  const [former, setFormer] = useState(isNew ? '' : undefined);
  const readFirst = (page: TaskPage | undefined) =>
    former === undefined ? undefined : page?.items.find(({ id }) => id !== former);
  const tasks = useApiQuery<TaskPage>(path, { refreshMs: (page) => (readFirst(page) ? false : waitMs) });
  if (former === undefined && tasks.data !== undefined) setFormer(tasks.data.items[0]?.id ?? '');
  const send = useMutation({
    mutationFn: async ({ path, body }: Sample) => {
      const answer = await fetch(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (answer.ok) return;
      const { error } = (await answer.json().catch(() => ({}))) as { error?: { message?: string } };
      throw new Error(error?.message ?? `HTTP ${answer.status}`);
    },
    onSettled: () => tasks.refetch(),
  });
  const first = readFirst(tasks.data);
  if (first !== undefined) {
    return (
      <div role="status">
        <Group gap={8} mb="md">
          <IconCheck size={18} stroke={1.8} aria-hidden="true" color="var(--mantine-primary-color-filled)" />
          <Text fw={600}>{t('keys.first.received')}</Text>
        </Group>
        <RunningTask id={first.id} isOneOfMany={false} />
      </div>
    );
  }
  return (
    <>
      {send.isError && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {t('error.unknown', { message: t('error.quoted', { text: send.error.message }) })}
        </Text>
      )}
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={17} stroke={1.6} aria-hidden="true" />}
          disabled={sample === null}
          loading={send.isPending}
          onClick={() => sample !== null && send.mutate(sample)}
        >
          {price === null || price.expression === null
            ? t('keys.first.send')
            : t('keys.first.sendFor', { amount: format.money(price.quota) })}
        </Button>
        <Text size="sm" c="dimmed">
          {t('keys.first.waiting')}
        </Text>
      </Group>
    </>
  );
}
