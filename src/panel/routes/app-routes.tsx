import type { i18n } from 'i18next';
import { type ComponentType, lazy, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Outlet, Route, Routes } from 'react-router';
import { loadTexts } from '../i18n/create-i18n.ts';
import { NotFoundInFrame, NotFoundPage } from '../pages/not-found-page.tsx';
import { SignInPage } from '../pages/sign-in/sign-in-page.tsx';
import { roles, useRole } from '../session/roles.ts';
import { waitForPart } from '../shell/pending-parts.ts';
import { FullPageLoader } from '../ui/page/full-page.tsx';
import { RequireAnonymous, RequireRole, RequireSession, RequireTexts, SessionSwitch } from './guards.tsx';
import {
  accountPages,
  adminDetailPages,
  adminPages,
  figurePages,
  modelPages,
  referencePages,
  settingsPages,
  signedInPages,
  signedOutPages,
} from './pages.ts';

const frame = () => import('../shell/app-frame.tsx');
const palette = () => import('../shell/palette/command-palette.tsx');
const signInAgain = () => import('./sign-in-again.tsx');
/** Home and the usage page draw them as soon as their figures come. */
const charts = () => import('../ui/chart/day-bars-view.tsx');

const AppFrame = lazy(async () => ({ default: (await frame()).AppFrame }));
const SignInAgain = lazy(async () => ({ default: (await signInAgain()).SignInAgain }));
const {
  SetupPage,
  SignUpPage,
  ForgotPasswordPage,
  NewPasswordPage,
  LegalPage,
  OAuthPage,
  TelegramLoginPage,
  TelegramBindPage,
} = lazyPages(signedOutPages);
const { HomePage, TasksPage, TaskPage, QueuePage } = lazyPages(signedInPages);
const { ModelsPage, PlaygroundPage } = lazyPages(modelPages);
const { ReferencePage, PublicReferencePage } = lazyPages(referencePages);
const { KeysPage, NewKeyPage, KeyPage, RotateKeyPage, ProfilePage, NotificationsPage, SecurityPage } =
  lazyPages(accountPages);
const { UsagePage, ChannelPage, UserPage, SystemPage, CasePage, SharedCasePage } = lazyPages(figurePages);
const { ChannelsPage, PluginsPage, PricesPage, UsersPage, AuditPage } = lazyPages(adminPages);
const {
  NewChannelPage,
  PluginPage,
  DiffPage,
  ActivatePage,
  MovePage,
  PriceSheetPage,
  PluginPricesPage,
  MarketplacePage,
  MarketplacePluginPage,
} = lazyPages(adminDetailPages);
const { SettingsPage, ProvidersPage, ProviderPage } = lazyPages(settingsPages);

type Loads = Readonly<Record<string, () => Promise<object>>>;
type Pages<Group extends Loads> = {
  [Name in keyof Group]: Name extends keyof Awaited<ReturnType<Group[Name]>>
    ? Awaited<ReturnType<Group[Name]>>[Name]
    : never;
};

/** The pages of a group as components that load its chunk when they are first shown. */
function lazyPages<Group extends Loads>(group: Group): Pages<Group> {
  const pages = Object.entries(group).map(([name, load]) => {
    const page = lazy(async () => ({
      default: ((await waitForPart(load())) as Readonly<Record<string, ComponentType>>)[name] ?? NotFoundPage,
    }));
    return [name, page];
  });
  return Object.fromEntries(pages) as Pages<Group>;
}

/** Loads the chunk of a group: each of its pages is in it. */
const loadGroup = async (group: Loads): Promise<unknown> => Object.values(group)[0]?.();

const accountPaths = /^\/(keys|profile|notifications|security)(\/|$)/;
const modelPaths = /^\/(models|playground)(\/|$)/;
const adminPaths = /^\/(channels|plugins|marketplace|prices|users|settings|audit|system)(\/|$)/;
const settingsPaths = /^\/(marketplace|settings|audit)(\/|$)/;
/** Paths of pages that are in none of the chunks for everybody. */
const otherPaths = /^\/(usage|case|reference)(\/|$)/;

