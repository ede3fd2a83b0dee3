import { lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { AllTexts } from '../i18n/all-texts.tsx';
import { MissingHere, MissingPage } from '../pages/missing-page.tsx';
import { Either, RequireRole, RequireSession, WhenAnonymous } from '../session/guards.tsx';
import { roles } from '../shell/sections.ts';
import { FullPageLoader } from '../ui/full-page.tsx';

// Each page is a chunk of its own.
const SetupPage = lazy(async () => ({ default: (await import('../pages/setup/setup-page.tsx')).SetupPage }));
const SignInPage = lazy(async () => ({ default: (await import('../pages/sign-in/sign-in-page.tsx')).SignInPage }));
const SignUpPage = lazy(async () => ({ default: (await import('../pages/accounts/sign-up-page.tsx')).SignUpPage }));
const ForgotPasswordPage = lazy(async () => ({
  default: (await import('../pages/accounts/forgot-password-page.tsx')).ForgotPasswordPage,
}));
const NewPasswordPage = lazy(async () => ({
  default: (await import('../pages/accounts/new-password-page.tsx')).NewPasswordPage,
}));
const OAuthPage = lazy(async () => ({ default: (await import('../pages/oauth/oauth-page.tsx')).OAuthPage }));
const TelegramLoginPage = lazy(async () => ({
  default: (await import('../pages/oauth/telegram-page.tsx')).TelegramLoginPage,
}));
const TelegramBindPage = lazy(async () => ({
  default: (await import('../pages/oauth/telegram-page.tsx')).TelegramBindPage,
}));
const LegalPage = lazy(async () => ({ default: (await import('../pages/accounts/legal-page.tsx')).LegalPage }));
const AppFrame = lazy(async () => ({ default: (await import('../shell/app-frame.tsx')).AppFrame }));
const HomePage = lazy(async () => ({ default: (await import('../pages/home/home-page.tsx')).HomePage }));
const ChannelsPage = lazy(async () => ({
  default: (await import('../pages/channels/channels-page.tsx')).ChannelsPage,
}));
const NewChannelPage = lazy(async () => ({
  default: (await import('../pages/channels/new-channel-page.tsx')).NewChannelPage,
}));
const ChannelPage = lazy(async () => ({ default: (await import('../pages/channels/channel-page.tsx')).ChannelPage }));
const PluginsPage = lazy(async () => ({ default: (await import('../pages/plugins/plugins-page.tsx')).PluginsPage }));
const PluginPage = lazy(async () => ({ default: (await import('../pages/plugins/plugin-page.tsx')).PluginPage }));
const PluginDiffPage = lazy(async () => ({ default: (await import('../pages/plugins/diff-page.tsx')).DiffPage }));
const ActivatePage = lazy(async () => ({ default: (await import('../pages/plugins/activate-page.tsx')).ActivatePage }));
const MarketplacePage = lazy(async () => ({
  default: (await import('../pages/marketplace/marketplace-page.tsx')).MarketplacePage,
}));
const OfferPage = lazy(async () => ({ default: (await import('../pages/marketplace/offer-page.tsx')).OfferPage }));
const PricesPage = lazy(async () => ({ default: (await import('../pages/prices/prices-page.tsx')).PricesPage }));
const UsersPage = lazy(async () => ({ default: (await import('../pages/users/users-page.tsx')).UsersPage }));
const KeysPage = lazy(async () => ({ default: (await import('../pages/keys/keys-page.tsx')).KeysPage }));
const NewKeyPage = lazy(async () => ({ default: (await import('../pages/keys/new-key-page.tsx')).NewKeyPage }));
const KeyPage = lazy(async () => ({ default: (await import('../pages/keys/key-page.tsx')).KeyPage }));
const UsagePage = lazy(async () => ({ default: (await import('../pages/usage/usage-page.tsx')).UsagePage }));
const ProfilePage = lazy(async () => ({ default: (await import('../pages/profile/profile-page.tsx')).ProfilePage }));
const SecurityPage = lazy(async () => ({
  default: (await import('../pages/security/security-page.tsx')).SecurityPage,
}));
const TasksPage = lazy(async () => ({ default: (await import('../pages/tasks/tasks-page.tsx')).TasksPage }));
const TaskPage = lazy(async () => ({ default: (await import('../pages/tasks/task-page.tsx')).TaskPage }));
const UserPage = lazy(async () => ({ default: (await import('../pages/users/user-page.tsx')).UserPage }));
const PlaygroundPage = lazy(async () => ({
  default: (await import('../pages/playground/playground-page.tsx')).PlaygroundPage,
}));
const SettingsPage = lazy(async () => ({
  default: (await import('../pages/settings/settings-page.tsx')).SettingsPage,
}));
const ProvidersPage = lazy(async () => ({
  default: (await import('../pages/settings/providers-page.tsx')).ProvidersPage,
}));
const ProviderPage = lazy(async () => ({
  default: (await import('../pages/settings/provider-page.tsx')).ProviderPage,
}));
const AuditPage = lazy(async () => ({ default: (await import('../pages/audit/audit-page.tsx')).AuditPage }));
const SystemPage = lazy(async () => ({ default: (await import('../pages/system/system-page.tsx')).SystemPage }));

export function AppRoutes() {
  return (
    <Suspense fallback={<FullPageLoader />}>
      <Routes>
        <Route
          path="/setup"
          element={
            <AllTexts>
              <SetupPage />
            </AllTexts>
          }
        />
        <Route
          path="/sign-in"
          element={
            <WhenAnonymous>
              <SignInPage />
            </WhenAnonymous>
          }
        />
        <Route
          path="/sign-up"
          element={
            <WhenAnonymous>
              <SignUpPage />
            </WhenAnonymous>
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
            <RequireSession>
              <AllTexts>
                <AppFrame />
              </AllTexts>
            </RequireSession>
          }
        >
          <Route path="/" element={<HomePage />} />
          <Route path="/tasks" element={<TasksPage />} />
          <Route path="/tasks/:id" element={<TaskPage />} />
          <Route path="/playground" element={<PlaygroundPage />} />
          <Route path="/keys" element={<KeysPage />} />
          <Route path="/keys/new" element={<NewKeyPage />} />
          <Route path="/keys/:id" element={<KeyPage />} />
          <Route path="/usage" element={<UsagePage />} />
          <Route path="/profile" element={<ProfilePage />} />
          <Route path="/security" element={<SecurityPage />} />
          <Route element={<RequireRole role={roles.admin} />}>
            {/* administrators */}
            <Route path="/channels" element={<ChannelsPage />} />
            <Route path="/channels/new" element={<NewChannelPage />} />
            <Route path="/channels/:id" element={<ChannelPage />} />
            <Route path="/users" element={<UsersPage />} />
            <Route path="/users/:id" element={<UserPage />} />
          </Route>
          <Route element={<RequireRole role={roles.root} />}>
            {/* root */}
            <Route path="/plugins" element={<PluginsPage />} />
            <Route path="/plugins/:key" element={<PluginPage />} />
            <Route path="/plugins/:key/diff" element={<PluginDiffPage />} />
            <Route path="/plugins/:key/activate" element={<ActivatePage />} />
            <Route path="/marketplace" element={<MarketplacePage />} />
            <Route path="/marketplace/:source/:key" element={<OfferPage />} />
            <Route path="/prices" element={<PricesPage />} />
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
            <Either
              signedIn={
                <AllTexts>
                  <AppFrame>
                    <MissingHere />
                  </AppFrame>
                </AllTexts>
              }
              anonymous={<MissingPage />}
            />
          }
        />
      </Routes>
    </Suspense>
  );
}
