import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { LegalLine } from '../accounts/legal-line.tsx';
import { WithGatewayStatus } from '../accounts/with-gateway-status.tsx';
import { OtherSignInMethods } from './other-sign-in-methods.tsx';
import { SessionEndedNotice } from './session-ended-notice.tsx';
import { SignInError } from './sign-in-failure.tsx';
import { SignInForm } from './sign-in-form.tsx';
import { SignInHelp } from './sign-in-help.tsx';
import { TelegramStep } from './telegram-step.tsx';
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
          <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.intro')} />
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
        intro={t('signIn.intro', { name: status.system_name })}
      />
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
