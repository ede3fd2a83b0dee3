import { lazy, Suspense, useEffect } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundInFrame, NotFoundPage } from '../pages/not-found-page.tsx';
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx';
import { roles, useRole } from '../session/roles.ts';
import { waitForPart } from '../shell/pending-parts.ts';
import { FullPageLoader } from '../ui/page/full-page.tsx';
import { RequireAnonymous, RequireRole, RequireSession, RequireTexts, SessionSwitch } from './guards.tsx';

// Pages that are used together share a chunk. A chunk per page would load some fifty files a visit.
const signedOutPages = () => import('./signed-out-pages.ts');
const frame = () => import('../shell/app-frame.tsx');
const parts = {
  signedIn: () => import('./signed-in-pages.ts'),
  account: () => import('./account-pages.ts'),
  admin: () => import('./admin-pages.ts'),
  settings: () => import('./settings-pages.ts'),
  figures: () => import('./figure-pages.ts'),
  marketplace: () => import('./marketplace-pages.ts'),
  palette: () => import('../shell/palette/command-palette.tsx'),
  signInAgain: () => import('./sign-in-again.tsx'),
};
const signedInPages = () => waitForPart(parts.signedIn());
const accountPages = () => waitForPart(parts.account());
const adminPages = () => waitForPart(parts.admin());
const settingsPages = () => waitForPart(parts.settings());
const figurePages = () => waitForPart(parts.figures());
const marketplacePages = () => waitForPart(parts.marketplace());

const ofAccount = /^\/(keys|profile|notifications|security)(\/|$)/;
/** Pages that are in none of the chunks for everybody. */
const otherPages = /^\/(channels|plugins|marketplace|prices|users|settings|audit|system|usage)(\/|$)/;

/** Preloads what a path after sign-in needs, before the session is confirmed. */
export const preloadSignedInPages = (path: string): Promise<unknown> =>
  Promise.all([frame(), ...(otherPages.test(path) ? [] : [ofAccount.test(path) ? parts.account() : parts.signedIn()])]);

const SignInAgain = lazy(async () => ({ default: (await parts.signInAgain()).SignInAgain }));

const SetupPage = lazy(async () => ({ default: (await signedOutPages()).SetupPage }));
const SignUpPage = lazy(async () => ({ default: (await signedOutPages()).SignUpPage }));
const ForgotPasswordPage = lazy(async () => ({ default: (await signedOutPages()).ForgotPasswordPage }));
const NewPasswordPage = lazy(async () => ({ default: (await signedOutPages()).NewPasswordPage }));
const OAuthPage = lazy(async () => ({ default: (await signedOutPages()).OAuthPage }));
const TelegramLoginPage = lazy(async () => ({ default: (await signedOutPages()).TelegramLoginPage }));
const TelegramBindPage = lazy(async () => ({ default: (await signedOutPages()).TelegramBindPage }));
const LegalPage = lazy(async () => ({ default: (await signedOutPages()).LegalPage }));

const AppFrame = lazy(async () => ({ default: (await frame()).AppFrame }));
const HomePage = lazy(async () => ({ default: (await signedInPages()).HomePage }));
const KeysPage = lazy(async () => ({ default: (await accountPages()).KeysPage }));
const NewKeyPage = lazy(async () => ({ default: (await accountPages()).NewKeyPage }));
const KeyPage = lazy(async () => ({ default: (await accountPages()).KeyPage }));
const RotateKeyPage = lazy(async () => ({ default: (await accountPages()).RotateKeyPage }));
const UsagePage = lazy(async () => ({ default: (await figurePages()).UsagePage }));
const ProfilePage = lazy(async () => ({ default: (await accountPages()).ProfilePage }));
const NotificationsPage = lazy(async () => ({ default: (await accountPages()).NotificationsPage }));
const SecurityPage = lazy(async () => ({ default: (await accountPages()).SecurityPage }));
const TasksPage = lazy(async () => ({ default: (await signedInPages()).TasksPage }));
const TaskPage = lazy(async () => ({ default: (await signedInPages()).TaskPage }));
const ReferencePage = lazy(async () => ({ default: (await signedInPages()).ReferencePage }));
const ModelsPage = lazy(async () => ({ default: (await signedInPages()).ModelsPage }));
const PlaygroundPage = lazy(async () => ({ default: (await signedInPages()).PlaygroundPage }));

const ChannelsPage = lazy(async () => ({ default: (await adminPages()).ChannelsPage }));
const NewChannelPage = lazy(async () => ({ default: (await adminPages()).NewChannelPage }));
const ChannelPage = lazy(async () => ({ default: (await figurePages()).ChannelPage }));
const PluginsPage = lazy(async () => ({ default: (await adminPages()).PluginsPage }));
const PluginPage = lazy(async () => ({ default: (await adminPages()).PluginPage }));
const PluginDiffPage = lazy(async () => ({ default: (await adminPages()).DiffPage }));
const ActivatePage = lazy(async () => ({ default: (await adminPages()).ActivatePage }));
const MarketplacePage = lazy(async () => ({ default: (await marketplacePages()).MarketplacePage }));
const MarketplacePluginPage = lazy(async () => ({ default: (await marketplacePages()).MarketplacePluginPage }));
const PluginPricesPage = lazy(async () => ({ default: (await adminPages()).PluginPricesPage }));
const PricesPage = lazy(async () => ({ default: (await adminPages()).PricesPage }));
const UsersPage = lazy(async () => ({ default: (await adminPages()).UsersPage }));
const UserPage = lazy(async () => ({ default: (await figurePages()).UserPage }));
const SettingsPage = lazy(async () => ({ default: (await settingsPages()).SettingsPage }));
const ProvidersPage = lazy(async () => ({ default: (await settingsPages()).ProvidersPage }));
const ProviderPage = lazy(async () => ({ default: (await settingsPages()).ProviderPage }));
const AuditPage = lazy(async () => ({ default: (await adminPages()).AuditPage }));
const SystemPage = lazy(async () => ({ default: (await figurePages()).SystemPage }));