/** Preloads what a path after sign-in needs, before the session is confirmed. */
export async function preloadSignedInPages(i18n: i18n, path: string): Promise<void> {
  const loads: Promise<unknown>[] = [frame(), loadTexts(i18n, 'rest')];
  if (adminPaths.test(path)) loads.push(loadTexts(i18n, 'administration'));
  if (settingsPaths.test(path)) loads.push(loadTexts(i18n, 'settings'));
  if (accountPaths.test(path)) loads.push(loadTexts(i18n, 'account'));
  if (modelPaths.test(path)) loads.push(loadTexts(i18n, 'playground'));
  if (!adminPaths.test(path) && !otherPaths.test(path))
    loads.push(loadGroup(accountPaths.test(path) ? accountPages : modelPaths.test(path) ? modelPages : signedInPages));
  await Promise.all(loads);
}

/** The frame. Other pages are loaded while the first one is looked at. */
function FrameWithPreload() {
  const role = useRole();
  const { i18n } = useTranslation();
  useEffect(() => {
    const preload = (): void => {
      const groups: Loads[] = [signedInPages, modelPages, accountPages, figurePages];
      if (role >= roles.admin) groups.push(adminPages, adminDetailPages);
      if (role >= roles.root) groups.push(settingsPages);
      const loads: (() => Promise<unknown>)[] = [
        palette,
        signInAgain,
        charts,
        ...groups.map((group) => () => loadGroup(group)),
        () => loadTexts(i18n, 'account'),
        () => loadTexts(i18n, 'playground'),
      ];
      if (role >= roles.admin) loads.push(() => loadTexts(i18n, 'administration'));
      if (role >= roles.root) loads.push(() => loadTexts(i18n, 'settings'));
      for (const load of loads) load().catch(() => {});
    };
    const timer = setTimeout(preload, preloadDelayMs);
    return () => clearTimeout(timer);
  }, [role, i18n]);
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
        <Route
          path="/shared-case/:kind/:id"
          element={
            <RequireTexts>
              <SharedCasePage />
            </RequireTexts>
          }
        />
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
              publicPages={{
                '/reference': (
                  <RequireTexts>
                    <RequireTexts part="reference">
                      <PublicReferencePage />
                    </RequireTexts>
                  </RequireTexts>
                ),
              }}
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
          <Route path="/queue" element={<QueuePage />} />
          <Route
            element={
              <RequireTexts part="playground">
                <Outlet />
              </RequireTexts>
            }
          >
            <Route path="/models" element={<ModelsPage />} />
            <Route path="/playground" element={<PlaygroundPage />} />
          </Route>
          <Route
            path="/reference"
            element={
              <RequireTexts part="reference">
                <ReferencePage />
              </RequireTexts>
            }
          />
          <Route path="/keys" element={<KeysPage />} />
          <Route path="/keys/new" element={<NewKeyPage />} />
          <Route path="/keys/:id" element={<KeyPage />} />
          <Route path="/keys/:id/rotate" element={<RotateKeyPage />} />
          <Route path="/usage" element={<UsagePage />} />
          <Route path="/case/:kind/:id" element={<CasePage />} />
          <Route
            element={
              <RequireTexts part="account">
                <Outlet />
              </RequireTexts>
            }
          >
            <Route path="/profile" element={<ProfilePage />} />
            <Route path="/notifications" element={<NotificationsPage />} />
            <Route path="/security" element={<SecurityPage />} />
          </Route>
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
            <Route path="/plugins/:key/diff" element={<DiffPage />} />
            <Route path="/plugins/:key/activate" element={<ActivatePage />} />
            <Route path="/plugins/:key/move" element={<MovePage />} />
            <Route path="/prices" element={<PricesPage />} />
            <Route path="/prices/sheet" element={<PriceSheetPage />} />
            <Route path="/prices/:key" element={<PluginPricesPage />} />
            <Route path="/system" element={<SystemPage />} />
            <Route
              element={
                <RequireTexts part="settings">
                  <Outlet />
                </RequireTexts>
              }
            >
              <Route path="/marketplace" element={<MarketplacePage />} />
              <Route path="/marketplace/:source/:key" element={<MarketplacePluginPage />} />
              <Route path="/settings" element={<SettingsPage />} />
              <Route path="/settings/:group" element={<SettingsPage />} />
              <Route path="/settings/providers" element={<ProvidersPage />} />
              <Route path="/settings/providers/:id" element={<ProviderPage />} />
              <Route path="/audit" element={<AuditPage />} />
            </Route>
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
