/**
 * Owns: the panel's pages in the browser. May touch: this origin's API, `contracts`, the types of
 * `http`. Never touches: server code, other origins, a token outside of memory. Built apart from
 * the server by scripts/build-panel.ts.
 */
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { BrowserRouter } from 'react-router';
import './theme/base.css';
import { ApiError } from './api/api-error.ts';
import { createSendRequest } from './api/send-request.ts';
import { createI18n, loadAllTexts } from './i18n/create-i18n.ts';
import { AppRoutes, preloadSignedInPages } from './routes/app-routes.tsx';
import { type Connection, watchConnection } from './session/connection.ts';
import { ConnectionNotice, ConnectionProvider } from './session/connection-notice.tsx';
import { createSession, type Session } from './session/session.ts';
import { SessionProvider } from './session/session-context.tsx';
import { hasSessionHint } from './session/session-hint.ts';
import { createTabChannel } from './session/sync-tabs.ts';
import { loadFont } from './theme/load-font.ts';
import { theme } from './theme/theme.ts';
import { ErrorBoundary } from './ui/page/error-boundary.tsx';

const maxTries = 3;

async function start(container: HTMLElement): Promise<void> {
  // The page's policy allows only style tags that carry its nonce.
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  setNonce(nonce);
  loadFont();
  const i18n = await createI18n();
  // Whoever was signed in will most likely need them.
  if (hasSessionHint()) void Promise.all([loadAllTexts(i18n), preloadSignedInPages()]).catch(() => {});
  const { connection, send } = watchConnection({ send: createSendRequest(), wait: pause });
  const session = createSession({
    send,
    tabs: createTabChannel(),
    hasHint: hasSessionHint,
    reload: () => window.location.reload(),
    now: () => Date.now(),
  });
  const queries = new QueryClient({
    defaultOptions: {
      // A browser that believes itself offline still reaches a gateway on its own machine: whether
      // requests arrive is seen by sending them.
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
  createRoot(container).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <I18nextProvider i18n={i18n}>
        <ErrorBoundary>
          <QueryClientProvider client={queries}>
            <ConnectionProvider value={connection}>
              <SessionProvider value={session}>
                <BrowserRouter>
                  <AppRoutes />
                </BrowserRouter>
              </SessionProvider>
              <ConnectionNotice />
            </ConnectionProvider>
          </QueryClientProvider>
        </ErrorBoundary>
      </I18nextProvider>
    </MantineProvider>,
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What was on the page while the gateway did not answer is asked for anew when it does. */
function refetchOnReconnect(connection: Connection, queries: QueryClient): void {
  window.addEventListener('online', connection.checkNow);
  window.addEventListener('offline', connection.checkNow);
  connection.subscribe(() => {
    if (!connection.isUnreachable()) void queries.invalidateQueries();
  });
}

/** Nobody sees what was asked for somebody else who signed in on this page before him. */
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
 * A page that the browser has kept while another was shown is as it was left, whoever has signed
 * out or in since.
 */
function reloadRestoredPage(): void {
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) window.location.reload();
  });
}

const container = document.getElementById('root');
if (container !== null) void start(container);
