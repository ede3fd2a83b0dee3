import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation, useSearchParams } from 'react-router';
import { ApiError } from '../api/api-error.ts';
import { errorMessage } from '../api/error-message.ts';
import { NotFoundInFrame } from '../pages/not-found-page.tsx';
import { FullPageLoader, FullPageMessage } from '../ui/page/full-page.tsx';
import { useIsUnreachable } from './connection-notice.tsx';
import { useRole } from './roles.ts';
import { safeRedirect } from './safe-redirect.ts';
import { useSession, useSessionSnapshot } from './session-context.tsx';
import { hasSessionHint } from './session-hint.ts';

/**
 * Pages of signed-in people. The server decides: without a session in memory it is always asked.
 */
export function RequireSession({ children }: { children: ReactNode }) {
  const { t, i18n } = useTranslation();
  const { pathname, search } = useLocation();
  const { phase } = useSessionSnapshot();
  const { error, retry } = useRestore(phase === 'unknown');

  if (phase === 'signed_in') return children;
  if (phase === 'anonymous') {
    const target = `${pathname}${search}`;
    return <Navigate to={target === '/' ? '/sign-in' : `/sign-in?redirect=${encodeURIComponent(target)}`} replace />;
  }
  if (error === null) return <FullPageLoader />;
  return (
    <FullPageMessage
      heading={t('error.title')}
      text={errorMessage(error, t, i18n.language)}
      action={t('app.retry')}
      onAction={retry}
    />
  );
}

/**
 * Pages for people who are not signed in. The hint cookie says whether asking the server is worth
 * while; when it cannot answer the page is shown, since signing in may still work.
 */
export function RequireAnonymous({ children }: { children: ReactNode }) {
  const [params] = useSearchParams();
  return (
    <SessionSwitch signedIn={<Navigate to={safeRedirect(params.get('redirect'))} replace />} anonymous={children} />
  );
}

/**
 * One page for who is signed in, as far as the hint cookie and the server say at once, another for
 * everybody else.
 */
export function SessionSwitch({ signedIn, anonymous }: { signedIn: ReactNode; anonymous: ReactNode }) {
  const { phase } = useSessionSnapshot();
  const [hadHint] = useState(hasSessionHint);
  const shouldRestore = phase === 'unknown' && hadHint;
  const { error } = useRestore(shouldRestore);

  if (phase === 'signed_in') return signedIn;
  return shouldRestore && error === null ? <FullPageLoader /> : anonymous;
}

/**
 * Pages of administrators and root. The server refuses everybody else anyway: this only spares the
 * others a page full of refusals.
 */
export function RequireRole({ role }: { role: number }) {
  return useRole() >= role ? <Outlet /> : <NotFoundInFrame />;
}

/** Between tries that nobody asked for, in ms; the last one is repeated. */
const retryDelaysMs = [2000, 4000, 8000, 15_000, 30_000];

/**
 * Asks who is signed in until the server has said so: again after a while, and as soon as a gateway
 * that was away is back.
 */
function useRestore(enabled: boolean): { error: unknown; retry(): void } {
  const session = useSession();
  const isUnreachable = useIsUnreachable();
  const [{ error, failures }, setOutcome] = useState<{ error: unknown; failures: number }>({
    error: null,
    failures: 0,
  });

  const restore = useCallback(async () => {
    try {
      await session.restore();
    } catch (error) {
      setOutcome((before) => ({ error: error, failures: before.failures + 1 }));
    }
  }, [session]);

  useEffect(() => {
    if (!enabled || isUnreachable) return;
    const wasUnreachable = error instanceof ApiError && error.status === 0;
    const retryAfterMs = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
    const delayMs = retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? 0;
    const timer = setTimeout(() => void restore(), wasUnreachable ? 0 : Math.max(delayMs, retryAfterMs));
    return () => clearTimeout(timer);
  }, [enabled, isUnreachable, error, failures, restore]);

  return { error, retry: () => void restore() };
}
