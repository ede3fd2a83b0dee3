import { Stack } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from './account-message.tsx';
import { BackToSignIn } from './back-to-sign-in.tsx';
import { NewPasswordForm } from './new-password-form.tsx';
import { clearAddress, readResetLink } from './reset-link.ts';

/** The target of the mailed link. Its token is kept in this page's memory only. */
export function NewPasswordPage() {
  const { t } = useTranslation();
  const [link] = useState(() => readResetLink(window.location.search));
  const [step, setStep] = useState<'open' | 'done' | 'dead'>(link.token === '' || link.email === '' ? 'dead' : 'open');
  const title = t('reset.title');

  useEffect(clearAddress, []);

  return (
    <WelcomeLayout>
      {step === 'open' && (
        <Stack gap={32}>
          <PageHeading title={title} heading={t('reset.heading')} intro={t('reset.intro')} />
          <NewPasswordForm link={link} onDone={() => setStep('done')} onInvalidLink={() => setStep('dead')} />
        </Stack>
      )}
      {step === 'done' && (
        <AccountMessage
          title={title}
          heading={t('reset.done.heading')}
          text={t('reset.done.text')}
          next={{ to: '/sign-in', text: t('setup.done.next'), state: { username: link.email } }}
        />
      )}
      {step === 'dead' && (
        <AccountMessage
          title={title}
          heading={t('reset.dead.heading')}
          text={t('reset.dead.text')}
          next={{ to: '/forgot-password', text: t('reset.dead.next'), state: { email: link.email } }}
        >
          <BackToSignIn />
        </AccountMessage>
      )}
    </WelcomeLayout>
  );
}
