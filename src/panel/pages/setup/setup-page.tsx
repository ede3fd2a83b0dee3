import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { GatewayStatus, SetupState } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { FullPageLoader } from '../../ui/page/full-page.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { validatePassword, validateUsername } from '../accounts/validate-account.ts';
import { DemoStep } from './first-task.tsx';
import classes from './setup-page.module.css';
import { readSetupToken, takeTokenFromAddress } from './setup-token.ts';

/** First start: creates the root account with the token from the terminal's link. */
export function SetupPage() {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const token = useAddressToken();
  const [createdName, setCreatedName] = useState<string | null>(null);
  const { phase } = useSessionSnapshot();
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: () => session.send<SetupState>({ method: 'GET', path: '/api/setup' }),
  });

  const finish = (username: string): void => {
    setCreatedName(username);
    // The cached answers would make the sign-in page redirect back here.
    queries.setQueryData<SetupState>(['setup'], { status: true });
    queries.setQueryData<GatewayStatus>(['status'], (before) => before && { ...before, setup: true });
  };

  if (setup.isPending) return <FullPageLoader />;
  const title = t('setup.title');
  const toSignIn = (text: string) => (
    <Button component={Link} to="/sign-in" state={{ username: createdName ?? '' }} size="md">
      {text}
    </Button>
  );
  return (
    <WelcomeLayout>
      {createdName !== null && phase === 'signed_in' ? (
        <DemoStep username={createdName} />
      ) : createdName !== null ? (
        <Stack gap={28} align="flex-start">
          <PageHeading
            title={title}
            heading={t('setup.done.heading')}
            intro={t('setup.done.signIn', { username: createdName })}
            focus
          />
          {toSignIn(t('setup.done.next'))}
        </Stack>
      ) : setup.data?.status === true ? (
        <Stack gap={28} align="flex-start">
          <PageHeading title={title} heading={t('setup.closed.heading')} intro={t('setup.closed.text')} focus />
          {toSignIn(t('setup.done.next'))}
        </Stack>
      ) : (
        <Stack gap={32}>
          <PageHeading title={title} heading={t('setup.heading')} intro={t('setup.intro')} />
          <SetupForm token={token} onDone={finish} onClosed={() => void setup.refetch()} />
        </Stack>
      )}
    </WelcomeLayout>
  );
}

/** The token of the URL, also when a second link is opened in the same tab. */
function useAddressToken(): string {
  const [token, setToken] = useState('');
  useEffect(() => {
    const take = (): void => {
      const found = takeTokenFromAddress();
      if (found !== '') setToken(found);
    };
    take();
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  return token;
}

type SetupFormProps = {
  /** The token of the URL; if it is empty, the form asks for it. */
  token: string;
  onDone(username: string): void;
  /** The server says that a root account exists by now. */
  onClosed(): void;
};

type ValidationErrors = { link: TextKey | null; username: TextKey | null; password: TextKey | null };

function SetupForm({ token, onDone, onClosed }: SetupFormProps) {
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

  useEffect(() => (token === '' ? linkField : usernameField).current?.focus(), [token]);

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
          <Stack gap={8}>
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
            <Text size="sm" c="dimmed" lh={1.45}>
              {t('setup.linkFind')}
            </Text>
            <CopyField text="taskgate open --print" />
          </Stack>
        ) : (
          <p className={classes.found}>
            <IconCheck size={20} stroke={1.6} aria-hidden="true" />
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
