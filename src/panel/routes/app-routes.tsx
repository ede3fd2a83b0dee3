import { lazy, Suspense } from 'react';
import { Route, Routes } from 'react-router';
import { AllTexts } from '../i18n/require-texts.tsx';
import { MissingHere, MissingPage } from '../pages/not-found-page.tsx';
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx';
import { Either, RequireRole, RequireSession, WhenAnonymous } from '../session/guards.tsx';
import { roles } from '../shell/navigation-sections.ts';
import { FullPageLoader } from '../ui/page/full-page.tsx';

// Pages that are used together come in one file, with what only they have: a page for each would be
// some fifty files a visit.
const welcome = () => import('./signed-out-pages.ts');
const everyday = () => import('./signed-in-pages.ts');
const administration = () => import('./admin-pages.ts');

/** Gets the pages of whoever is signed in, before it is known that somebody is. */
export const expectSession = (): Promise<unknown> => everyday();

const SetupPage = lazy(async () => ({ default: (await welcome()).SetupPage }));
const SignUpPage = lazy(async () => ({ default: (await welcome()).SignUpPage }));
const ForgotPasswordPage = lazy(async () => ({ default: (await welcome()).ForgotPasswordPage }));
const NewPasswordPage = lazy(async () => ({ default: (await welcome()).NewPasswordPage }));
const OAuthPage = lazy(async () => ({ default: (await welcome()).OAuthPage }));
const TelegramLoginPage = lazy(async () => ({ default: (await welcome()).TelegramLoginPage }));
const TelegramBindPage = lazy(async () => ({ default: (await welcome()).TelegramBindPage }));
const LegalPage = lazy(async () => ({ default: (await welcome()).LegalPage }));

const AppFrame = lazy(async () => ({ default: (await everyday()).AppFrame }));
const HomePage = lazy(async () => ({ default: (await everyday()).HomePage }));
const KeysPage = lazy(async () => ({ default: (await everyday()).KeysPage }));
const NewKeyPage = lazy(async () => ({ default: (await everyday()).NewKeyPage }));
const KeyPage = lazy(async () => ({ default: (await everyday()).KeyPage }));
const UsagePage = lazy(async () => ({ default: (await everyday()).UsagePage }));
const ProfilePage = lazy(async () => ({ default: (await everyday()).ProfilePage }));
const SecurityPage = lazy(async () => ({ default: (await everyday()).SecurityPage }));
const TasksPage = lazy(async () => ({ default: (await everyday()).TasksPage }));
const TaskPage = lazy(async () => ({ default: (await everyday()).TaskPage }));
const PlaygroundPage = lazy(async () => ({ default: (await everyday()).PlaygroundPage }));

const ChannelsPage = lazy(async () => ({ default: (await administration()).ChannelsPage }));
const NewChannelPage = lazy(async () => ({ default: (await administration()).NewChannelPage }));
const ChannelPage = lazy(async () => ({ default: (await administration()).ChannelPage }));
const PluginsPage = lazy(async () => ({ default: (await administration()).PluginsPage }));
const PluginPage = lazy(async () => ({ default: (await administration()).PluginPage }));
const PluginDiffPage = lazy(async () => ({ default: (await administration()).DiffPage }));
const ActivatePage = lazy(async () => ({ default: (await administration()).ActivatePage }));
const MarketplacePage = lazy(async () => ({ default: (await administration()).MarketplacePage }));
const OfferPage = lazy(async () => ({ default: (await administration()).OfferPage }));
const PricesPage = lazy(async () => ({ default: (await administration()).PricesPage }));
const UsersPage = lazy(async () => ({ default: (await administration()).UsersPage }));
const UserPage = lazy(async () => ({ default: (await administration()).UserPage }));
const SettingsPage = lazy(async () => ({ default: (await administration()).SettingsPage }));
const ProvidersPage = lazy(async () => ({ default: (await administration()).ProvidersPage }));
const ProviderPage = lazy(async () => ({ default: (await administration()).ProviderPage }));
const AuditPage = lazy(async () => ({ default: (await administration()).AuditPage }));
const SystemPage = lazy(async () => ({ default: (await administration()).SystemPage }));

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
