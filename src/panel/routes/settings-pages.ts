/** Settings, which root alone changes. */
export { ProviderPage } from '../pages/settings/provider-page.tsx';
export { ProvidersPage } from '../pages/settings/providers-page.tsx';
export { SettingsPage } from '../pages/settings/settings-page.tsx';
