import { Group, Input, SegmentedControl, Stack, Switch, TagsInput, TextInput } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import type { Form } from '../../ui/form/use-form.ts';
import type { KeyValues } from './key-form-values.ts';

/** The fields of an API key. Rarely used ones are collapsed. */
export function KeyForm({ form, isNew }: { form: Form<KeyValues>; isNew: boolean }) {
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
        <Input.Description>
          {t(
            values.budget === 'account'
              ? 'keys.budget.accountHint'
              : isNew
                ? 'keys.budget.ownHint'
                : 'keys.budget.leftHint',
          )}
        </Input.Description>
      </Stack>
      <TextInput
        {...form.bind('expires')}
        type="date"
        max="9999-12-31"
        label={t('keys.expires')}
        description={t('keys.expiresHint')}
        maw={240}
      />
      <Switch
        checked={values.keep_results}
        onChange={(event) => form.set('keep_results', event.currentTarget.checked)}
        label={t('keys.keepResults')}
        description={t('keys.keepResultsHint')}
        maw={620}
      />
      <Limits form={form} />
    </Stack>
  );
}

function Limits({ form }: { form: Form<KeyValues> }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { bundle } = useSessionSnapshot();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const { values } = form;
  const isUsed = values.models.length > 0 || values.allow_ips.length > 0 || values.group !== '';
  const isWrong = (['models', 'allow_ips', 'group'] as const).some((field) => form.errorOf(field) !== null);
  return (
    <Collapsible label={t('keys.limits')} note={t('keys.limitsNote')} forceOpen={isUsed || isWrong}>
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
          <TextInput
            {...form.bind('group')}
            label={t('keys.group')}
            description={t('keys.groupHint', { group: bundle?.user.group ?? '' })}
            maw={460}
          />
        )}
      </Stack>
    </Collapsible>
  );
}
