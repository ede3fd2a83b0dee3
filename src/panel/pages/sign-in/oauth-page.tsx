import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, useLocation, useNavigate, useParams } from 'react-router';
import { loadTexts } from '../../i18n/create-i18n.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useGatewayStatus, useSession } from '../../session/session-context.tsx';
import { FullPageLoader } from '../../ui/page/full-page.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from '../accounts/account-message.tsx';
import type { PopupMessage } from '../oauth/bind-in-popup.ts';
import { findLogin, forgetLogin, isMarkedPopup, nameProvider } from '../oauth/oauth-sign-in.ts';
import { SignInError } from './sign-in-failure.tsx';
import { TwoFactorForm } from './two-factor-form.tsx';

type OAuthReturn = { kind: 'bind'; opener: Window } | { kind: 'login'; redirect: string } | { kind: 'unknown' };

/**
 * The provider's redirect target: finishes a sign-in of this tab, or a binding in a popup that the
 * panel opened.
 */
export function OAuthPage() {
  const { provider = '' } = useParams();
  const { search } = useLocation();
  const [oauthReturn] = useState(() => classifyReturn(provider, search));
  const forgetLoginState = useCallback(() => forgetLogin(readState(search)), [search]);
  if (oauthReturn.kind === 'bind')
    return <SendToOpener opener={oauthReturn.opener} provider={provider} query={search} />;
  if (oauthReturn.kind === 'unknown') return <OAuthRefusal provider={provider} text="oauth.foreign" />;
  const path = `/api/oauth/${encodeURIComponent(provider)}${search}`;
  return <FinishLogin path={path} onStart={forgetLoginState} redirect={oauthReturn.redirect} />;
}

function classifyReturn(provider: string, search: string): OAuthReturn {
  const state = readState(search);
  const opener: Window | null = window.opener;
  if (opener !== null && isMarkedPopup(provider, state)) return { kind: 'bind', opener };
  const redirect = findLogin(provider, state);
  return redirect === null ? { kind: 'unknown' } : { kind: 'login', redirect };
}

const readState = (search: string): string => new URLSearchParams(search).get('state') ?? '';

const openerTimeoutMs = 30_000;

/** The opener closes this window when it is done. */
function SendToOpener({ opener, provider, query }: { opener: Window; provider: string; query: string }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const message: PopupMessage = { kind: 'taskgate:oauth', provider, query };
    opener.postMessage(message, window.location.origin);
    const timer = setTimeout(() => setLate(true), openerTimeoutMs);
    return () => clearTimeout(timer);
  }, [opener, provider, query]);
  return isLate ? <OAuthRefusal provider={provider} text="oauth.late" /> : <FullPageLoader />;
}

/** An answer to a request that this tab did not start. */
function OAuthRefusal({ provider, text }: { provider: string; text: 'oauth.foreign' | 'oauth.late' }) {
  const { t } = useTranslation();
  const { data: status } = useGatewayStatus();
  return (
    <WelcomeLayout>
      <AccountMessage
        title={t('signIn.title')}
        heading={t('oauth.heading')}
        text={t(text, { service: nameProvider(provider, status) })}
        next={{ to: '/sign-in', text: t('account.toSignIn') }}
      />
    </WelcomeLayout>
  );
}

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
function FinishLogin({ path, onStart, redirect, codeTexts }: FinishLoginProps) {
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
        await loadTexts(i18n, 'rest').catch(() => undefined);
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
          <PageHeading title={t('signIn.title')} heading={t('oauth.heading')} focus />
          <SignInError error={failure} {...(codeTexts === undefined ? {} : { codeTexts })} />
          <Button component={Link} to="/sign-in" replace size="md">
            {t('account.toSignIn')}
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
        <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.hint')} />
        <TwoFactorForm
          flowToken={flowToken}
          onFlowEnded={(reason) => (reason === null ? navigate('/sign-in', { replace: true }) : setEnded(reason))}
          onDone={() => navigate(redirect, { replace: true })}
        />
      </Stack>
    </WelcomeLayout>
  );
}

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
  if (redirect === null) return <OAuthRefusal provider="telegram" text="oauth.foreign" />;
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
  // Without an outcome, this is not where the gateway leads to.
  const refusal = refusals[query.get('error_code') ?? 'TELEGRAM_BIND_FLOW_INVALID'] ?? 'error.unavailable';
  return (
    <WelcomeLayout>
      <AccountMessage
        title={t('telegram.title')}
        heading={t(isDone ? 'telegram.bound.heading' : 'telegram.unbound.heading')}
        text={isDone ? t('telegram.bound.text') : t(refusal)}
        next={{ to: '/security', text: t('telegram.toSecurity') }}
      />
    </WelcomeLayout>
  );
}
