import { Anchor, Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { type ApiKey, type ApiKeyFields, keyStatus } from '../../api/types.ts';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { SaveForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { Columns, Section } from '../../ui/page/section.tsx';
import { KeyForm, type KeyValues, toFormValues, toKeyBody, validateKey } from './key-form.tsx';
import { KeyStatus } from './key-status.tsx';
import { KeyWebhook } from './key-webhook.tsx';
import { useKeyChanges } from './use-key-changes.ts';

/** One API key: its settings, its webhook, and how to disable or delete it. */
export function KeyPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const query = useApiQuery<ApiKey>(`/api/token/${encodeURIComponent(id)}`, { keepPrevious: false });
  return (
    <Page heading={query.data?.name ?? t('keys.one')} back={<BackLink to="/keys">{t('nav.keys')}</BackLink>}>
      <QueryResult
        query={query}
        notFound={
          <ResourceNotFound
            heading={t('keys.missing')}
            text={t('keys.missingText')}
            list={{ to: '/keys', name: 'keys.all' }}
          />
        }
      >
        {(apiKey) => (
          <>
            <KeySummary apiKey={apiKey} />
            <Columns
              main={
                <>
                  <KeySettings key={apiKey.id} apiKey={apiKey} />
                  <KeyWebhook key={`webhook-${apiKey.id}`} apiKey={apiKey} />
                </>
              }
              side={
                <>
                  <KeyRotation apiKey={apiKey} />
                  <KeyLifecycle apiKey={apiKey} />
                </>
              }
            />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

/** Status, prefix, spending and last use in one line. */
function KeySummary({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Group gap="8px 24px" wrap="wrap">
      <KeyStatus status={apiKey.status} />
      <Text size="sm" ff="monospace">
        {apiKey.prefix}…
      </Text>
      <Text size="sm" c="dimmed" component="span">
        {t('keys.spentInTotal', { money: format.money(apiKey.used_quota) })}
        {' · '}
        <Anchor component={Link} to={`/usage?key=${apiKey.id}`} inherit underline="always">
          {t('keys.viewUsage')}
        </Anchor>
        {' · '}
        <Anchor component={Link} to={`/tasks?key=${apiKey.id}`} inherit underline="always">
          {t('keys.viewTasks')}
        </Anchor>
      </Text>
      <Text size="sm" c="dimmed">
        <KeyUse apiKey={apiKey} />
      </Text>
    </Group>
  );
}

function KeyUse({ apiKey: { last_used_at: at, last_used_ip: ip } }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (at === 0) return t('keys.notUsedYet');
  return ip === '' ? t('keys.usedAgo', { ago: format.ago(at) }) : t('keys.usedAgoFrom', { ago: format.ago(at), ip });
}

function KeySettings({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const save = useApiMutation<ApiKeyFields, ApiKey>({
    request: (body) => ({ method: 'PUT', path: `/api/token/${apiKey.id}`, body }),
    invalidates: ['/api/token'],
    onSuccess: (saved) => {
      form.reset(toFormValues(saved));
      notifySuccess(t('app.saved'));
    },
  });
  const form = useForm<KeyValues, ApiKeyFields>({
    initial: toFormValues(apiKey),
    validate: (values) => validateKey(values, t),
    toVariables: toKeyBody,
    change: save,
  });
  return (
    <Section heading={t('keys.settings')} intro={t('keys.settings.intro')}>
      <SaveForm form={form}>
        <KeyForm form={form} apiKey={apiKey} />
      </SaveForm>
    </Section>
  );
}

/** Leads to the rotation, and ends a replaced key before its time. */
function KeyRotation({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { former_key: former } = apiKey;
  const end = useApiMutation<void, ApiKey>({
    request: () => ({
      method: 'DELETE',
      path: withQuery(`/api/token/${apiKey.id}/former-key`, { prefix: former?.prefix }),
    }),
    invalidates: ['/api/token'],
    onSuccess: () => notifySuccess(t('keys.rotate.ended')),
  });
  return (
    <Section heading={t('keys.rotate')} intro={t('keys.rotate.intro')}>
      {end.isError && <ErrorNotice error={end.error} />}
      {former !== null && (
        <Text size="sm" lh={1.6}>
          {t('keys.rotate.until', { prefix: former.prefix, time: format.time(former.until) })}
        </Text>
      )}
      <Group>
        <Button component={Link} to={`/keys/${apiKey.id}/rotate`} variant="default">
          {t('keys.rotate')}
        </Button>
        {former !== null && (
          <Button variant="light" color="red" loading={end.isPending} onClick={() => end.mutate()}>
            {t('keys.rotate.endNow')}
          </Button>
        )}
      </Group>
    </Section>
  );
}

function KeyLifecycle({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  const changes = useKeyChanges({ onDeleted: () => navigate('/keys') });
  return (
    <Section
      heading={t('keys.ending')}
      intro={t(apiKey.status === keyStatus.disabled ? 'keys.endingDisabled' : 'keys.endingIntro')}
    >
      {changes.error !== null && <ErrorNotice error={changes.error} />}
      <Group>
        <Button variant="default" loading={changes.isToggling} onClick={() => changes.toggle(apiKey)}>
          {t(apiKey.status === keyStatus.disabled ? 'keys.enable' : 'keys.disable')}
        </Button>
        <Button variant="light" color="red" loading={changes.isRemoving} onClick={() => void changes.remove(apiKey)}>
          {t('keys.delete')}
        </Button>
      </Group>
    </Section>
  );
}
