import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation, useSearchParams } from 'react-router';
import { describeError } from '../api/describe-error.ts';
import { MissingPage } from '../pages/missing-page.tsx';
import { FullPageLoader, FullPageMessage } from '../ui/full-page.tsx';
import { hasSessionHint } from './read-hint.ts';
import { safeRedirect } from './safe-redirect.ts';
import { useSession, useSessionSnapshot } from './session-context.tsx';
import { useRole } from './use-role.ts';

/** Pages of signed-in people. The server decides: without a session in memory it is always asked. */
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
      text={describeError(error, t, i18n.language)}
      action={t('app.retry')}
      onAction={retry}
    />
  );
}

/**
 * Pages for people who are not signed in. The hint cookie says whether asking the server is worth while; when it cannot
 * answer the page is shown, since signing in may still work.
 */
export function WhenAnonymous({ children }: { children: ReactNode }) {
  const [params] = useSearchParams();
  const { phase } = useSessionSnapshot();
  const worthAsking = phase === 'unknown' && hasSessionHint();
  const { error } = useRestore(worthAsking);

  if (phase === 'signed_in') return <Navigate to={safeRedirect(params.get('redirect'))} replace />;
  return worthAsking && error === null ? <FullPageLoader /> : children;
}

/**
 * Pages of administrators and root. The server refuses everybody else anyway: this only spares the others a page full of refusals.
 */
export function RequireRole({ role }: { role: number }) {
  return useRole() >= role ? <Outlet /> : <MissingPage />;
}

function useRestore(wanted: boolean): { error: Error | null; retry(): void } {
  const session = useSession();
  const { mutate, error } = useMutation({ mutationFn: () => session.restore() });
  useEffect(() => {
    if (wanted) mutate();
  }, [wanted, mutate]);
  return { error, retry: () => mutate() };
}
