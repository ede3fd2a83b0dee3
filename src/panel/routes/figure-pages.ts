/** Pages of figures over time. They are not among what a list loads first. */
export { ChannelPage } from '../pages/channels/channel-page.tsx';
export { SystemPage } from '../pages/system/system-page.tsx';
export { UsagePage } from '../pages/usage/usage-page.tsx';
export { UserPage } from '../pages/users/user-page.tsx';
