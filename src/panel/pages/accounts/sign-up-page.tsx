import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from './account-message.tsx';
import { BackToSignIn } from './back-to-sign-in.tsx';
import { SignUpForm } from './sign-up-form.tsx';
import { WithGatewayStatus } from './with-gateway-status.tsx';

/** Registration with a password, where the gateway allows it. */
export function SignUpPage() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [createdName, setCreatedName] = useState<string | null>(null);
  const title = t('signUp.title');
  const toSignIn = { to: '/sign-in', text: t('account.toSignIn') };

  return (
    <WithGatewayStatus>
      {(status) => (
        <WelcomeLayout>
          {createdName !== null ? (
            <AccountMessage
              title={title}
              heading={t('signUp.done.heading')}
              text={t('signUp.done.text', { username: createdName })}
              next={{ to: '/sign-in', text: t('setup.done.next'), state: { username: createdName } }}
            />
          ) : !status.password_register_enabled ? (
            <AccountMessage
              title={title}
              heading={t('signUp.closed.heading')}
              text={t('signUp.closed.text')}
              next={toSignIn}
            />
          ) : (
            <Stack gap={32}>
              <PageHeading title={title} heading={t('signUp.heading')} intro={t('signUp.intro')} />
              <SignUpForm
                status={status}
                onDone={setCreatedName}
                onClosed={() => void queries.invalidateQueries({ queryKey: ['status'] })}
              />
              <BackToSignIn />
            </Stack>
          )}
        </WelcomeLayout>
      )}
    </WithGatewayStatus>
  );
}
