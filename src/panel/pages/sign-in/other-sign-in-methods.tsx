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
import { SignInFailure } from './sign-in-failure.tsx';

type OtherMethodsProps = {
  status: GatewayStatus;
  onCodeDue(flowToken: string): void;
  /** These two ask for something more on a page of their own. */
  onChosen(method: 'wechat' | 'telegram'): void;
};

const icons: Readonly<Record<string, TablerIcon>> = { github: IconBrandGithub, discord: IconBrandDiscord };

/** Every way in but the password that is switched on; nothing where there is none. */
export function OtherMethods({ status, onCodeDue, onChosen }: OtherMethodsProps) {
  const { t } = useTranslation();
  const session = useSession();
  const [params] = useSearchParams();
  const leave = useMutation({
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

  const button = (text: string, Icon: TablerIcon, onClick: () => void, loading = false) => (
    <Button
      key={text}
      variant="default"
      size="md"
      leftSection={<Icon size={19} stroke={1.6} aria-hidden="true" />}
      loading={loading}
      onClick={onClick}
    >
      {text}
    </Button>
  );
  return (
    <Stack gap={12}>
      {status.password_login_enabled && <Divider label={t('signIn.or')} />}
      {leave.isError && <SignInFailure error={leave.error} />}
      {status.passkey_login && <PasskeyButton status={status} onCodeDue={onCodeDue} />}
      {providers.map(({ slug, name }) =>
        button(
          t('signIn.with', { name }),
          icons[slug] ?? IconLogin2,
          () => leave.mutate(slug),
          // The browser is on its way there until it has gone.
          leave.variables === slug && (leave.isPending || leave.isSuccess),
        ),
      )}
      {status.wechat_login && button(t('signIn.withWeChat'), IconBrandWechat, () => onChosen('wechat'))}
      {status.telegram_oauth &&
        button(t('signIn.with', { name: 'Telegram' }), IconBrandTelegram, () => onChosen('telegram'))}
    </Stack>
  );
}
