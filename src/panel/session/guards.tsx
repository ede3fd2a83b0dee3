import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation, useSearchParams } from 'react-router';
import { ApiError } from '../api/api-error.ts';
import { describeError } from '../api/error-message.ts';
import { MissingHere } from '../pages/not-found-page.tsx';
import { FullPageLoader, FullPageMessage } from '../ui/page/full-page.tsx';
import { useIsOffline } from './connection-notice.tsx';
import { safeRedirect } from './safe-redirect.ts';
import { useSession, useSessionSnapshot } from './session-context.tsx';
import { hasSessionHint } from './session-hint.ts';
import { useRole } from './roles.ts';

/**
 * Pages of signed-in people. The server decides: without a session in memory it is always asked.
 */
export function RequireSession({ children }: { children: ReactNode }) {
  const { t, i18n } = useTranslation();
  const { pathname, search } = useLocation();
  const { phase } = useSessionSnapshot();
  const { trouble, retry } = useRestore(phase === 'unknown');

  if (phase === 'signed_in') return children;
  if (phase === 'anonymous') {
    const target = `${pathname}${search}`;
    return <Navigate to={target === '/' ? '/sign-in' : `/sign-in?redirect=${encodeURIComponent(target)}`} replace />;
  }
  if (trouble === null) return <FullPageLoader />;
  return (
    <FullPageMessage
      heading={t('error.title')}
      text={describeError(trouble, t, i18n.language)}
      action={t('app.retry')}
      onAction={retry}
    />
  );
}

/**
 * Pages for people who are not signed in. The hint cookie says whether asking the server is worth
 * while; when it cannot answer the page is shown, since signing in may still work.
 */
export function WhenAnonymous({ children }: { children: ReactNode }) {
  const [params] = useSearchParams();
  return <Either signedIn={<Navigate to={safeRedirect(params.get('redirect'))} replace />} anonymous={children} />;
}

/**
 * One page for who is signed in, as far as the hint cookie and the server say at once, another for
 * everybody else.
 */
export function Either({ signedIn, anonymous }: { signedIn: ReactNode; anonymous: ReactNode }) {
  const { phase } = useSessionSnapshot();
  const [wasHinted] = useState(hasSessionHint);
  const worthAsking = phase === 'unknown' && wasHinted;
  const { trouble } = useRestore(worthAsking);

  if (phase === 'signed_in') return signedIn;
  return worthAsking && trouble === null ? <FullPageLoader /> : anonymous;
}

/**
 * Pages of administrators and root. The server refuses everybody else anyway: this only spares the
 * others a page full of refusals.
 */
export function RequireRole({ role }: { role: number }) {
  return useRole() >= role ? <Outlet /> : <MissingHere />;
}

/** Between tries that nobody asked for, in ms; the last one is repeated. */
const pausesMs = [2000, 4000, 8000, 15_000, 30_000];

/**
 * Asks who is signed in until the server has said so: again after a while, and as soon as a gateway
 * that was away is back.
 */
function useRestore(wanted: boolean): { trouble: unknown; retry(): void } {
  const session = useSession();
  const isAway = useIsOffline();
  const [{ trouble, failures }, setOutcome] = useState<{ trouble: unknown; failures: number }>({
    trouble: null,
    failures: 0,
  });

  const ask = useCallback(async () => {
    try {
      await session.restore();
    } catch (error) {
      setOutcome((before) => ({ trouble: error, failures: before.failures + 1 }));
    }
  }, [session]);

  useEffect(() => {
    if (!wanted || isAway) return;
    const wasAway = trouble instanceof ApiError && trouble.status === 0;
    const told = trouble instanceof ApiError ? (trouble.retryAfter ?? 0) * 1000 : 0;
    const pause = pausesMs[Math.min(failures, pausesMs.length) - 1] ?? 0;
    const timer = setTimeout(() => void ask(), wasAway ? 0 : Math.max(pause, told));
    return () => clearTimeout(timer);
  }, [wanted, isAway, trouble, failures, ask]);

  return { trouble, retry: () => void ask() };
}
