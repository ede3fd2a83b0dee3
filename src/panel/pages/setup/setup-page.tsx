import { Button, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { GatewayStatus, SetupState } from '../../api/types.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { FullPageLoader } from '../../ui/page/full-page.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { DemoStep } from './demo-step.tsx';
import { SetupForm } from './setup-form.tsx';
import { takeTokenFromAddress } from './setup-token.ts';

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
