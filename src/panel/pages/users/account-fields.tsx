import { Box, Button, Group, Select, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Account, AccountRow, ChannelChoices } from '../../api/types.ts';
import { useApiMutation, useLocalisedQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import {
  isOwnerLimitWrong,
  OwnerLimitFields,
  type OwnerLimitValues,
  toOwnerLimit,
  toOwnerLimitValues,
} from '../../ui/form/owner-limits.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import {
  isLimitWrong,
  type LimitValues,
  SpendingLimit,
  toBudget,
  toLimitValues,
} from '../../ui/form/spending-limit.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { usernameError } from './account-rules.tsx';

type FieldValues = LimitValues &
  OwnerLimitValues & {
    username: string;
    display_name: string;
    email: string;
    group: string;
    remark: string;
  };

type Change = Partial<Omit<FieldValues, keyof LimitValues | keyof OwnerLimitValues>> & {
  budget?: ReturnType<typeof toBudget>;
  requests_per_minute?: number | null;
  max_running?: number | null;
};

const toValues = (account: AccountRow): FieldValues => ({
  username: account.username,
  display_name: account.display_name,
  email: account.email ?? '',
  group: account.group,
  remark: account.remark,
  ...toLimitValues(account.budget),
  ...toOwnerLimitValues(account),
});

/**
 * Name, address, group, spending limit, own limits and remark of an account. Only changed fields
 * are sent.
 */
export function AccountFields({ account }: { account: Account }) {
  const { t } = useTranslation();
  const choices = useLocalisedQuery<ChannelChoices>('/api/channel/choices');
  const change = useApiMutation<Change, AccountRow>({
    request: (fields) => ({
      method: 'PUT',
      path: '/api/user',
      body: { id: account.id, ...fields, ...(fields.email === '' ? { email: null } : {}) },
    }),
    invalidates: ['/api/user'],
    onSuccess: (saved) => {
      notifySuccess(t('app.saved'));
      form.reset(toValues(saved));
    },
  });
  const form = useForm<FieldValues, Change>({
    initial: toValues(account),
    validate: ({ username, ...limit }) => ({
      username: usernameError(t, username.trim()),
      limit_usd: isLimitWrong(limit) ? t('limit.missing') : null,
      requests_per_minute: isOwnerLimitWrong(limit.requests_per_minute) ? t('limit.countInvalid') : null,
      max_running: isOwnerLimitWrong(limit.max_running) ? t('limit.countInvalid') : null,
    }),
    toVariables: ({ limit_period, limit_usd, requests_per_minute, max_running, ...values }, before) => {
      const isLimitNew = limit_period !== before.limit_period || limit_usd !== before.limit_usd;
      const budget: Change = isLimitNew ? { budget: toBudget({ limit_period, limit_usd }) } : {};
      const own: Change = {
        ...(requests_per_minute === before.requests_per_minute
          ? {}
          : { requests_per_minute: toOwnerLimit(requests_per_minute) }),
        ...(max_running === before.max_running ? {} : { max_running: toOwnerLimit(max_running) }),
      };
      const trimmed = Object.entries(values).map(([field, value]) => [field, value.trim()] as const);
      const changed = trimmed.filter(([field, value]) => value !== before[field as keyof FieldValues]);
      return { ...Object.fromEntries(changed), ...budget, ...own };
    },
    change,
  });
  return (
    <Section heading={t('users.details')}>
      <form onSubmit={form.submit} noValidate>
        {form.error !== null && <ErrorNotice error={form.error} />}
        <div className={sideBySide.fields}>
          <TextInput
            label={t('setup.username')}
            required
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            {...form.bind('username')}
          />
          <TextInput label={t('users.displayName')} autoComplete="off" {...form.bind('display_name')} />
          <TextInput label={t('users.email')} type="email" autoComplete="off" {...form.bind('email')} />
          <GroupSelect choices={choices.data} {...form.bindValue('group')} />
        </div>
        <Box my="md">
          <SpendingLimit
            period={form.bindValue('limit_period')}
            usd={form.bindValue('limit_usd')}
            description={t('limit.userHint')}
            stored={account.budget}
          />
        </Box>
        <OwnerLimitFields perMinute={form.bindValue('requests_per_minute')} running={form.bindValue('max_running')} />
        <Textarea
          mt="md"
          label={t('users.remark')}
          description={t('users.remarkHelp')}
          autosize
          minRows={2}
          maxLength={255}
          {...form.bind('remark')}
        />
        <Group justify="flex-end" gap="sm" mt="lg">
          {form.isDirty && (
            <Button variant="default" disabled={form.isPending} onClick={() => form.reset(toValues(account))}>
              {t('users.discard')}
            </Button>
          )}
          <Button type="submit" loading={form.isPending} disabled={!form.isDirty}>
            {t('app.save')}
          </Button>
        </Group>
      </form>
    </Section>
  );
}

type GroupSelectProps = {
  choices: ChannelChoices | undefined;
  value: string;
  onChange(group: string): void;
  error: string | null;
};

/** Groups with a ratio, plus the account's current group if it has none. */
export function GroupSelect({ choices, value, onChange, error }: GroupSelectProps) {
  const { t, i18n } = useTranslation();
  const ratio = new Intl.NumberFormat(i18n.language, { maximumFractionDigits: 4 });
  const known = (choices?.groups ?? []).map((group) => ({
    value: group.name,
    label: t('users.groupRatio', { name: group.name, ratio: ratio.format(group.ratio) }),
  }));
  const data = known.some((group) => group.value === value) ? known : [...known, { value, label: value }];
  return (
    <Select
      label={t('users.group')}
      data={data}
      allowDeselect={false}
      value={value}
      onChange={(group) => onChange(group ?? value)}
      error={error}
    />
  );
}
