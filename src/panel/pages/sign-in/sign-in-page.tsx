import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate } from 'react-router';
import type { SetupState } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { PageHeading } from '../../ui/page-heading.tsx';
import { WelcomeLayout } from '../../ui/welcome-layout.tsx';
import { CodeForm } from './code-form.tsx';
import { OtherWays } from './other-ways.tsx';
import { ProviderButtons } from './provider-buttons.tsx';
import { SignInForm } from './sign-in-form.tsx';

export function SignInPage() {
  const { t } = useTranslation();
  const session = useSession();
  const [flowToken, setFlowToken] = useState<string | null>(null);
  const [notice, setNotice] = useState<Error | null>(null);
  // The form does not wait for this answer: only a gateway without a root account leads elsewhere.
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: () => session.send<SetupState>({ method: 'GET', path: '/api/setup' }),
  });
  const beginAgain = (reason: Error | null): void => {
    setNotice(reason);
    setFlowToken(null);
  };
  if (setup.data?.status === false) return <Navigate to="/setup" replace />;
  return (
    <WelcomeLayout>
      <Stack gap={32}>
        {flowToken === null ? (
          <>
            <PageHeading title={t('signIn.title')} heading={t('signIn.heading')} intro={t('signIn.intro')} />
            <SignInForm notice={notice} onCodeDue={setFlowToken} />
            <ProviderButtons />
            <OtherWays />
          </>
        ) : (
          <>
            <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.intro')} />
            <CodeForm flowToken={flowToken} onOver={beginAgain} />
          </>
        )}
      </Stack>
    </WelcomeLayout>
  );
}
