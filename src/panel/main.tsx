/**
 * Owns: the panel's pages in the browser. May touch: this origin's API, `contracts`, the types of `http`. Never touches:
 * server code, other origins, a token outside of memory. Built apart from the server by scripts/build-panel.ts.
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
import { createI18n } from './i18n/create-i18n.ts';
import { AppRoutes } from './routes/app-routes.tsx';
import { createSession } from './session/session.ts';
import { SessionProvider } from './session/session-context.tsx';
import { createTabChannel } from './session/sync-tabs.ts';
import { loadFont } from './theme/load-font.ts';
import { theme } from './theme/theme.ts';
import { CrashBoundary } from './ui/crash-boundary.tsx';

const maxTries = 3;

async function start(container: HTMLElement): Promise<void> {
  // The page's policy allows only style tags that carry its nonce.
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  setNonce(nonce);
  loadFont();
  const i18n = await createI18n();
  const session = createSession({
    send: createSendRequest(),
    tabs: createTabChannel(),
    reload: () => window.location.reload(),
  });
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        retry: (failures, error) => failures < maxTries && error instanceof ApiError && error.isTransient,
      },
    },
  });
  createRoot(container).render(
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <I18nextProvider i18n={i18n}>
        <CrashBoundary>
          <QueryClientProvider client={queries}>
            <SessionProvider value={session}>
              <BrowserRouter>
                <AppRoutes />
              </BrowserRouter>
            </SessionProvider>
          </QueryClientProvider>
        </CrashBoundary>
      </I18nextProvider>
    </MantineProvider>,
  );
}

const container = document.getElementById('root');
if (container !== null) void start(container);
