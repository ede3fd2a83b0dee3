import { Anchor, Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { GatewayStatus, User } from '../../api/types.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { validatePassword } from '../accounts/validate-account.ts';
import { useSecurityMutation } from './use-security-mutation.ts';

type PasswordProps = { user: User; status: GatewayStatus };

export function Password({ user, status }: PasswordProps) {
  const { t } = useTranslation();
  return (
    <SettingsBlock
      heading={t('security.password')}
      intro={t(user.has_password ? 'security.password.intro' : 'security.password.none')}
    >
      {user.has_password ? <ChangePassword username={user.username} /> : <FirstPassword user={user} status={status} />}
    </SettingsBlock>
  );
}

function ChangePassword({ username }: { username: string }) {
  const { t } = useTranslation();
  const change = useSecurityMutation<{ original_password: string; password: string }>({
    request: (body) => ({ method: 'PUT', path: '/api/user/self', body }),
    onSuccess: () => {
      form.reset(emptyValues);
      notifySuccess(t('security.password.changed'));
    },
  });
  const form = useForm({
    initial: emptyValues,
    validate: ({ original_password, password }) => {
      const validationError = validatePassword(password);
      return {
        original_password: original_password === '' ? t('security.password.currentMissing') : null,
        password:
          password === '' ? t('security.password.newMissing') : validationError === null ? null : t(validationError),
      };
    },
    toVariables: (values) => values,
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap={20} maw={420}>
        {form.error !== null && <ErrorNotice error={form.error} />}
        {/* Tells password managers which account the password belongs to. */}
        <input type="text" autoComplete="username" value={username} readOnly hidden />
        <PasswordInput
          {...form.bind('original_password')}
          label={t('security.password.current')}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
        />
        <PasswordInput
          {...form.bind('password')}
          label={t('reset.password')}
          description={t('setup.passwordHint')}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
        />
        <Group>
          <Button type="submit" variant="default" loading={form.isPending}>
            {t('security.password.change')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const emptyValues = { original_password: '', password: '' };

/**
 * An account created through a provider sets its first password by a mailed link, which proves that
 * they own the mailbox.
 */
function FirstPassword({ user, status }: PasswordProps) {
  const { t } = useTranslation();
  if (!status.password_reset) {
    return (
      <Text size="sm" lh={1.6}>
        {t('security.password.noMail')}
      </Text>
    );
  }
  return (
    <Text size="sm" lh={1.6}>
      {t(user.email === null ? 'security.password.needsAddress' : 'security.password.byMail')}{' '}
      <Anchor component={Link} inherit underline="always" to={user.email === null ? '/profile' : '/forgot-password'}>
        {t(user.email === null ? 'nav.profile' : 'forgot.submit')}
      </Anchor>
    </Text>
  );
}
