import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import type { GatewayStatus } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage, BackToSignIn } from './account-message.tsx';
import { useCaptcha } from './captcha.tsx';
import { fieldErrorText, validateEmail } from './validate-account.ts';
import { WithGatewayStatus } from './with-gateway-status.tsx';

/**
 * Requests a link to choose a new password. Only the email reveals whether the address has an
 * account.
 */
export function ForgotPasswordPage() {
  const { t } = useTranslation();
  const [email, setEmail] = useState(readEmail(useLocation().state));
  const [isSent, setSent] = useState(false);
  const title = t('forgot.title');
  const toSignIn = { to: '/sign-in', text: t('account.toSignIn') };

  const send = (address: string): void => {
    setEmail(address);
    setSent(true);
  };

  return (
    <WithGatewayStatus>
      {(status) => (
        <WelcomeLayout>
          {isSent ? (
            <AccountMessage
              title={title}
              heading={t('forgot.sent.heading')}
              text={t('forgot.sent.text', { email })}
              next={{ ...toSignIn, state: { username: email } }}
            >
              <Button variant="default" size="md" onClick={() => setSent(false)}>
                {t('forgot.again')}
              </Button>
            </AccountMessage>
          ) : (
            <Stack gap={32}>
              <PageHeading
                title={title}
                heading={t('forgot.heading')}
                intro={t(status.password_reset ? 'forgot.intro' : 'forgot.noMail')}
              />
              {status.password_reset && (
                <Stack gap={16}>
                  <ForgotPasswordForm status={status} suggested={email} onSent={send} />
                  <Text size="sm" c="dimmed">
                    {t('forgot.noEmail')}
                  </Text>
                </Stack>
              )}
              <RootRecovery />
              <BackToSignIn />
            </Stack>
          )}
        </WelcomeLayout>
      )}
    </WithGatewayStatus>
  );
}

/** For the administrator who is locked out: the command to run on the gateway's machine. */
function RootRecovery() {
  const { t } = useTranslation();
  return (
    <Collapsible label={t('forgot.root')}>
      <Stack gap={10}>
        <Text size="sm" c="dimmed">
          {t('forgot.rootHelp')}
        </Text>
        <CopyField text="taskgate admin reset-password --username root --password-stdin" />
      </Stack>
    </Collapsible>
  );
}

/** The page of an expired link passes on its address. */
function readEmail(state: unknown): string {
  if (typeof state !== 'object' || state === null || !('email' in state)) return '';
  return typeof state.email === 'string' ? state.email : '';
}

type ForgotPasswordFormProps = { status: GatewayStatus; suggested: string; onSent(email: string): void };

function ForgotPasswordForm({ status, suggested, onSent }: ForgotPasswordFormProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [email, setEmail] = useState(suggested);
  const captcha = useCaptcha(status);
  const [isSubmitted, setSubmitted] = useState(false);

  const requestLink = useMutation({
    mutationFn: (address: string) =>
      session.send({ method: 'POST', path: '/api/reset_password', body: { email: address, ...captcha.take() } }),
    onSuccess: (_answer, address) => onSent(address),
    onError: () => field.current?.focus(),
  });

  useEffect(() => field.current?.focus(), []);

  const address = email.trim();
  const validationError = validateEmail(address);
  const fieldError = fieldErrorText(requestLink.error, 'email', { t, language: i18n.language });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    if (validationError !== null) field.current?.focus();
    else if (!captcha.isMissing() && !requestLink.isPending) requestLink.mutate(address);
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {requestLink.isError && fieldError === null && (
          <ErrorNotice error={requestLink.error} codeTexts={{ AUTH_METHOD_DISABLED: 'forgot.noMail' }} />
        )}
        <TextInput
          ref={field}
          type="email"
          label={t('account.email')}
          error={
            isSubmitted && validationError !== null
              ? t(validationError)
              : requestLink.variables === address
                ? fieldError
                : null
          }
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          autoComplete="email"
          autoCapitalize="none"
          spellCheck={false}
          size="md"
        />
        {captcha.element}
        <Button type="submit" size="md" loading={requestLink.isPending} mt={4}>
          {t('forgot.submit')}
        </Button>
      </Stack>
    </form>
  );
}
