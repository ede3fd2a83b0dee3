import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, useLocation, useNavigate, useParams } from 'react-router';
import { describeError } from '../../api/describe-error.ts';
import { useSession } from '../../session/session-context.tsx';
import { FullPageLoader, FullPageMessage } from '../../ui/full-page.tsx';
import { PageHeading } from '../../ui/page-heading.tsx';
import { WelcomeLayout } from '../../ui/welcome-layout.tsx';
import { CodeForm } from '../sign-in/code-form.tsx';
import type { PopupMessage } from './bind-in-popup.ts';
import { findLogin, forgetLogin, isStampedPopup } from './trips.ts';

type Trip = { kind: 'bind'; opener: Window } | { kind: 'login'; redirect: string } | { kind: 'unknown' };

/** Where a provider sends the browser back to: the end of a sign-in of this tab, or of a popup that a page of ours has opened. */
export function OAuthPage() {
  const { provider = '' } = useParams();
  const { search } = useLocation();
  const [trip] = useState(() => readTrip(provider, search));
  if (trip.kind === 'bind') return <HandOver opener={trip.opener} provider={provider} query={search} />;
  if (trip.kind === 'login') return <FinishLogin provider={provider} query={search} redirect={trip.redirect} />;
  return <Refusal text="oauth.foreign" />;
}

function readTrip(provider: string, search: string): Trip {
  const state = readState(search);
  const opener: Window | null = window.opener;
  if (opener !== null && isStampedPopup(provider, state)) return { kind: 'bind', opener };
  const redirect = findLogin(provider, state);
  return redirect === null ? { kind: 'unknown' } : { kind: 'login', redirect };
}

const readState = (search: string): string => new URLSearchParams(search).get('state') ?? '';

const patienceMs = 30_000;

/** The page that opened this window closes it when it is done. */
function HandOver({ opener, provider, query }: { opener: Window; provider: string; query: string }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const message: PopupMessage = { kind: 'taskgate:oauth', provider, query };
    opener.postMessage(message, window.location.origin);
    const timer = setTimeout(() => setLate(true), patienceMs);
    return () => clearTimeout(timer);
  }, [opener, provider, query]);
  return isLate ? <Refusal text="oauth.late" /> : <FullPageLoader />;
}

function FinishLogin({ provider, query, redirect }: { provider: string; query: string; redirect: string }) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const navigate = useNavigate();
  const [flowToken, setFlowToken] = useState<string | null>(null);
  const begun = useRef(false);
  const { mutate, error, isSuccess } = useMutation({
    mutationFn: () => session.signInAt({ method: 'GET', path: `/api/oauth/${encodeURIComponent(provider)}${query}` }),
    onSuccess: setFlowToken,
  });
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    forgetLogin(readState(query));
    mutate();
  }, [mutate, query]);

  if (error !== null) return <Refusal text={describeError(error, t, i18n.language)} isSaid />;
  if (!isSuccess) return <FullPageLoader />;
  if (flowToken === null) return <Navigate to={redirect} replace />;
  const leave = () => navigate('/sign-in', { replace: true });
  return (
    <WelcomeLayout>
      <PageHeading title={t('signIn.title')} heading={t('code.heading')} intro={t('code.intro')} />
      <CodeForm flowToken={flowToken} onOver={leave} onDone={() => navigate(redirect, { replace: true })} />
    </WelcomeLayout>
  );
}

type RefusalProps = { text: 'oauth.foreign' | 'oauth.late'; isSaid?: false } | { text: string; isSaid: true };

function Refusal(props: RefusalProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  return (
    <FullPageMessage
      heading={t('error.title')}
      text={props.isSaid ? props.text : t(props.text)}
      action={t('oauth.again')}
      onAction={() => navigate('/sign-in', { replace: true })}
    />
  );
}
