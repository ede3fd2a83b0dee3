import {
  Alert,
  Button,
  Group,
  Input,
  PasswordInput,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconAlertTriangle, IconWorldSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { DiscoveredProvider, OAuthProvider, OptionTestResult } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { LocalAddressNotice } from '../../ui/display/local-address-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { TrialSteps } from '../../ui/display/trial-steps.tsx';
import { SaveBar } from '../../ui/form/save-bar.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import { type Form, useForm } from '../../ui/form/use-form.ts';
import { useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { useCallbackUrl } from './option-group-header.tsx';
import {
  emptyProvider,
  isSlug,
  type ProviderValues,
  toFormValues,
  toProviderBody,
  validateProvider,
} from './provider-form-values.ts';
import classes from './settings.module.css';
import { hideShowButton } from './special-inputs.tsx';

type Saving = { body: Record<string, unknown>; force: boolean };

/** Tests the provider as it is stored and shows each step. */
function ProviderTrial({ id, isDirty }: { id: number; isDirty: boolean }) {
  const { t } = useTranslation();
  const change = useMutationWithProof<void, OptionTestResult>({
    scope: 'settings.security',
    request: () => ({ method: 'POST', path: `/api/custom-oauth-provider/${id}/test`, timeoutMs: 60_000 }),
  });
  return (
    <Section heading={t('settings.test')} intro={t(isDirty ? 'settings.testDirty' : 'settings.testHelp')}>
      <div>
        <Button variant="default" disabled={isDirty} loading={change.isPending} onClick={() => change.mutate()}>
          {t('settings.testRun')}
        </Button>
      </div>
      {change.isError && <ErrorNotice error={change.error} />}
      {change.data !== undefined && !change.isPending && <TrialSteps {...change.data} />}
    </Section>
  );
}

export function ProviderForm({ stored }: { stored: OAuthProvider | null }) {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  const [force, setForce] = useState(false);
  const change = useMutationWithProof<Saving, OAuthProvider>({
    scope: 'settings.security',
    request: ({ body, force: isForced }) => ({
      method: stored === null ? 'POST' : 'PUT',
      path: stored === null ? '/api/custom-oauth-provider' : `/api/custom-oauth-provider/${stored.id}`,
      body: { ...body, ...(isForced ? { force: true } : {}) },
    }),
    invalidates: ['/api/custom-oauth-provider'],
    onSuccess: (saved) => {
      notifySuccess(t('app.saved'));
      setForce(false);
      if (stored === null) navigate(`/settings/providers/${saved.id}`, { replace: true });
      else form.reset(toFormValues(saved));
    },
  });
  // The confirmation applies only to the error that asked for it.
  const isInUse = change.error instanceof ApiError && change.error.code === 'AUTH_PROVIDER_IN_USE';
  const form = useForm<ProviderValues, Saving>({
    initial: stored === null ? emptyProvider : toFormValues(stored),
    validate: (values) => validateProvider(t, values, stored),
    toVariables: (values, original) => ({
      body: toProviderBody(values, stored === null ? null : original),
      force: isInUse && force,
    }),
    change,
    codeTexts: { AUTH_PROVIDER_IN_USE: 'settings.bound' },
  });
  const callbackUrl = useCallbackUrl(form.values.slug || '…');
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        {isInUse && (
          <Alert color="yellow" variant="light" icon={<IconAlertTriangle size={20} stroke={1.6} aria-hidden="true" />}>
            <Text size="sm" mb="sm">
              {t('settings.forceHelp')}
            </Text>
            <Switch
              label={t('settings.force')}
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
            />
          </Alert>
        )}
        {stored?.secret_unreadable === true && (
          <Alert color="red" variant="light">
            {t('settings.secretUnreadable')}
          </Alert>
        )}
        <Section heading={t('providers.button')}>
          <div className={sideBySide.fields}>
            <TextInput
              label={t('providers.name')}
              description={t('providers.nameHelp')}
              required
              {...form.bind('name')}
            />
            {stored === null ? (
              <TextInput
                label={t('providers.slug')}
                description={t('providers.slugHelp')}
                required
                spellCheck={false}
                autoCapitalize="none"
                {...form.bind('slug')}
              />
            ) : (
              <Input.Wrapper labelElement="div" label={t('providers.slug')} description={t('providers.slugFixed')}>
                <Text className={classes.code ?? ''} mt={8}>
                  {stored.slug}
                </Text>
              </Input.Wrapper>
            )}
          </div>
          <Input.Wrapper labelElement="div" label={t('settings.callback')} description={t('providers.callbackHelp')}>
            <div className={classes.callback}>
              <LocalAddressNotice url={callbackUrl} />
              {isSlug(form.values.slug) ? (
                <CopyField text={callbackUrl} />
              ) : (
                <Text c="dimmed" className={classes.code ?? ''}>
                  {callbackUrl}
                </Text>
              )}
            </div>
          </Input.Wrapper>
          <Switch label={t('providers.enabled')} {...form.bindChecked('enabled')} />
        </Section>
        <Section heading={t('providers.client')}>
          <div className={sideBySide.fields}>
            <TextInput label={t('option.oidc.client_id')} required spellCheck={false} {...form.bind('client_id')} />
            <PasswordInput
              label={t('option.oidc.client_secret')}
              description={stored?.client_secret && !stored.secret_unreadable ? t('settings.secretStored') : null}
              placeholder={stored?.client_secret ? '••••••••••••' : ''}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ 'aria-label': t('settings.showTyped') }}
              {...hideShowButton(form.values.client_secret)}
              {...form.bind('client_secret')}
            />
          </div>
          <Endpoints form={form} />
        </Section>
        <Section heading={t('providers.people')} intro={t('providers.peopleHelp')}>
          <div className={sideBySide.fields}>
            <TextInput label={t('providers.userId')} required spellCheck={false} {...form.bind('user_id_field')} />
            <TextInput label={t('setup.username')} spellCheck={false} {...form.bind('username_field')} />
            <TextInput label={t('users.displayName')} spellCheck={false} {...form.bind('display_name_field')} />
            <TextInput label={t('users.email')} spellCheck={false} {...form.bind('email_field')} />
          </div>
          <Collapsible
            label={t('channels.advanced')}
            note={`${t('providers.scopes')} · ${t('providers.policy')}`}
            forceOpen={form.readError('access_policy') !== null}
          >
            <Stack gap="lg">
              <TextInput label={t('providers.scopes')} spellCheck={false} {...form.bind('scopes')} />
              <Select
                label={t('providers.authStyle')}
                allowDeselect={false}
                data={[
                  { value: '0', label: t('providers.authStyle.auto') },
                  { value: '1', label: t('providers.authStyle.body') },
                  { value: '2', label: t('providers.authStyle.basic') },
                ]}
                value={form.values.auth_style}
                onChange={(style) => form.set('auth_style', style ?? '0')}
              />
              <Textarea
                label={t('providers.policy')}
                description={t('providers.policyHelp')}
                placeholder={
                  '{"logic": "and", "conditions": [{"field": "groups", "op": "contains", "value": "staff"}]}'
                }
                autosize
                minRows={3}
                maxRows={14}
                spellCheck={false}
                classNames={{ input: classes.code ?? '' }}
                {...form.bind('access_policy')}
              />
              <TextInput
                label={t('providers.denied')}
                description={t('providers.deniedHelp')}
                {...form.bind('access_denied_message')}
              />
            </Stack>
          </Collapsible>
        </Section>
        {stored === null ? (
          <>
            {form.error !== null && <ErrorNotice error={form.error} />}
            <Group justify="flex-end">
              <Button type="submit" loading={form.isPending}>
                {t('providers.create')}
              </Button>
            </Group>
          </>
        ) : (
          <ProviderTrial id={stored.id} isDirty={form.isDirty} />
        )}
      </Stack>
      {stored !== null && (
        <SaveBar
          count={form.changed}
          isPending={form.isPending}
          isBlocked={isInUse && !force}
          error={isInUse ? null : form.error}
          onDiscard={() => form.reset(toFormValues(stored))}
        />
      )}
    </form>
  );
}

