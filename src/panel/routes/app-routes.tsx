import { lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { MissingPage } from '../pages/missing-page.tsx';
import { RequireSession, WhenAnonymous } from '../session/guards.tsx';
import { FullPageLoader } from '../ui/full-page.tsx';

// Each page is a chunk of its own.
const SetupPage = lazy(async () => ({ default: (await import('../pages/setup/setup-page.tsx')).SetupPage }));
const SignInPage = lazy(async () => ({ default: (await import('../pages/sign-in/sign-in-page.tsx')).SignInPage }));
const OAuthPage = lazy(async () => ({ default: (await import('../pages/oauth/oauth-page.tsx')).OAuthPage }));
const HomePage = lazy(async () => ({ default: (await import('../pages/home/home-page.tsx')).HomePage }));

export function AppRoutes() {
  return (
    <Suspense fallback={<FullPageLoader />}>
      <Routes>
        <Route path="/setup" element={<SetupPage />} />
        <Route
          path="/sign-in"
          element={
            <WhenAnonymous>
              <SignInPage />
            </WhenAnonymous>
          }
        />
        <Route path="/oauth/:provider" element={<OAuthPage />} />
        <Route
          path="/"
          element={
            <RequireSession>
              <HomePage />
            </RequireSession>
          }
        />
        <Route path="*" element={<MissingPage />} />
      </Routes>
    </Suspense>
  );
}
