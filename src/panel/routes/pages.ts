/**
 * Every page, by the chunk that it is loaded with: pages that are used together share one, since a
 * chunk per page would load some fifty files a visit. The build makes a chunk of each group
 * (scripts/build-panel.ts). The sign-in page is in the first chunk.
 */

/** Before sign-in. */
export const signedOutPages = {
  SetupPage: () => import('../pages/setup/setup-page.tsx'),
  SignUpPage: () => import('../pages/sign-in/sign-up-page.tsx'),
  ForgotPasswordPage: () => import('../pages/accounts/forgot-password-page.tsx'),
  NewPasswordPage: () => import('../pages/accounts/new-password-page.tsx'),
  LegalPage: () => import('../pages/accounts/legal-page.tsx'),
  OAuthPage: () => import('../pages/sign-in/oauth-page.tsx'),
  TelegramLoginPage: () => import('../pages/sign-in/oauth-page.tsx'),
  TelegramBindPage: () => import('../pages/sign-in/oauth-page.tsx'),
};

/** Tasks, for everybody who is signed in. */
export const signedInPages = {
  HomePage: () => import('../pages/home/home-page.tsx'),
  TasksPage: () => import('../pages/tasks/tasks-page.tsx'),
  TaskPage: () => import('../pages/tasks/task/task-page.tsx'),
  QueuePage: () => import('../pages/queue/queue-page.tsx'),
};

/** Models and the playground. */
export const modelPages = {
  ModelsPage: () => import('../pages/models/models-page.tsx'),
  PlaygroundPage: () => import('../pages/playground/playground-page.tsx'),
};

/** The API reference, with or without a session. */
export const referencePages = {
  ReferencePage: () => import('../pages/reference/reference-page.tsx'),
  PublicReferencePage: () => import('../pages/reference/reference-page.tsx'),
};

/** The keys and the account of a user. */
export const accountPages = {
  KeysPage: () => import('../pages/keys/keys-page.tsx'),
  NewKeyPage: () => import('../pages/keys/new-key-page.tsx'),
  KeyPage: () => import('../pages/keys/key-page.tsx'),
  RotateKeyPage: () => import('../pages/keys/rotate-key-page.tsx'),
  ProfilePage: () => import('../pages/profile/profile-page.tsx'),
  NotificationsPage: () => import('../pages/notifications/notifications-page.tsx'),
  SecurityPage: () => import('../pages/security/security-page.tsx'),
};

/** Figures over time, which a list does not need at first. */
export const figurePages = {
  UsagePage: () => import('../pages/usage/usage-page.tsx'),
  ChannelPage: () => import('../pages/channels/channel-page.tsx'),
  UserPage: () => import('../pages/users/user-page.tsx'),
  SystemPage: () => import('../pages/system/system-page.tsx'),
  CasePage: () => import('../pages/cases/case-page.tsx'),
  SharedCasePage: () => import('../pages/cases/case-page.tsx'),
};

/** Lists for administrators and root. */
export const adminPages = {
  ChannelsPage: () => import('../pages/channels/channels-page.tsx'),
  PluginsPage: () => import('../pages/plugins/plugins-page.tsx'),
  PricesPage: () => import('../pages/prices/prices-page.tsx'),
  UsersPage: () => import('../pages/users/users-page.tsx'),
  AuditPage: () => import('../pages/audit/audit-page.tsx'),
};

/** Pages that these lists lead to, and the marketplace. */
export const adminDetailPages = {
  NewChannelPage: () => import('../pages/channels/new-channel-page.tsx'),
  PluginPage: () => import('../pages/plugins/plugin-page.tsx'),
  DiffPage: () => import('../pages/plugins/diff-page.tsx'),
  MovePage: () => import('../pages/plugins/move-page.tsx'),
  ActivatePage: () => import('../pages/plugins/activate-page.tsx'),
  PriceSheetPage: () => import('../pages/prices/price-sheet-page.tsx'),
  PluginPricesPage: () => import('../pages/prices/plugin-prices-page.tsx'),
  MarketplacePage: () => import('../pages/marketplace/marketplace-page.tsx'),
  MarketplacePluginPage: () => import('../pages/marketplace/marketplace-plugin-page.tsx'),
};

/** Settings, which root alone changes. */
export const settingsPages = {
  SettingsPage: () => import('../pages/settings/settings-page.tsx'),
  ProvidersPage: () => import('../pages/settings/providers-page.tsx'),
  ProviderPage: () => import('../pages/settings/providers-page.tsx'),
};
