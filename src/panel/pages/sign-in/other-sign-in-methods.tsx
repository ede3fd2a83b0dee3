import { Button, Divider, Stack } from '@mantine/core';
import {
  IconBrandDiscord,
  IconBrandGithub,
  IconBrandTelegram,
  IconBrandWechat,
  IconLogin2,
  type TablerIcon,
} from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { GatewayStatus, OAuthTicket } from '../../api/types.ts';
import { safeRedirect } from '../../session/safe-redirect.ts';
import { useSession } from '../../session/session-context.tsx';
import { readAffiliateCode } from '../accounts/affiliate-code.ts';
import { listProviders } from '../oauth/oauth-providers.ts';
import { rememberLogin } from '../oauth/oauth-state-storage.ts';
import { PasskeyButton } from './passkey-button.tsx';
import { SignInError } from './sign-in-failure.tsx';

type OtherSignInMethodsProps = {
  status: GatewayStatus;
  onTwoFactorRequired(flowToken: string): void;
  /** These two continue on a page of their own. */
  onSelect(method: 'wechat' | 'telegram'): void;
};

const icons: Readonly<Record<string, TablerIcon>> = { github: IconBrandGithub, discord: IconBrandDiscord };

/** All enabled sign-in methods except the password; renders nothing if there are none. */
export function OtherSignInMethods({ status, onTwoFactorRequired, onSelect }: OtherSignInMethodsProps) {
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
  const providers = listProviders(status);
  if (providers.length === 0 && !status.passkey_login && !status.wechat_login && !status.telegram_oauth) return null;

  return (
    <Stack gap={12}>
      {status.password_login_enabled && <Divider label={t('signIn.or')} />}
      {startOAuth.isError && <SignInError error={startOAuth.error} />}
      {status.passkey_login && <PasskeyButton status={status} onTwoFactorRequired={onTwoFactorRequired} />}
      {providers.map(({ slug, name }) => (
        <MethodButton
          key={slug}
          text={t('signIn.with', { name })}
          Icon={icons[slug] ?? IconLogin2}
          // Stays busy after success, until the browser has left this page.
          isBusy={startOAuth.variables === slug && (startOAuth.isPending || startOAuth.isSuccess)}
          onClick={() => startOAuth.mutate(slug)}
        />
      ))}
      {status.wechat_login && (
        <MethodButton text={t('signIn.withWeChat')} Icon={IconBrandWechat} onClick={() => onSelect('wechat')} />
      )}
      {status.telegram_oauth && (
        <MethodButton
          text={t('signIn.with', { name: 'Telegram' })}
          Icon={IconBrandTelegram}
          onClick={() => onSelect('telegram')}
        />
      )}
    </Stack>
  );
}

type MethodButtonProps = { text: string; Icon: TablerIcon; isBusy?: boolean; onClick(): void };

function MethodButton({ text, Icon, isBusy = false, onClick }: MethodButtonProps) {
  return (
    <Button
      variant="default"
      size="md"
      leftSection={<Icon size={19} stroke={1.6} aria-hidden="true" />}
      loading={isBusy}
      onClick={onClick}
    >
      {text}
    </Button>
  );
}
