import type { LaterTextPart } from 'panel:languages';
import { type ReactNode, Suspense, use, useCallback, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation, useSearchParams } from 'react-router';
import { ApiError } from '../api/api-error.ts';
import { errorMessage } from '../api/error-message.ts';
import { hasTexts, loadTexts } from '../i18n/create-i18n.ts';
import { NotFoundInFrame } from '../pages/not-found-page.tsx';
import { safeRedirect } from '../session/panel-address.ts';
import { useRole } from '../session/roles.ts';
import { SessionProvider, useSession, useSessionSnapshot } from '../session/session-context.tsx';
import { hasSessionHint } from '../session/session-hint.ts';
import { createUnsavedInput, UnsavedInputProvider } from '../session/unsaved-input.ts';
import { waitForPart } from '../shell/pending-parts.ts';
import { useIsUnreachable } from '../ui/page/connection-notice.tsx';
import { FullPageLoader, FullPageMessage } from '../ui/page/full-page.tsx';

type RequireSessionProps = {
  /** Asks for the sign-in over a page that would otherwise lose what was typed. */
  signIn: ReactNode;
  /** What stands at a path for everybody who is not signed in. */
  publicPages: Readonly<Record<string, ReactNode>>;
  children: ReactNode;
};

/**
 * Guards pages that need a session. Without one in memory it asks the server. A session that ends
 * leaves the page for the sign-in, except where something typed would be lost: that page waits
 * below the sign-in, for its own user. A sign-out in another tab leaves nothing behind.
 */
export function RequireSession({ signIn, publicPages, children }: RequireSessionProps) {
  const { t, i18n } = useTranslation();
  const { pathname, search } = useLocation();
  const session = useSession();
  const snapshot = useSessionSnapshot();
  const { phase, end } = snapshot;
  const [hadHint] = useState(hasSessionHint);
  const publicPage = publicPages[pathname];
  const isRestored = publicPage === undefined || hadHint;
  const { error, retry } = useRestore(phase === 'unknown' && isRestored);
  const [last, setLast] = useState(snapshot);
  const [unsavedInput] = useState(createUnsavedInput);
  if (phase === 'signed_in' && last !== snapshot) setLast(snapshot);

  const isEnded = phase === 'anonymous' && last.phase === 'signed_in';
  const isKept = isEnded && (end === 'expired' || end === 'revoked') && unsavedInput.exists();
  const shown = useMemo(() => (isKept ? { ...session, read: () => last } : session), [isKept, session, last]);
  if (phase === 'signed_in' || isKept) {
    return (
      <>
        {/* A page of one user is never shown to another. */}
        <SessionProvider value={shown} key={last.bundle?.user.id}>
          <UnsavedInputProvider value={unsavedInput}>{children}</UnsavedInputProvider>
        </SessionProvider>
        <Suspense fallback={null}>{isKept && signIn}</Suspense>
      </>
    );
  }
  if (publicPage !== undefined && (phase === 'anonymous' || !isRestored)) return publicPage;
  if (phase === 'anonymous') {
    const target = `${pathname}${search}`;
    const to = target === '/' ? '/sign-in' : `/sign-in?redirect=${encodeURIComponent(target)}`;
    return <Navigate to={to} replace state={isEnded && unsavedInput.exists() ? { isWorkLost: true } : null} />;
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
 * Guards pages for people who are not signed in. The hint cookie says whether to ask the server; if
 * it cannot answer, the page is shown, since signing in may still work.
 */
export function RequireAnonymous({ children }: { children: ReactNode }) {
  const [params] = useSearchParams();
  return (
    <SessionSwitch signedIn={<Navigate to={safeRedirect(params.get('redirect'))} replace />} anonymous={children} />
  );
}

/**
 * Renders one of two pages, depending on whether somebody is signed in as far as the hint cookie
 * and the server can tell.
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
 * Guards pages of administrators and root. The server enforces access; this avoids a page full of
 * errors.
 */
export function RequireRole({ role }: { role: number }) {
  if (useRole() < role) return <NotFoundInFrame />;
  return (
    <RequireTexts part="administration">
      <Outlet />
    </RequireTexts>
  );
}

/** Delays between automatic retries, in ms; the last one repeats. */
const retryDelaysMs = [2000, 4000, 8000, 15_000, 30_000];

/**
 * Restores the session. Retries until the server has answered: after a delay, or as soon as the
 * gateway is reachable again.
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

/** Texts that a page has waited for, by language and part: React wants the same promise again. */
const awaitedTexts = new Map<string, Promise<void>>();

/**
 * Renders its children once a part of the texts is loaded, of all pages after sign-in where it is
 * not named. They are not in the first chunk. It suspends, so the former page stays until then.
 */
export function RequireTexts({ part = 'rest', children }: { part?: LaterTextPart; children: ReactNode }) {
  const { i18n } = useTranslation();
  if (!hasTexts(i18n, part)) {
    const key = `${i18n.language} ${part}`;
    const texts = awaitedTexts.get(key) ?? waitForPart(loadTexts(i18n, part));
    awaitedTexts.set(key, texts);
    // Where it fails, the error boundary offers a reload, as for any other chunk.
    use(texts);
  }
  return children;
}
