import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useParams } from 'react-router';
import type { TextKey } from '../../i18n/texts.ts';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from '../accounts/account-message.tsx';
import { FinishLogin } from './finish-login.tsx';
import { OAuthRefusal } from './oauth-page.tsx';
import { findLogin, forgetLogin } from './oauth-state-storage.ts';

const codeTexts = {
  AUTH_INVALID_CREDENTIALS: 'telegram.refused',
  AUTH_ASSERTION_REPLAYED: 'telegram.refused',
  AUTH_IDENTITY_UNBOUND: 'telegram.unbound',
} as const satisfies Record<string, TextKey>;

/**
 * Where Telegram's widget leads after a sign-in that began in this tab; its name of the trip is in
 * the path.
 */
export function TelegramLoginPage() {
  const { state = '' } = useParams();
  const { search } = useLocation();
  const [redirect] = useState(() => findLogin('telegram', state));
  const forgetLoginState = useCallback(() => forgetLogin(state), [state]);
  if (redirect === null) return <OAuthRefusal text="oauth.foreign" />;
  const path = `/api/oauth/telegram/login${search}`;
  return <FinishLogin path={path} onStart={forgetLoginState} redirect={redirect} codeTexts={codeTexts} />;
}

/** Why an account was not connected, as the gateway's return address puts it. */
const refusals: Readonly<Record<string, TextKey>> = {
  TELEGRAM_BIND_DISABLED: 'error.methodDisabled',
  TELEGRAM_BIND_INVALID_REQUEST: 'telegram.refused',
  TELEGRAM_BIND_FLOW_INVALID: 'telegram.late',
  TELEGRAM_BIND_SESSION_INVALID: 'telegram.sessionOver',
  TELEGRAM_BIND_ALREADY_BOUND: 'error.identityTaken',
  TELEGRAM_BIND_USER_DELETED: 'error.userDisabled',
  TELEGRAM_BIND_USER_DISABLED: 'error.userDisabled',
};

/**
 * Where the gateway leads after it was to connect a Telegram account: what came of it, and the way
 * back.
 */
export function TelegramBindPage() {
  const { t } = useTranslation();
  const { search } = useLocation();
  const query = new URLSearchParams(search);
  const isDone = query.get('telegram_bind') === 'success';
  const refusal = refusals[query.get('error_code') ?? ''] ?? 'error.unavailable';
  return (
    <WelcomeLayout>
      <AccountMessage
        title={t('telegram.title')}
        heading={isDone ? t('telegram.bound.heading') : t('error.title')}
        text={isDone ? t('telegram.bound.text') : t(refusal)}
        next={{ to: '/security', text: t('telegram.toSecurity') }}
      />
    </WelcomeLayout>
  );
}
