import { Anchor, Button, Group, PasswordInput, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { GatewayStatus, User } from '../../api/types.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { InlineForm, useInlineForm } from '../../ui/form/inline-form.tsx';
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

/** A button; the form takes its place. */
function ChangePassword({ username }: { username: string }) {
  const { t } = useTranslation();
  const form = useInlineForm();
  if (form.isOpen) return <ChangeForm username={username} onDone={form.close} />;
  return (
    <Group>
      <Button variant="default" ref={form.opener} onClick={form.open}>
        {t('security.password.change')}
      </Button>
    </Group>
  );
}

function ChangeForm({ username, onDone }: { username: string; onDone(): void }) {
  const { t } = useTranslation();
  const change = useSecurityMutation<{ original_password: string; password: string }>({
    request: (body) => ({ method: 'PUT', path: '/api/user/self', body }),
    onSuccess: () => {
      notifySuccess(t('security.password.changed'));
      onDone();
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
    <InlineForm form={form} action={t('security.password.change')} onCancel={onDone}>
      {/* Tells password managers which account the password belongs to. */}
      <input type="text" autoComplete="username" value={username} readOnly hidden />
      <PasswordInput
        {...form.bind('original_password')}
        label={t('security.password.current')}
        autoComplete="current-password"
        autoFocus
        visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
      />
      <PasswordInput
        {...form.bind('password')}
        label={t('reset.password')}
        description={t('setup.passwordHint')}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
      />
    </InlineForm>
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
