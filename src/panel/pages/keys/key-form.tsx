import { Group, Input, SegmentedControl, Select, Stack, Switch, TagsInput, TextInput } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiKey, ApiKeyFields, CallableModel, ChannelChoices } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { toDollars, toQuota } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import {
  isOwnerLimitWrong,
  OwnerLimitFields,
  type OwnerLimitValues,
  toOwnerLimit,
  toOwnerLimitValues,
} from '../../ui/form/owner-limits.tsx';
import {
  isLimitWrong,
  type LimitValues,
  SpendingLimit,
  toBudget,
  toLimitValues,
} from '../../ui/form/spending-limit.tsx';
import type { Form } from '../../ui/form/use-form.ts';

/** The fields of an API key. Rarely used ones are collapsed. */
export function KeyForm({ form, apiKey }: { form: Form<KeyValues>; apiKey?: ApiKey }) {
  const isNew = apiKey === undefined;
  const { t } = useTranslation();
  const budgetId = useId();
  const { values } = form;
  return (
    <Stack gap={24}>
      <TextInput
        {...form.bind('name')}
        label={t('keys.name')}
        description={t('keys.nameHint')}
        maw={460}
        autoComplete="off"
        data-autofocus={isNew || undefined}
      />
      <Stack gap={10}>
        <Input.Label component="div" id={budgetId}>
          {t('keys.budget')}
        </Input.Label>
        <Group gap="md" align="flex-start">
          <SegmentedControl
            aria-labelledby={budgetId}
            data={[
              { value: 'account', label: t('keys.budget.account') },
              { value: 'own', label: t('keys.budget.own') },
            ]}
            value={values.budget}
            onChange={(value) => form.set('budget', value === 'own' ? 'own' : 'account')}
          />
          {values.budget === 'own' && (
            <MoneyField
              {...form.bindValue('usd')}
              aria-label={t(isNew ? 'keys.budgetUsd' : 'keys.budgetLeftUsd')}
              w={180}
            />
          )}
        </Group>
        {values.budget === 'own' && (
          <Input.Description>{t(isNew ? 'keys.budget.ownHint' : 'keys.budget.leftHint')}</Input.Description>
        )}
      </Stack>
      <SpendingLimit
        period={form.bindValue('limit_period')}
        usd={form.bindValue('limit_usd')}
        label={t('keys.recurring')}
        description={values.limit_period === '' ? '' : t('limit.keyHint')}
        stored={apiKey?.budget ?? null}
      />
      <OwnerLimitFields perMinute={form.bindValue('requests_per_minute')} running={form.bindValue('max_running')} />
      <TextInput
        {...form.bind('expires')}
        type="date"
        max="9999-12-31"
        label={t('keys.expires')}
        description={t('keys.expiresHint')}
        maw={240}
      />
      <Limits form={form} />
      <Switch
        checked={values.keep_results}
        onChange={(event) => form.set('keep_results', event.currentTarget.checked)}
        label={t('keys.keepResults')}
        description={t('keys.keepResultsHint')}
        maw={620}
      />
      <Switch
        checked={!values.store}
        onChange={(event) => form.set('store', !event.currentTarget.checked)}
        label={t('keys.eraseRequests')}
        description={t('keys.eraseRequestsHint')}
        maw={620}
      />
    </Stack>
  );
}

function Limits({ form }: { form: Form<KeyValues> }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { bundle } = useSessionSnapshot();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const choices = useApiQuery<ChannelChoices>('/api/channel/choices', { enabled: isAdmin });
  const { values } = form;
  const known = (choices.data?.groups ?? []).map(({ name }) => name);
  // A key keeps a group that no longer exists until another is chosen.
  const groups = values.group === '' || known.includes(values.group) ? known : [...known, values.group];
  const isUsed = values.models.length > 0 || values.allow_ips.length > 0 || values.group !== '';
  const isWrong = (['models', 'allow_ips', 'group'] as const).some((field) => form.readError(field) !== null);
  return (
    <Collapsible
      label={t('keys.limits')}
      note={t(isAdmin ? 'keys.limitsNoteAdmin' : 'keys.limitsNote')}
      forceOpen={isUsed || isWrong}
    >
      <Stack gap={24}>
        <TagsInput
          {...form.bindValue('models')}
          label={t('keys.models')}
          description={t('keys.modelsHint')}
          data={[...new Set((models.data ?? []).map(({ model }) => model))]}
          clearable
          clearButtonProps={{ 'aria-label': t('keys.clear') }}
        />
        <TagsInput
          {...form.bindValue('allow_ips')}
          label={t('keys.ips')}
          description={t('keys.ipsHint')}
          placeholder={values.allow_ips.length === 0 ? '203.0.113.7, 10.0.0.0/8' : ''}
          splitChars={[',', ' ']}
          clearable
          clearButtonProps={{ 'aria-label': t('keys.clear') }}
        />
        {isAdmin && (
          <Select
            {...form.bindValue('group')}
            label={t('keys.group')}
            description={t('keys.groupHint')}
            data={[
              { value: '', label: t('keys.group.own', { group: bundle?.user.group ?? '' }) },
              ...groups.map((group) => ({ value: group, label: group })),
            ]}
            allowDeselect={false}
            onChange={(group) => form.set('group', group ?? '')}
            maw={460}
          />
        )}
      </Stack>
    </Collapsible>
  );
}