/** The provider's address, from which its endpoints are loaded, and the endpoints themselves. */
function Endpoints({ form }: { form: Form<ProviderValues> }) {
  const { t } = useTranslation();
  const change = useApiMutation<string, DiscoveredProvider>({
    request: (url) => ({
      method: 'POST',
      path: '/api/custom-oauth-provider/discovery',
      body: url.includes('/.well-known/') ? { well_known_url: url } : { issuer_url: url },
    }),
    onSuccess: (found) => {
      form.set('well_known', found.well_known);
      for (const name of endpoints) form.set(name, found[name]);
    },
  });
  const address = form.values.well_known.trim();
  const load = (): void => {
    if (address !== '' && !change.isPending) change.mutate(address);
  };
  // Enter must not submit the form.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    load();
  };
  const isManual = address === '' && endpoints.some((name) => form.values[name] !== '');
  return (
    <>
      <div>
        <Group gap="sm" align="end">
          <TextInput
            label={t('providers.issuer')}
            placeholder="https://login.example.org/realms/main"
            inputMode="url"
            spellCheck={false}
            flex="1 1 280px"
            {...form.bind('well_known')}
            readOnly={change.isPending}
            onKeyDown={onKeyDown}
          />
          <Button
            variant="default"
            leftSection={<IconWorldSearch size={18} stroke={1.6} aria-hidden="true" />}
            loading={change.isPending}
            onClick={load}
          >
            {t('providers.discover')}
          </Button>
        </Group>
        <div aria-live="polite">
          {change.isSuccess && (
            <Text size="sm" c="dimmed" mt={8}>
              {t('providers.discovered', { issuer: change.data.issuer })}
            </Text>
          )}
        </div>
        {change.isError && <ErrorNotice error={change.error} />}
      </div>
      <Collapsible
        label={t('providers.override')}
        forceOpen={isManual || endpoints.some((name) => form.readError(name) !== null)}
      >
        <Stack gap="md">
          {endpoints.map((name) => (
            <TextInput
              key={name}
              label={t(`option.oidc.${name}`)}
              inputMode="url"
              spellCheck={false}
              {...form.bind(name)}
            />
          ))}
        </Stack>
      </Collapsible>
    </>
  );
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'user_info_endpoint'] as const;
