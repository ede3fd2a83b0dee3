import { Anchor, Button, Divider, Stack, Text } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { GatewayStatus, OAuthTicket, PasskeyRequest } from '../../api/types.ts';
import { safeRedirect } from '../../session/panel-address.ts';
import { getPasskeyAssertion, hasPasskeys } from '../../session/passkeys.ts';
import { useSession } from '../../session/session-context.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { readAffiliateCode } from '../accounts/link-parameters.ts';
import { beginTelegramLogin, listProviders, rememberLogin } from '../oauth/oauth-sign-in.ts';
import { ProviderIcon } from '../oauth/provider-icon.tsx';
import { TelegramWidget } from '../oauth/telegram-widget.tsx';
import { SignInError, StepBack } from './sign-in-failure.tsx';

type OtherSignInMethodsProps = {
  status: GatewayStatus;
  onTwoFactorRequired(flowToken: string): void;
  /** These two continue on a page of their own. */
  onSelect(method: 'wechat' | 'telegram'): void;
};

/** All enabled sign-in methods except the password; renders nothing if there are none. */
export function OtherSignInMethods({ status, onTwoFactorRequired, onSelect }: OtherSignInMethodsProps) {
  const { t } = useTranslation();
  const providers = listProviders(status);
  if (providers.length === 0 && !status.passkey_login && !status.wechat_login && !status.telegram_oauth) return null;

  return (
    <Stack gap={12}>
      {status.password_login_enabled && <Divider label={t('signIn.or')} />}
      {status.passkey_login && <PasskeyButton status={status} onTwoFactorRequired={onTwoFactorRequired} />}
      <ProviderButtons status={status} />
      {status.wechat_login && (
        <MethodButton text={t('signIn.withWeChat')} slug="wechat" onClick={() => onSelect('wechat')} />
      )}
      {status.telegram_oauth && (
        <MethodButton
          text={t('signIn.with', { name: 'Telegram' })}
          slug="telegram"
          onClick={() => onSelect('telegram')}
        />
      )}
    </Stack>
  );
}

/** The providers that create an account at the first sign-in; renders nothing if there are none. */
export function SignUpWithProvider({ status, askConsent }: ProviderButtonsProps) {
  const { t } = useTranslation();
  if (!status.register_enabled || listProviders(status).length === 0) return null;
  return (
    <Stack gap={12}>
      <Divider label={t('signIn.or')} />
      <ProviderButtons status={status} askConsent={askConsent} />
    </Stack>
  );
}

type ProviderButtonsProps = {
  status: GatewayStatus;
  /** Whether the consent that an account needs is given. */
  askConsent?: (() => boolean) | undefined;
};

function ProviderButtons({ status, askConsent = () => true }: ProviderButtonsProps) {
  const { t } = useTranslation();
  const session = useSession();
  const [params] = useSearchParams();
  const startOAuth = useMutation({
    mutationFn: async (provider: string) => {
      const aff = readAffiliateCode(params);
      const body = { provider, intent: 'login', ...(aff === '' ? {} : { aff }) };
      const ticket = await session.send<OAuthTicket>({ method: 'POST', path: '/api/oauth/state', body });
      rememberLogin(ticket.flow_token, { provider, redirect: safeRedirect(params.get('redirect')) });
      window.location.assign(ticket.authorization_url);
    },
  });
  return (
    <>
      {startOAuth.isError && <SignInError error={startOAuth.error} />}
      {listProviders(status).map(({ slug, name }) => (
        <MethodButton
          key={slug}
          text={t('signIn.with', { name })}
          slug={slug}
          // Stays busy after success, until the browser has left this page.
          isBusy={startOAuth.variables === slug && (startOAuth.isPending || startOAuth.isSuccess)}
          onClick={() => askConsent() && startOAuth.mutate(slug)}
        />
      ))}
    </>
  );
}

type MethodButtonProps = { text: string; slug: string; isBusy?: boolean; onClick(): void };

function MethodButton({ text, slug, isBusy = false, onClick }: MethodButtonProps) {
  return (
    <Button
      variant="default"
      size="md"
      leftSection={<ProviderIcon slug={slug} size={19} />}
      loading={isBusy}
      onClick={onClick}
    >
      {text}
    </Button>
  );
}

type PasskeyButtonProps = { status: GatewayStatus; onTwoFactorRequired(flowToken: string): void };

/** Signs in with a passkey and no name. If this browser cannot, shows the reason instead. */
function PasskeyButton({ status, onTwoFactorRequired }: PasskeyButtonProps) {
  const { t } = useTranslation();
  const session = useSession();
  const signIn = useMutation({
    mutationFn: async () => {
      const ceremony = await session.send<PasskeyRequest>({ method: 'POST', path: '/api/user/passkey/login/begin' });
      const credential = await getPasskeyAssertion(ceremony.options.publicKey);
      const body = { flow_token: ceremony.flow_token, credential };
      return session.signInWith({ method: 'POST', path: '/api/user/passkey/login/finish', body });
    },
    onSuccess: (flowToken) => flowToken !== null && onTwoFactorRequired(flowToken),
  });

  const origins = status.passkey_origins.split(',');
  if (!origins.includes(window.location.origin)) return <OtherOriginHint origin={origins[0] ?? ''} />;
  if (!hasPasskeys()) return <Hint>{t('signIn.passkey.unknown')}</Hint>;
  return (
    <Stack gap={12}>
      {signIn.isError && (
        <SignInError error={signIn.error} codeTexts={{ AUTH_INVALID_CREDENTIALS: 'signIn.passkey.refused' }} />
      )}
      <Button
        variant={status.password_login_enabled ? 'default' : 'filled'}
        size="md"
        leftSection={<IconFingerprint size={19} stroke={1.6} aria-hidden="true" />}
        loading={signIn.isPending}
        onClick={() => signIn.mutate()}
      >
        {t('signIn.passkey')}
      </Button>
    </Stack>
  );
}

/**
 * Browsers offer passkeys only on the origin they were created for, and only in secure contexts.
 */
function OtherOriginHint({ origin }: { origin: string }) {
  const address = `${origin}${window.location.pathname}${window.location.search}`;
  return (
    <Hint>
      <Trans
        i18nKey="signIn.passkey.elsewhere"
        values={{ origin }}
        components={{ address: <Anchor href={address} inherit underline="always" /> }}
      />
    </Hint>
  );
}

const Hint = ({ children }: { children: ReactNode }) => (
  <Text size="sm" c="dimmed" lh={1.5}>
    {children}
  </Text>
);

type TelegramStepProps = { botName: string; onBack(): void };

/** Sign-in with Telegram's button. */
export function TelegramStep({ botName, onBack }: TelegramStepProps) {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const [path] = useState(() => `/oauth/telegram/${beginTelegramLogin(safeRedirect(params.get('redirect')))}`);
  return (
    <>
      <PageHeading title={t('signIn.title')} heading={t('telegram.heading')} intro={t('telegram.intro')} focus />
      <Stack gap={20}>
        <TelegramWidget botName={botName} path={path} />
        <StepBack text={t('signIn.otherWay')} onClick={onBack} />
      </Stack>
    </>
  );
}
