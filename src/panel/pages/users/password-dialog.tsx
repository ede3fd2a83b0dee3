import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Account } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { passwordError } from './account-rules.ts';

type PasswordDialogProps = { account: Account; isOpen: boolean; onClose(): void };

export function PasswordDialog({ account, isOpen, onClose }: PasswordDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t('users.passwordOf', { name: account.username })}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <PasswordForm account={account} onClose={onClose} />
    </Modal>
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
        <PasswordInput
          label={t('reset.password')}
          description={t('setup.passwordHint')}
          required
          autoComplete="new-password"
          data-autofocus
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
          {...form.bind('password')}
        />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={form.isPending}>
            {t('users.setPassword')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
