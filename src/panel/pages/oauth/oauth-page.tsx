import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useNavigate, useParams } from 'react-router';
import type { TextKey } from '../../i18n/texts.ts';
import { FullPageLoader, FullPageMessage } from '../../ui/page/full-page.tsx';
import type { PopupMessage } from './bind-in-popup.ts';
import { FinishLogin } from './finish-login.tsx';
import { findLogin, forgetLogin, isMarkedPopup } from './oauth-state-storage.ts';

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
  if (oauthReturn.kind === 'unknown') return <OAuthRefusal text="oauth.foreign" />;
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
  return isLate ? <OAuthRefusal text="oauth.late" /> : <FullPageLoader />;
}

/** An answer to a request that this tab did not start. */
export function OAuthRefusal({ text }: { text: TextKey & ('oauth.foreign' | 'oauth.late') }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <FullPageMessage
      heading={t('error.title')}
      text={t(text)}
      action={t('oauth.again')}
      onAction={() => navigate('/sign-in', { replace: true })}
    />
  );
}
