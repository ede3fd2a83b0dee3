/** Settings, which root alone changes. */
export { ProviderPage, ProvidersPage } from '../pages/settings/providers-page.tsx';
export { SettingsPage } from '../pages/settings/settings-page.tsx';
