import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { createBrowserRouter, RouterProvider } from 'react-router';
import './theme/base.css';
import { useEffect } from 'react';
import { ApiError } from './api/api-error.ts';
import { createSendRequest } from './api/send-request.ts';
import { createI18n } from './i18n/create-i18n.ts';
import { AppRoutes, preloadSignedInPages } from './routes/app-routes.tsx';
import { type Connection, watchConnection } from './session/connection.ts';
import { createSession, type Session } from './session/session.ts';
import { SessionProvider, useGatewayStatus } from './session/session-context.tsx';
import { hasSessionHint, markSession } from './session/session-hint.ts';
import { createTabChannel } from './session/sync-tabs.ts';
import { applyBranding } from './theme/apply-branding.ts';
import { loadFont } from './theme/load-font.ts';
import { theme } from './theme/theme.ts';
import { ConnectionNotice, ConnectionProvider } from './ui/page/connection-notice.tsx';
import { ErrorBoundary } from './ui/page/full-page.tsx';

/**
 * Owns: the panel's pages in the browser. May touch: this origin's API, `contracts`, the types of
 * `http`. Never touches: server code, other origins, a token outside of memory. Built apart from
 * the server by scripts/build-panel.ts.
 *
 * A page is a folder of `pages/`; `routes/pages.ts` lists them. "Get started" with the demo channel
 * is `pages/home/first-steps.tsx`.
 */

const maxTries = 3;

async function start(container: HTMLElement): Promise<void> {
  // The content security policy allows only style tags with the page's nonce.
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  setNonce(nonce);
  loadFont();
  const i18n = await createI18n();
  // People who were signed in before will most likely need these.
  if (hasSessionHint()) void preloadSignedInPages(i18n, location.pathname).catch(() => {});
  const { connection, send } = watchConnection({ send: createSendRequest(), wait: pause, now: () => Date.now() });
  const session = createSession({
    send,
    tabs: createTabChannel(),
    hasHint: hasSessionHint,
    reload: () => window.location.reload(),
    now: () => Date.now(),
  });
  session.subscribe(() => markSession(session.read().phase));
  const queries = new QueryClient({
    defaultOptions: {
      // `navigator.onLine` is not trusted: a browser that is offline can still reach a gateway on
      // its own machine.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: 30_000,
        retry: (failures, error) => failures < maxTries && error instanceof ApiError && error.isTransient,
      },
    },
  });
  refetchOnReconnect(connection, queries);
  clearCacheOnUserChange(session, queries);
  reloadRestoredPage();
  titleCutTexts();
  // Only such a router can ask before a page with unsaved changes is left.
  const router = createBrowserRouter([{ path: '*', Component: AppRoutes }]);
  createRoot(container).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <I18nextProvider i18n={i18n}>
        <ErrorBoundary>
          <QueryClientProvider client={queries}>
            <ConnectionProvider value={connection}>
              <SessionProvider value={session}>
                <BrandingEffect />
                <RouterProvider router={router} />
                <ConnectionNotice />
              </SessionProvider>
            </ConnectionProvider>
          </QueryClientProvider>
        </ErrorBoundary>
      </I18nextProvider>
    </MantineProvider>,
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Refetches everything on the page when the gateway answers again. */
function refetchOnReconnect(connection: Connection, queries: QueryClient): void {
  window.addEventListener('online', connection.checkNow);
  window.addEventListener('offline', connection.checkNow);
  connection.subscribe(() => {
    if (!connection.isUnreachable()) void queries.invalidateQueries();
  });
}

/**
 * Clears cached data when another user signs in on this page, so that they see nothing of the
 * previous one.
 */
function clearCacheOnUserChange(session: Session, queries: QueryClient): void {
  let owner: number | undefined;
  session.subscribe(() => {
    const present = session.read().bundle?.user.id;
    if (present === undefined || present === owner) return;
    if (owner !== undefined) queries.removeQueries({ predicate: ({ queryKey: [kind] }) => kind !== 'status' });
    owner = present;
  });
}

/**
 * A page restored from the back/forward cache may show another session's data, so it is reloaded.
 */
function reloadRestoredPage(): void {
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) window.location.reload();
  });
}

/** Applies the operator's colour and icon once they are known, and whenever they change. */
function BrandingEffect() {
  const { data } = useGatewayStatus();
  const accent = data?.accent ?? '';
  const logo = data?.logo ?? '';
  useEffect(() => applyBranding({ accent, logo }), [accent, logo]);
  return null;
}

/** A text that ends in an ellipsis tells the rest while the pointer rests on it. */
function titleCutTexts(): void {
  document.addEventListener('pointerover', ({ target }) => {
    if (!(target instanceof HTMLElement) || target.title !== '') return;
    const cut = findCutText(target);
    // A title around it may say more, such as a full time.
    if (cut === null || cut.closest('[title]') !== null) return;
    cut.title = cut instanceof HTMLInputElement ? cut.value : (cut.textContent ?? '').trim();
  });
}

/** The text itself may be in an element below the one that cuts it. */
function findCutText(target: HTMLElement): HTMLElement | null {
  for (const element of [target, target.parentElement]) {
    if (element === null) continue;
    if (element instanceof HTMLInputElement) return element.scrollWidth > element.clientWidth ? element : null;
    const { textOverflow, webkitLineClamp } = getComputedStyle(element);
    if (textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth) return element;
    if (webkitLineClamp !== 'none' && element.scrollHeight > element.clientHeight) return element;
  }
  return null;
}

const container = document.getElementById('root');
if (container !== null) void start(container);
