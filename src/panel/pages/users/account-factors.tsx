import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Account } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Question, useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { passwordError } from './account-rules.tsx';
import { NewPasswordField } from './new-password-field.tsx';
import classes from './users.module.css';

/**
 * The account's sign-in methods. Lost ones can be reset here, so that the owner can sign in again.
 */
export function AccountFactors({ account }: { account: Account }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const [isSettingPassword, setSettingPassword] = useState(false);
  const change = useApiMutation<string>({
    request: (path) => ({ method: 'DELETE', path }),
    invalidates: ['/api/user'],
    onSuccess: () => notifySuccess(t('users.factors.done')),
  });
  const own = `/api/user/${account.id}`;
  const remove = async (path: string, question: Question): Promise<void> => {
    if (await confirm(question)) change.mutate(path);
  };
  const name = account.username;
  return (
    <Section heading={t('users.factors')} intro={t('users.factorsHelp')}>
      {change.isError && <ErrorNotice error={change.error} />}
      <ul className={classes.lines}>
        <CredentialRow
          title={t('setup.password')}
          text={t(account.has_password ? 'users.hasPassword' : 'users.noPassword')}
          action={t(account.has_password ? 'users.changePassword' : 'users.setPassword')}
          onAction={() => setSettingPassword(true)}
        />
        <CredentialRow
          title={t('users.twoFactor')}
          text={t(account.two_factor ? 'users.twoFactorOn' : 'users.twoFactorOff')}
          {...(account.two_factor && {
            action: t('users.twoFactorReset'),
            onAction: () =>
              void remove(`${own}/2fa`, {
                title: t('users.twoFactorAsk', { name }),
                text: t('users.twoFactorText'),
                action: t('users.twoFactorReset'),
              }),
          })}
        />
        <CredentialRow
          title={t('users.passkeys')}
          text={
            account.passkeys === 0
              ? t('app.none')
              : t('users.passkeyCount', { count: account.passkeys, number: format.number(account.passkeys) })
          }
          {...(account.passkeys > 0 && {
            action: t('users.passkeyReset'),
            onAction: () =>
              void remove(`${own}/reset_passkey`, {
                title: t('users.passkeyAsk', { name }),
                text: t('users.passkeyText'),
                action: t('users.passkeyReset'),
              }),
          })}
        />
        {account.bindings.map(({ provider, subject }) => (
          <CredentialRow
            key={provider}
            title={provider}
            text={subject}
            action={t('users.unbind')}
            label={t('users.unbindFrom', { provider })}
            onAction={() =>
              void remove(`${own}/bindings/${encodeURIComponent(provider)}`, {
                title: t('users.unbindAsk', { provider, name }),
                text: t('users.unbindText'),
                action: t('users.unbind'),
              })
            }
          />
        ))}
        {account.has_access_token && (
          <CredentialRow
            title={t('users.accessToken')}
            text={t('users.accessTokenHelp')}
            action={t('users.accessTokenRevoke')}
            onAction={() =>
              void remove(`${own}/token`, {
                title: t('users.accessTokenAsk', { name }),
                text: t('users.accessTokenText'),
                action: t('users.accessTokenRevoke'),
              })
            }
          />
        )}
      </ul>
      <PasswordDialog account={account} isOpen={isSettingPassword} onClose={() => setSettingPassword(false)} />
    </Section>
  );
}

type CredentialRowProps = { title: string; text: string; action?: string; label?: string; onAction?(): void };

function CredentialRow({ title, text, action, label, onAction }: CredentialRowProps) {
  return (
    <li className={classes.line}>
      <div>
        <Text size="sm" fw={550}>
          {title}
        </Text>
        <Text size="sm" c="dimmed">
          {text}
        </Text>
      </div>
      {action !== undefined && (
        <Button
          variant="default"
          size="xs"
          onClick={onAction}
          {...(label === undefined ? {} : { 'aria-label': label })}
        >
          {action}
        </Button>
      )}
    </li>
  );
}

type PasswordDialogProps = { account: Account; isOpen: boolean; onClose(): void };

function PasswordDialog({ account, isOpen, onClose }: PasswordDialogProps) {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title={t('users.passwordOf', { name: account.username })} size="md">
      <PasswordForm account={account} onClose={onClose} />
    </FormDialog>
  );
}

function PasswordForm({ account, onClose }: Omit<PasswordDialogProps, 'isOpen'>) {
  const { t } = useTranslation();
  const change = useApiMutation<string>({
    request: (password) => ({ method: 'PUT', path: '/api/user', body: { id: account.id, password } }),
    invalidates: ['/api/user'],
    onSuccess: () => {
      notifySuccess(t('users.passwordSet', { name: account.username }));
      onClose();
    },
  });
  const form = useForm({
    initial: { password: '' },
    validate: ({ password }) => ({ password: passwordError(t, password) }),
    toVariables: ({ password }) => password,
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Text size="sm">{t('users.passwordText')}</Text>
        <NewPasswordField label={t('reset.password')} hasFocus {...form.bindValue('password')} />
        <FormDialogButtons action={t('users.setPassword')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}
