import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Navigate } from 'react-router';
import type { SetupState } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { PageHeading } from '../../ui/page-heading.tsx';
import { WelcomeLayout } from '../../ui/welcome-layout.tsx';
import { LostPassword } from './lost-password.tsx';
import { SignInForm } from './sign-in-form.tsx';

export function SignInPage() {
  const { t } = useTranslation();
  const session = useSession();
  // The form does not wait for this answer: only a gateway without a root account leads elsewhere.
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: () => session.send<SetupState>({ method: 'GET', path: '/api/setup' }),
  });
  if (setup.data?.status === false) return <Navigate to="/setup" replace />;
  return (
    <WelcomeLayout>
      <Stack gap={32}>
        <PageHeading title={t('signIn.title')} heading={t('signIn.heading')} intro={t('signIn.intro')} />
        <SignInForm />
        <LostPassword />
      </Stack>
    </WelcomeLayout>
  );
}
