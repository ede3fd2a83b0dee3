import { Button, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from './account-message.tsx';
import { BackToSignIn } from './back-to-sign-in.tsx';
import { ForgotPasswordForm } from './forgot-password-form.tsx';
import { WithGatewayStatus } from './with-gateway-status.tsx';

/**
 * Requests a link to choose a new password. Only the mail reveals whether the address has an
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
              <PageHeading title={title} heading={t('forgot.heading')} intro={t('forgot.intro')} />
              <ForgotPasswordForm status={status} suggested={email} onSent={send} />
              <BackToSignIn />
            </Stack>
          )}
        </WelcomeLayout>
      )}
    </WithGatewayStatus>
  );
}

/** The page of an expired link passes on its address. */
function readEmail(state: unknown): string {
  if (typeof state !== 'object' || state === null || !('email' in state)) return '';
  return typeof state.email === 'string' ? state.email : '';
}
