import { Select, Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AccountRow, ChannelChoices } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiMutation, useLocalisedQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { toQuota } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import { useForm } from '../../ui/form/use-form.ts';
import { useScopedNavigate } from '../../ui/page/page.tsx';
import { GroupSelect } from './account-fields.tsx';
import { passwordError, usernameError } from './account-rules.tsx';
import { NewPasswordField } from './new-password-field.tsx';

type NewUserValues = {
  username: string;
  password: string;
  display_name: string;
  email: string;
  role: string;
  group: string;
  /** US dollars; empty for the gateway's default. */
  quota: string;
  remark: string;
};

const emptyValues: NewUserValues = {
  username: '',
  password: '',
  display_name: '',
  email: '',
  role: String(roles.user),
  group: 'default',
  quota: '',
  remark: '',
};

export function NewUserDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title={t('users.add')} size="lg">
      <NewUserForm onClose={onClose} />
    </FormDialog>
  );
}

function NewUserForm({ onClose }: { onClose(): void }) {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  const format = useFormat();
  const status = useGatewayStatus();
  const role = useRole();
  const choices = useLocalisedQuery<ChannelChoices>('/api/channel/choices');
  const change = useApiMutation<Record<string, unknown>, AccountRow>({
    request: (body) => ({ method: 'POST', path: '/api/user', body }),
    invalidates: ['/api/user'],
    onSuccess: ({ id, username }) => {
      notifySuccess(t('users.made', { name: username }));
      onClose();
      navigate(`/users/${id}`);
    },
  });
  const form = useForm<NewUserValues, Record<string, unknown>>({
    initial: emptyValues,
    validate: ({ username, password, quota }) => ({
      username: usernameError(t, username.trim()),
      password: passwordError(t, password),
      quota: quota === '' || toQuota(quota) !== null ? null : t('users.amountInvalid'),
    }),
    toVariables: ({ username, password, display_name: shown, email, role: wanted, group, quota, remark }) => ({
      username: username.trim(),
      password,
      role: Number(wanted),
      group,
      ...(shown.trim() === '' ? {} : { display_name: shown.trim() }),
      ...(email.trim() === '' ? {} : { email: email.trim() }),
      ...(quota === '' ? {} : { quota: toQuota(quota) }),
      ...(remark.trim() === '' ? {} : { remark: remark.trim() }),
    }),
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <div className={sideBySide.fields}>
          <TextInput
            label={t('setup.username')}
            description={t('setup.usernameHint')}
            required
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            data-autofocus
            {...form.bind('username')}
          />
          <TextInput
            label={t('users.displayName')}
            description={t('users.displayNameHelp')}
            {...form.bind('display_name')}
          />
        </div>
        <NewPasswordField label={t('setup.password')} {...form.bindValue('password')} />
        <div className={sideBySide.fields}>
          <TextInput label={t('users.email')} type="email" autoComplete="off" {...form.bind('email')} />
          {role >= roles.root && (
            <Select
              label={t('users.role')}
              allowDeselect={false}
              data={[
                { value: String(roles.user), label: t('role.user') },
                { value: String(roles.admin), label: t('role.admin') },
              ]}
              value={form.values.role}
              onChange={(value) => form.set('role', value ?? String(roles.user))}
            />
          )}
          <GroupSelect choices={choices.data} {...form.bindValue('group')} />
          <MoneyField
            label={t('users.firstBalance')}
            placeholder={t('users.firstBalanceDefault', { amount: format.money(status.data?.new_user_credit ?? 0) })}
            {...form.bindValue('quota')}
          />
        </div>
        <TextInput
          label={t('users.remark')}
          description={t('users.remarkHelp')}
          maxLength={255}
          {...form.bind('remark')}
        />
        <FormDialogButtons action={t('users.add')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}
