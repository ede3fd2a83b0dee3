import { Alert, Anchor, Box, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation, useSearchParams } from 'react-router';
import type { GatewayStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useGatewayStatus, useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import type { SessionEnd } from '../../session/session-state.ts';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeIntro, WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { LegalLine } from '../accounts/legal-line.tsx';
import { affiliateQuery } from '../accounts/link-parameters.ts';
import { WithGatewayStatus } from '../accounts/with-gateway-status.tsx';
import { OtherSignInMethods, TelegramStep } from './other-sign-in-methods.tsx';
import { SignInError } from './sign-in-failure.tsx';
import { TwoFactorForm } from './two-factor-form.tsx';
import { WeChatStep } from './wechat-step.tsx';

type Step = { kind: 'begin' | 'wechat' | 'telegram' } | { kind: 'code'; flowToken: string };

type SignInPageProps = {
  /** Over a page that keeps what was typed. */
  isInPlace?: boolean;
};

/** Offers every enabled sign-in method. */
export function SignInPage({ isInPlace = false }: SignInPageProps) {
  return (
    <WithGatewayStatus>
      {(status) => (
        <WelcomeLayout>
          <Stack gap={32}>
            <SignIn status={status} isInPlace={isInPlace} />
          </Stack>
        </WelcomeLayout>
      )}
    </WithGatewayStatus>
  );
}

function SignIn({ status, isInPlace }: { status: GatewayStatus; isInPlace: boolean }) {
  const { t } = useTranslation();
  const [step, setStep] = useState<Step>({ kind: 'begin' });
  const [notice, setNotice] = useState<Error | null>(null);
  const askCode = (flowToken: string): void => setStep({ kind: 'code', flowToken });
  const beginAgain = (reason: Error | null = null): void => {
    setNotice(reason);
    setStep({ kind: 'begin' });
  };

  switch (step.kind) {
    case 'code':
      return (
        <>
          <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.hint')} />
          <TwoFactorForm flowToken={step.flowToken} onFlowEnded={beginAgain} />
        </>
      );
    case 'wechat':
      return <WeChatStep hasQrCode={status.wechat_qrcode !== ''} onTwoFactorRequired={askCode} onBack={beginAgain} />;
    case 'telegram':
      return <TelegramStep botName={status.telegram_bot_name} onBack={beginAgain} />;
  }
  return (
    <>
      <PageHeading
        title={t('signIn.title')}
        heading={t('signIn.heading')}
        intro={<WelcomeIntro name={status.system_name} />}
      />
      {status.unwritable && (
        <Alert color="red" icon={<IconInfoCircle aria-hidden />} title={t('signIn.unwritable.title')}>
          {t('signIn.unwritable.text')}
        </Alert>
      )}
      <SessionEndedNotice isInPlace={isInPlace} />
      <Stack gap={24}>
        {status.password_login_enabled && <SignInForm notice={notice} onTwoFactorRequired={askCode} />}
        {!status.password_login_enabled && notice !== null && <SignInError error={notice} />}
        <OtherSignInMethods status={status} onTwoFactorRequired={askCode} onSelect={(kind) => setStep({ kind })} />
      </Stack>
      <SignInHelp />
      <LegalLine status={status} />
    </>
  );
}

/** Name and password. The guard redirects once the session has started. */
function SignInForm({
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
        <Box pos="relative">
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
          <Anchor component={Link} to="/forgot-password" size="sm" underline="always" style={besideLabel}>
            {t('signIn.forgot')}
          </Anchor>
        </Box>
        <Button type="submit" size="md" loading={signIn.isPending} mt={4}>
          {t('signIn.submit')}
        </Button>
      </Stack>
    </form>
  );
}

/** At the end of the label's line; a finger has room above it. */
const besideLabel = { position: 'absolute', top: -18, insetInlineEnd: 0, paddingBlock: '19px 6px' } as const;

/** The setup page passes on the name of the account it created. */
function readUsername(state: unknown): string {
  if (typeof state !== 'object' || state === null || !('username' in state)) return '';
  return typeof state.username === 'string' ? state.username : '';
}

const texts = {
  revoked: 'ended.revoked',
  expired: 'ended.expired',
  signed_out: 'ended.signedOut',
} as const satisfies Record<SessionEnd, TextKey>;

/** Says why the previous session ended and whether unsaved changes were lost, if one did. */
function SessionEndedNotice({ isInPlace }: { isInPlace: boolean }) {
  const { t } = useTranslation();
  const state = useLocation().state as { isWorkLost?: boolean } | null;
  const { end } = useSessionSnapshot();
  if (end === null) return null;
  return (
    <Alert color="gate" variant="light" icon={<IconInfoCircle size={18} stroke={1.6} />} role="status">
      {t(texts[end])} {isInPlace ? t('ended.kept') : state?.isWorkLost && t('ended.lost')}
    </Alert>
  );
}

/** For people who have no account. */
function SignInHelp() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const { data: status } = useGatewayStatus();
  if (!status?.password_register_enabled) return null;
  return (
    <Text size="sm">
      {t('signIn.noAccount')}{' '}
      <Anchor component={Link} to={`/sign-up${affiliateQuery(params)}`} underline="always">
        {t('signIn.toSignUp')}
      </Anchor>
    </Text>
  );
}
