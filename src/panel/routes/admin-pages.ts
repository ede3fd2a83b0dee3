/** Pages for administrators and root. */
export { AuditPage } from '../pages/audit/audit-page.tsx';
export { ChannelsPage } from '../pages/channels/channels-page.tsx';
export { NewChannelPage } from '../pages/channels/new-channel-page.tsx';
export { ActivatePage } from '../pages/plugins/activate-page.tsx';
export { DiffPage } from '../pages/plugins/diff-page.tsx';
export { PluginPage } from '../pages/plugins/plugin-page.tsx';
export { PluginsPage } from '../pages/plugins/plugins-page.tsx';
export { PluginPricesPage } from '../pages/prices/plugin-prices-page.tsx';
export { PricesPage } from '../pages/prices/prices-page.tsx';
export { UsersPage } from '../pages/users/users-page.tsx';
