import { NumberInput, PasswordInput, Select, Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AccountRow, ChannelChoices } from '../../api/types.ts';
import { useApi, useChange } from '../../api/use-api.ts';
import { useRole } from '../../session/roles.ts';
import { roles } from '../../shell/navigation-sections.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { useNavigateHere } from '../../ui/page/use-scoped-navigate.ts';
import { GroupSelect } from './group-select.tsx';
import { nameFault, readDollars, secretFault } from './account-rules.ts';
import classes from './users.module.css';

type NewUserValues = {
  username: string;
  password: string;
  display_name: string;
  email: string;
  role: string;
  group: string;
  quota: number | string;
  remark: string;
};

const blank: NewUserValues = {
  username: '',
  password: '',
  display_name: '',
  email: '',
  role: '1',
  group: 'default',
  quota: '',
  remark: '',
};

export function NewUserDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title={t('users.new')} size="lg">
      <NewUserForm onClose={onClose} />
    </FormDialog>
  );
}

function NewUserForm({ onClose }: { onClose(): void }) {
  const { t } = useTranslation();
  const navigate = useNavigateHere();
  const role = useRole();
  const choices = useApi<ChannelChoices>('/api/channel/choices');
  const change = useChange<Record<string, unknown>, AccountRow>({
    request: (body) => ({ method: 'POST', path: '/api/user', body }),
    stale: ['/api/user'],
    onSuccess: ({ id, username }) => {
      notifyDone(t('users.made', { name: username }));
      onClose();
      navigate(`/users/${id}`);
    },
  });
  const form = useForm<NewUserValues, Record<string, unknown>>({
    initial: blank,
    check: ({ username, password, quota }) => ({
      username: nameFault(t, username.trim()),
      password: secretFault(t, password),
      quota: quota === '' || readDollars(quota) !== null ? null : t('users.amountInvalid'),
    }),
    read: ({ username, password, display_name: shown, email, role: wanted, group, quota, remark }) => ({
      username: username.trim(),
      password,
      role: Number(wanted),
      group,
      ...(shown.trim() === '' ? {} : { display_name: shown.trim() }),
      ...(email.trim() === '' ? {} : { email: email.trim() }),
      ...(quota === '' ? {} : { quota: readDollars(quota) }),
      ...(remark.trim() === '' ? {} : { remark: remark.trim() }),
    }),
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <FailureNotice error={form.error} />}
        <div className={classes.pair}>
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
        <PasswordInput
          label={t('setup.password')}
          description={t('users.passwordHelp')}
          required
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
          {...form.bind('password')}
        />
        <div className={classes.pair}>
          <TextInput label={t('users.email')} type="email" autoComplete="off" {...form.bind('email')} />
          {role >= roles.root && (
            <Select
              label={t('users.role')}
              allowDeselect={false}
              data={[
                { value: '1', label: t('role.user') },
                { value: '10', label: t('role.admin') },
              ]}
              value={form.values.role}
              onChange={(value) => form.set('role', value ?? '1')}
            />
          )}
          <GroupSelect choices={choices.data} {...form.bindValue('group')} />
        </div>
        <NumberInput
          label={t('users.firstBalance')}
          description={t('users.firstBalanceHelp')}
          prefix="$"
          min={0}
          thousandSeparator
          hideControls
          {...form.bindValue('quota')}
        />
        <TextInput
          label={t('users.remark')}
          description={t('users.remarkHelp')}
          maxLength={255}
          {...form.bind('remark')}
        />
        <FormDialogButtons action={t('users.create')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}
