import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, useNavigate } from 'react-router';
import { loadAllTexts } from '../../i18n/create-i18n.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { FullPageLoader } from '../../ui/page/full-page.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { SignInError } from '../sign-in/sign-in-failure.tsx';
import { TwoFactorForm } from '../sign-in/two-factor-form.tsx';

type FinishLoginProps = {
  /** The API path, with the query that came back. */
  path: string;
  /** The state stored in this tab may be deleted now. */
  onStart(): void;
  /** Where to go after sign-in. */
  redirect: string;
  codeTexts?: Readonly<Record<string, TextKey>>;
};

/**
 * Finishes a sign-in through another site: one API call, the second factor if required, then the
 * redirect.
 */
export function FinishLogin({ path, onStart, redirect, codeTexts }: FinishLoginProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const navigate = useNavigate();
  const [flowToken, setFlowToken] = useState<string | null>(null);
  /** Why the second-factor step ended. */
  const [ended, setEnded] = useState<Error | null>(null);
  const hasStarted = useRef(false);
  const { mutate, error, isSuccess } = useMutation({
    mutationFn: async () => {
      try {
        return await session.signInWith({ method: 'GET', path });
      } catch (refusal) {
        // What providers do wrong has its texts among those of the pages after sign-in.
        await loadAllTexts(i18n).catch(() => undefined);
        throw refusal;
      }
    },
    onSuccess: setFlowToken,
  });
  useEffect(() => {
    if (hasStarted.current) return;
    hasStarted.current = true;
    onStart();
    mutate();
  }, [mutate, onStart]);

  const failure = error ?? ended;
  if (failure !== null) {
    return (
      <WelcomeLayout>
        <Stack gap={28}>
          <PageHeading title={t('signIn.title')} heading={t('error.title')} focus />
          <SignInError error={failure} {...(codeTexts === undefined ? {} : { codeTexts })} />
          <Button component={Link} to="/sign-in" replace size="md">
            {t('oauth.again')}
          </Button>
        </Stack>
      </WelcomeLayout>
    );
  }
  if (!isSuccess) return <FullPageLoader />;
  if (flowToken === null) return <Navigate to={redirect} replace />;
  return (
    <WelcomeLayout>
      <Stack gap={32}>
        <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.intro')} />
        <TwoFactorForm
          flowToken={flowToken}
          onFlowEnded={(reason) => (reason === null ? navigate('/sign-in', { replace: true }) : setEnded(reason))}
          onDone={() => navigate(redirect, { replace: true })}
        />
      </Stack>
    </WelcomeLayout>
  );
}
