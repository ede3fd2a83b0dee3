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
 * The return path of Telegram's widget after a sign-in started in this tab; the path contains the
 * state.
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

/** Texts for the error codes in the gateway's redirect. */
const refusals: Readonly<Record<string, TextKey>> = {
  TELEGRAM_BIND_DISABLED: 'error.methodDisabled',
  TELEGRAM_BIND_INVALID_REQUEST: 'telegram.refused',
  TELEGRAM_BIND_FLOW_INVALID: 'telegram.late',
  TELEGRAM_BIND_SESSION_INVALID: 'telegram.sessionOver',
  TELEGRAM_BIND_ALREADY_BOUND: 'error.identityTaken',
  TELEGRAM_BIND_USER_DELETED: 'error.userDisabled',
  TELEGRAM_BIND_USER_DISABLED: 'error.userDisabled',
};

/** The gateway's redirect target after binding a Telegram account: shows the outcome. */
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
