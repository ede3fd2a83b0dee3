import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import { useSession } from '../../session/session-context.tsx';
import { SignInError } from './sign-in-failure.tsx';

/** Name and password. The guard redirects once the session has started. */
export function SignInForm({
  notice,
  onTwoFactorRequired,
}: {
  notice: Error | null;
  onTwoFactorRequired(flowToken: string): void;
}) {
  const { t } = useTranslation();
  const session = useSession();
  const usernameField = useRef<HTMLInputElement>(null);
  const passwordField = useRef<HTMLInputElement>(null);
  const suggestedName = readUsername(useLocation().state);
  const [username, setUsername] = useState(suggestedName);
  const [password, setPassword] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);

  const signIn = useMutation({
    mutationFn: (account: { username: string; password: string }) => session.signIn(account.username, account.password),
    onSuccess: (flowToken) => flowToken !== null && onTwoFactorRequired(flowToken),
    onError: () => passwordField.current?.select(),
  });

  useEffect(() => {
    (suggestedName === '' ? usernameField : passwordField).current?.focus();
  }, [suggestedName]);

  const failure = signIn.error ?? (signIn.isIdle ? notice : null);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    const name = username.trim();
    if (name === '') usernameField.current?.focus();
    else if (password === '') passwordField.current?.focus();
    else if (!signIn.isPending) signIn.mutate({ username: name, password });
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {failure !== null && <SignInError error={failure} />}
        <TextInput
          ref={usernameField}
          label={t('signIn.username')}
          error={isSubmitted && username.trim() === '' ? t('signIn.usernameMissing') : null}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          size="md"
        />
        <PasswordInput
          ref={passwordField}
          label={t('signIn.password')}
          error={isSubmitted && password === '' ? t('signIn.passwordMissing') : null}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
          size="md"
        />
        <Button type="submit" size="md" loading={signIn.isPending} mt={4}>
          {t('signIn.submit')}
        </Button>
      </Stack>
    </form>
  );
}

/** The setup page passes on the name of the account it created. */
function readUsername(state: unknown): string {
  if (typeof state !== 'object' || state === null || !('username' in state)) return '';
  return typeof state.username === 'string' ? state.username : '';
}