/** The form values of an API key. */
export type KeyValues = LimitValues &
  OwnerLimitValues & {
    name: string;
    budget: 'account' | 'own';
    /** US dollars left in the key's own budget. */
    usd: string;
    models: string[];
    allow_ips: string[];
    /** The last valid day as `YYYY-MM-DD`; empty means never. */
    expires: string;
    group: string;
    keep_results: boolean;
    store: boolean;
    webhook_url: string;
  };

export const emptyKey: KeyValues = {
  name: '',
  budget: 'account',
  usd: '',
  ...toLimitValues(null),
  ...toOwnerLimitValues({ requests_per_minute: null, max_running: null }),
  models: [],
  allow_ips: [],
  expires: '',
  group: '',
  keep_results: false,
  store: true,
  webhook_url: '',
};

export const toFormValues = (key: ApiKey): KeyValues => ({
  name: key.name,
  budget: key.unlimited_quota ? 'account' : 'own',
  usd: key.unlimited_quota ? '' : toDollars(key.quota),
  ...toLimitValues(key.budget),
  ...toOwnerLimitValues(key),
  models: key.models,
  allow_ips: key.allow_ips,
  expires: key.expires_at === 0 ? '' : toDay(key.expires_at),
  group: key.group ?? '',
  keep_results: key.keep_results,
  store: key.store,
  webhook_url: key.webhook_url ?? '',
});

/** The body for the API: all fields of a new key, otherwise those that changed. */
export function toKeyBody(values: KeyValues, before: KeyValues = emptyKey): ApiKeyFields {
  const differs = (field: keyof KeyValues): boolean => JSON.stringify(values[field]) !== JSON.stringify(before[field]);
  const isNew = before === emptyKey;
  return {
    ...(isNew || differs('name') ? { name: values.name.trim() } : {}),
    ...(isNew || differs('budget') ? { unlimited_quota: values.budget === 'account' } : {}),
    ...(values.budget === 'own' && (isNew || differs('usd') || differs('budget'))
      ? { quota: toQuota(values.usd) ?? 0 }
      : {}),
    ...(differs('limit_period') || differs('limit_usd') ? { budget: toBudget(values) } : {}),
    ...(differs('requests_per_minute') ? { requests_per_minute: toOwnerLimit(values.requests_per_minute) } : {}),
    ...(differs('max_running') ? { max_running: toOwnerLimit(values.max_running) } : {}),
    ...(differs('models') ? { models: values.models } : {}),
    ...(differs('allow_ips') ? { allow_ips: values.allow_ips } : {}),
    ...(differs('expires') ? { expires_at: values.expires === '' ? 0 : endOfDay(values.expires) } : {}),
    ...(differs('group') ? { group: values.group.trim() || null } : {}),
    ...(differs('keep_results') ? { keep_results: values.keep_results } : {}),
    ...(differs('store') ? { store: values.store } : {}),
    ...(differs('webhook_url') ? { webhook_url: values.webhook_url.trim() || null } : {}),
  };
}

export const validateKey = (values: KeyValues, t: TFunction) => ({
  name:
    values.name.trim() === '' ? t('keys.nameMissing') : [...values.name.trim()].length > 50 ? t('keys.nameLong') : null,
  usd: values.budget === 'own' && toQuota(values.usd) === null ? t('keys.budgetMissing') : null,
  limit_usd: isLimitWrong(values) ? t('limit.missing') : null,
  requests_per_minute: isOwnerLimitWrong(values.requests_per_minute) ? t('limit.countInvalid') : null,
  max_running: isOwnerLimitWrong(values.max_running) ? t('limit.countInvalid') : null,
  webhook_url: values.webhook_url.trim() === '' || isWebAddress(values.webhook_url) ? null : t('keys.webhookInvalid'),
});

const isWebAddress = (text: string): boolean => URL.canParse(text.trim()) && /^https?:/i.test(text.trim());

/** The local date of a time in Unix seconds. */
function toDay(seconds: number): string {
  const at = new Date(seconds * 1000);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
}

/** The last second of a local day, in Unix seconds. */
const endOfDay = (day: string): number => Math.floor(new Date(`${day}T23:59:59`).getTime() / 1000);