/** The frame. Other pages are loaded while the first one is looked at. */
function FrameWithPreload() {
  const role = useRole();
  useEffect(() => {
    const preload = (): void => {
      void parts.palette().catch(() => {});
      void parts.signInAgain().catch(() => {});
      void parts.signedIn().catch(() => {});
      void parts.account().catch(() => {});
      void parts.figures().catch(() => {});
      if (role >= roles.admin) void parts.admin().catch(() => {});
      if (role >= roles.root) void Promise.all([parts.settings(), parts.marketplace()]).catch(() => {});
    };
    const timer = setTimeout(preload, preloadDelayMs);
    return () => clearTimeout(timer);
  }, [role]);
  return <AppFrame />;
}

/** The first page is shown, and its requests are on their way, before others are loaded. */
const preloadDelayMs = 1000;

export function AppRoutes() {
  return (
    <Suspense fallback={<FullPageLoader />}>
      <Routes>
        <Route
          path="/setup"
          element={
            <RequireTexts>
              <SetupPage />
            </RequireTexts>
          }
        />
        <Route
          path="/sign-in"
          element={
            <RequireAnonymous>
              <SignInPage />
            </RequireAnonymous>
          }
        />
        <Route
          path="/sign-up"
          element={
            <RequireAnonymous>
              <SignUpPage />
            </RequireAnonymous>
          }
        />
        <Route path="/forgot-password" element={<ForgotPasswordPage />} />
        <Route path="/user/reset" element={<NewPasswordPage />} />
        <Route path="/user-agreement" element={<LegalPage text="user_agreement" />} />
        <Route path="/privacy-policy" element={<LegalPage text="privacy_policy" />} />
        <Route path="/oauth/telegram" element={<TelegramBindPage />} />
        <Route path="/oauth/telegram/:state" element={<TelegramLoginPage />} />
        <Route path="/oauth/:provider" element={<OAuthPage />} />
        <Route
          element={
            <RequireSession
              signIn={
                <SignInAgain>
                  <SignInPage isInPlace />
                </SignInAgain>
              }
            >
              <RequireTexts>
                <FrameWithPreload />
              </RequireTexts>
            </RequireSession>
          }
        >
          <Route path="/" element={<HomePage />} />
          <Route path="/tasks" element={<TasksPage />} />
          <Route path="/tasks/:id" element={<TaskPage />} />
          <Route path="/models" element={<ModelsPage />} />
          <Route path="/reference" element={<ReferencePage />} />
          <Route path="/playground" element={<PlaygroundPage />} />
          <Route path="/keys" element={<KeysPage />} />
          <Route path="/keys/new" element={<NewKeyPage />} />
          <Route path="/keys/:id" element={<KeyPage />} />
          <Route path="/keys/:id/rotate" element={<RotateKeyPage />} />
          <Route path="/usage" element={<UsagePage />} />
          <Route path="/profile" element={<ProfilePage />} />
          <Route path="/notifications" element={<NotificationsPage />} />
          <Route path="/security" element={<SecurityPage />} />
          <Route element={<RequireRole role={roles.admin} />}>
            <Route path="/channels" element={<ChannelsPage />} />
            <Route path="/channels/new" element={<NewChannelPage />} />
            <Route path="/channels/:id" element={<ChannelPage />} />
            <Route path="/users" element={<UsersPage />} />
            <Route path="/users/:id" element={<UserPage />} />
          </Route>
          <Route element={<RequireRole role={roles.root} />}>
            <Route path="/plugins" element={<PluginsPage />} />
            <Route path="/plugins/:key" element={<PluginPage />} />
            <Route path="/plugins/:key/diff" element={<PluginDiffPage />} />
            <Route path="/plugins/:key/activate" element={<ActivatePage />} />
            <Route path="/marketplace" element={<MarketplacePage />} />
            <Route path="/marketplace/:source/:key" element={<MarketplacePluginPage />} />
            <Route path="/prices" element={<PricesPage />} />
            <Route path="/prices/:key" element={<PluginPricesPage />} />
            <Route path="/settings" element={<SettingsPage />} />
            <Route path="/settings/:group" element={<SettingsPage />} />
            <Route path="/settings/providers" element={<ProvidersPage />} />
            <Route path="/settings/providers/:id" element={<ProviderPage />} />
            <Route path="/audit" element={<AuditPage />} />
            <Route path="/system" element={<SystemPage />} />
          </Route>
        </Route>
        <Route
          path="*"
          element={
            <SessionSwitch
              signedIn={
                <RequireTexts>
                  <AppFrame>
                    <NotFoundInFrame />
                  </AppFrame>
                </RequireTexts>
              }
              anonymous={<NotFoundPage />}
            />
          }
        />
      </Routes>
    </Suspense>
  );
}
