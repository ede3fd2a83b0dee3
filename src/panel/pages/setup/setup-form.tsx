import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { IconCheck } from '../../ui/icons.tsx';
import classes from './setup-form.module.css';
import { readSetupToken } from './setup-token.ts';
import { validatePassword, validateUsername } from './validate-account.ts';

type SetupFormProps = {
  /** The token of the URL; if it is empty, the form asks for it. */
  token: string;
  onDone(username: string): void;
  /** The server says that a root account exists by now. */
  onClosed(): void;
};

type ValidationErrors = { link: TextKey | null; username: TextKey | null; password: TextKey | null };

export function SetupForm({ token, onDone, onClosed }: SetupFormProps) {
  const { t } = useTranslation();
  const session = useSession();
  const linkField = useRef<HTMLInputElement>(null);
  const usernameField = useRef<HTMLInputElement>(null);
  const passwordField = useRef<HTMLInputElement>(null);
  const [link, setLink] = useState('');
  const [username, setUsername] = useState('root');
  const [password, setPassword] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);

  const create = useMutation({
    mutationFn: async (account: { token: string; username: string; password: string }) => {
      await session.send({ method: 'POST', path: '/api/setup', body: account });
      // The account exists even if this fails: its owner can sign in by hand.
      await session.signIn(account.username, account.password).catch(() => null);
    },
    onSuccess: (_answer, account) => onDone(account.username),
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'AUTH_SETUP_DONE') onClosed();
    },
  });
  const isTokenRefused = create.error instanceof ApiError && create.error.code === 'AUTH_SETUP_TOKEN_INVALID';
  const asksForLink = token === '' || isTokenRefused || link !== '';
  const wantedToken = asksForLink ? readSetupToken(link) : token;
  const validationErrors: ValidationErrors = {
    link: wantedToken === '' ? 'setup.linkMissing' : null,
    username: validateUsername(username.trim()),
    password: validatePassword(password),
  };
  const errorText = (validationError: TextKey | null): string | null =>
    isSubmitted && !create.isPending && validationError !== null ? t(validationError) : null;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    const first = validationErrors.link ? linkField : validationErrors.username ? usernameField : passwordField;
    if (validationErrors.link || validationErrors.username || validationErrors.password) first.current?.focus();
    else if (!create.isPending) create.mutate({ token: wantedToken, username: username.trim(), password });
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {create.isError && <ErrorNotice error={create.error} />}
        {asksForLink ? (
          <TextInput
            ref={linkField}
            label={t('setup.link')}
            description={t('setup.linkHint')}
            error={errorText(validationErrors.link)}
            value={link}
            onChange={(event) => setLink(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            size="md"
          />
        ) : (
          <p className={classes.found}>
            <IconCheck />
            {t('setup.linkFound')}
          </p>
        )}
        <TextInput
          ref={usernameField}
          label={t('setup.username')}
          description={t('setup.usernameHint')}
          error={errorText(validationErrors.username)}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          size="md"
        />
        <PasswordInput
          ref={passwordField}
          label={t('setup.password')}
          description={t('setup.passwordHint')}
          error={errorText(validationErrors.password)}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
          size="md"
        />
        <Button type="submit" size="md" loading={create.isPending} mt={4}>
          {t('setup.submit')}
        </Button>
      </Stack>
    </form>
  );
}
