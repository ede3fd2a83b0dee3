import { Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from './account-message.tsx';
import { BackToSignIn } from './back-to-sign-in.tsx';
import { type Credentials, SignUpForm } from './sign-up-form.tsx';
import { WithGatewayStatus } from './with-gateway-status.tsx';

/** Registration with a password, where the gateway allows it. */
export function SignUpPage() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [createdName, setCreatedName] = useState<string | null>(null);
  const session = useSession();
  const title = t('signUp.title');
  // The account has no second factor yet, so its password signs in. If that fails, the account is
  // there all the same.
  const signIn = async (account: Credentials): Promise<void> => {
    try {
      await session.signIn(account.username, account.password);
    } catch {
      setCreatedName(account.username);
    }
  };
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
                onDone={(account) => {
                  if (status.password_login_enabled) void signIn(account);
                  else setCreatedName(account.username);
                }}
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
